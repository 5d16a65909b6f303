//! A layer that nobody has: what is written goes to both of its devices.

use std::collections::BTreeMap;

use layers::probe::{NamedDevice, Probe, Reading, Source};
use layers::step::{Action, Step};
use layers::{
    Absence, Chart, Check, Fact, FactSource, FigureFacts, Headline, Input, Key, Kind, Layer,
    LayerNeeds, LayerRule, Noticed, Objects, Offer, Parsed, Parser, Place, Raised, Series,
    SettingError, Threads, Wants,
};
use results::model::LayerFigures;
use toml::Table;
use units::{Basis, Better, Metric, Test, Unit};

pub const KIND: Kind = Kind {
    name: "mirrored",
    about: "Two devices that hold the same.",
    inputs: &[
        Input { name: "left", wants: Wants::Block, help: "one side", optional: false },
        Input { name: "right", wants: Wants::Block, help: "the other side", optional: false },
    ],
    keys: &[Key {
        name: "width",
        default: "64k",
        allowed: "a size in multiples of 4k",
        example: "\"128k\"",
        help: "How much is copied at once.",
    }],
    parse: |table| Ok(Box::new(Mirrored::read(table)?)),
    parsers: &[Parser { id: "mirrored.counts", read: parse }],
    recorded: &[("mirrored.counts", "writes 10\n---\nwrites 30\n---\nwrites 90\n---\nwrites 270")],
    absence: &[Absence { program: "mirrorctl", gone: &["is gone already"], held: &[] }],
    objects: &[Objects {
        called: "mirror",
        list: &["mirrorctl", "list"],
        remove: &["mirrorctl", "split"],
        devices: &["mirrorctl", "sides"],
    }],
    facts: &[Fact {
        name: "mirrorctl",
        from: FactSource::Command { argv: &["mirrorctl", "--version"], after: "", needs: "/dev" },
    }],
    refuses_nowait: false,
    threads: Threads::NONE,
    headline: Some(Headline { metric: "mirrored_writes", words: None }),
    metrics: &[Metric {
        id: "mirrored_writes",
        name: "writes to both sides",
        unit: Unit::Count,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Writes that went to both devices.",
    }],
    fills: &[],
    states: &[],
    actions: &[],
    change: None,
    charts: &[Chart {
        id: "writes",
        title: "Both sides over time",
        help: "Writes that went to both devices.",
        series: &[Series { probe: "counts", field: "writes", label: "writes" }],
        unit: Unit::Count,
        rate: false,
    }],
    needs: LayerNeeds {
        packages: &["mirrorctl"],
        modules: &["dm-made-up"],
        tools: &["mirrorctl"],
        guest_files: &[("etc/mirrorctl.conf", "quiet = yes\n")],
    },
    manual: "`width`, `mirrored_writes`",
    figures,
    rules: &[LayerRule {
        id: "mirrored_twice",
        text: "With this layer every write goes to both sides.",
        reads: "nothing",
        threshold: None,
        remedy: "None.",
        source: "made up",
        check: Check::Cell(|_, _| Some(Noticed::default())),
    }],
    commands: |_, _| Vec::new(),
};

/// Another one, which makes its device itself: nothing is under it.
pub const HEAP: Kind = Kind {
    name: "heap",
    about: "A device in memory.",
    inputs: &[],
    keys: &[Key {
        name: "size",
        default: "256M",
        allowed: "a size",
        example: "\"256M\"",
        help: "How large it is.",
    }],
    parse: |_| Ok(Box::new(Heap)),
    parsers: &[],
    recorded: &[],
    objects: &[],
    facts: &[],
    headline: None,
    metrics: &[],
    charts: &[],
    needs: LayerNeeds {
        packages: &[],
        modules: &["heap-made-up"],
        tools: &["heapctl"],
        guest_files: &[],
    },
    manual: "`size`",
    figures: |_| LayerFigures::new(),
    rules: &[],
    ..KIND
};

struct Heap;

impl Layer for Heap {
    fn settings(&self) -> BTreeMap<String, String> {
        [("size".to_owned(), "256M".to_owned())].into()
    }

    fn raise(&self, at: &Place) -> Result<Raised, SettingError> {
        let name = at.tagged();
        let command = |verb: &str, may_fail| Action::Command {
            argv: ["heapctl", verb, &name].map(str::to_owned).to_vec(),
            may_fail,
        };
        let device = format!("/dev/heap/{name}");
        Ok(Raised {
            up: vec![Step {
                about: "make the device".into(),
                action: command("create", false),
                undo: vec![command("remove", true)],
                deadline_s: 10,
            }],
            offer: Offer::Block { device: device.clone(), bytes: 256 << 20 },
            nodes: vec![NamedDevice { name: at.name.to_owned(), path: device }],
            probes: Vec::new(),
            ready: Vec::new(),
            settle: Vec::new(),
            allocate: None,
            memory_bytes: 256 << 20,
            computed: Vec::new(),
        })
    }
}

struct Mirrored {
    width: String,
}

impl Mirrored {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let width = table.get("width").and_then(|value| value.as_str()).unwrap_or("64k");
        let number = width.strip_suffix('k').and_then(|number| number.parse::<u64>().ok());
        if !number.is_some_and(|number| number > 0 && number.is_multiple_of(4)) {
            let message = format!("width cannot be '{width}'");
            return Err(SettingError::new("width", message, "write width = \"128k\""));
        }
        Ok(Self { width: width.to_owned() })
    }
}

impl Layer for Mirrored {
    fn settings(&self) -> BTreeMap<String, String> {
        [("width".to_owned(), self.width.clone())].into()
    }

    fn raise(&self, at: &Place) -> Result<Raised, SettingError> {
        let ((left, bytes), (right, other)) = (at.block("left"), at.block("right"));
        let name = at.tagged();
        let command = |argv: &[&str], may_fail| Action::Command {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            may_fail,
        };
        let device = format!("/dev/mirrored/{name}");
        Ok(Raised {
            up: vec![Step {
                about: "join both sides".into(),
                action: command(&["mirrorctl", "create", &name, left, right, &self.width], false),
                undo: vec![command(&["mirrorctl", "remove", &name], true)],
                deadline_s: 10,
            }],
            offer: Offer::Block { device: device.clone(), bytes: bytes.min(other) },
            nodes: vec![NamedDevice { name: at.name.to_owned(), path: device }],
            probes: vec![Probe {
                id: format!("{}.counts", at.name),
                source: Source::Command { argv: vec!["mirrorctl".into(), "counts".into(), name] },
                parser: "mirrored.counts".into(),
                every_ms: 1000,
                reading: Reading::Edge,
            }],
            ready: Vec::new(),
            settle: Vec::new(),
            allocate: None,
            memory_bytes: 0,
            computed: Vec::new(),
        })
    }
}

fn parse(text: &str) -> Result<Parsed, layers::ParseError> {
    let number = text.trim().strip_prefix("writes ").and_then(|number| number.parse().ok());
    let mut parsed = Parsed::default();
    parsed.numbers.insert("writes".into(), number);
    Ok(parsed)
}

fn figures(facts: &FigureFacts) -> LayerFigures {
    let writes = facts.ends("counts").and_then(|ends| ends.growth("writes"));
    LayerFigures::from([("mirrored_writes".to_owned(), writes)])
}
