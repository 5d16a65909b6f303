//! A layer that nobody has, and that has no names: the kernel knows it by a UUID, names its device itself, and receives every setting through
//! attributes.

use std::collections::BTreeMap;

use layers::probe::{NamedDevice, Source};
use layers::step::{Action, Condition, Step};
use layers::{
    Absence, Kind, Layer, Listing, Objects, Offer, Parsed, Parser, Place, RaisePlan, SettingError,
};

/// The attribute of the machine that the layer changes and puts back.
pub const ATTRIBUTE: &str = "/sys/relays/pace";

pub const KIND: Kind = Kind {
    parsers: &[Parser { id: "relay.device", read: parse }],
    objects: &[Objects {
        called: "set of relays",
        listed: Listing::Directory { path: "/sys/relays/sets", identity: None },
        remove: |uuid| vec![Action::let_go(format!("/sys/relays/sets/{uuid}/stop"))],
    }],
    absence: &[Absence { program: "relayctl", gone: &["nobody holds it"], held: &[] }],
    ..Kind::new("relay", "A device that the kernel names.", "", |_| Ok(Box::new(Relay)))
};

struct Relay;

fn write(path: &str, value: &str) -> Action {
    let reads = (path == ATTRIBUTE).then(|| value.to_owned());
    Action::Write { path: path.to_owned(), value: value.to_owned(), reads, may_be_gone: false }
}

/// A step that holds a set, which has no name; it stays until each hold is released.
fn hold(uuid: &str) -> Step {
    let command = |verb: &str, removes| Action::Command {
        argv: ["relayctl", verb, uuid].map(str::to_owned).to_vec(),
        removes,
    };
    step("hold the set", command("hold", None), vec![command("release", Some(uuid.to_owned()))])
}

fn step(about: &str, action: Action, undo: Vec<Action>) -> Step {
    Step { about: about.to_owned(), action, undo, deadline_s: 5 }
}

impl Layer for Relay {
    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let (device, bytes) = at.block("data");
        let set = format!("/sys/relays/sets/{}", at.uuid_text());
        let own = format!("/sys/block/{{{}.node}}/relay", at.name);
        let source = Source::Holders { device: device.to_owned() };
        let until = Condition::AtLeast { field: "devices".into(), least: 1.0 };
        let parser = "relay.device".to_owned();
        let wait =
            Action::Wait { source: source.clone(), parser: parser.clone(), until, every_ms: 10 };
        let up = vec![
            step("set the pace", write(ATTRIBUTE, "fast"), vec![write(ATTRIBUTE, "slow")]),
            step(
                "register the set",
                write("/sys/relays/register", &at.uuid_text()),
                vec![
                    Action::let_go(format!("{set}/stop")),
                    Action::await_gone(format!("{set}/stop")),
                ],
            ),
            hold(&at.uuid_text()),
            hold(&at.uuid_text()),
            step("wait for its device", wait, Vec::new()),
            step(
                "note its device",
                Action::Bind { source, parser, prefix: at.name.to_owned() },
                Vec::new(),
            ),
            step(
                "label its device",
                write(&format!("{own}/label"), &at.uuid_text()),
                vec![
                    Action::let_go(format!("{own}/stop")),
                    Action::await_gone(format!("{own}/stop")),
                ],
            ),
        ];
        let path = format!("/dev/{{{}.node}}", at.name);
        Ok(RaisePlan {
            up,
            offer: Offer::Block { device: path.clone(), bytes },
            nodes: vec![NamedDevice { name: at.name.to_owned(), path }],
            probes: Vec::new(),
            ready: Vec::new(),
            settle: Vec::new(),
            allocate: None,
            memory_bytes: 0,
            computed: Vec::new(),
        })
    }
}

fn parse(text: &str) -> Result<Parsed, layers::ParseError> {
    let mut parsed = Parsed::default();
    parsed.numbers.insert("devices".into(), Some(text.lines().count() as f64));
    if let Some(node) = text.lines().next() {
        parsed.texts.insert("node".into(), node.to_owned());
    }
    Ok(parsed)
}
