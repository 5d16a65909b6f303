//! A layer that nobody has: what is written goes to both of its devices.

use std::collections::BTreeMap;

use layers::probe::{NamedDevice, Probe, Reading, Source};
use layers::step::{Action, Step};
use layers::{
    Absence, Chart, Check, Fact, FactSource, FigureFacts, Headline, Input, InputKind, Key, Kind,
    Layer, LayerNeeds, LayerRule, Listing, Objects, Observation, Offer, Parsed, Parser, Place,
    RaisePlan, Series, SettingError, Twin, TwinAnswer, Values, Writes,
};
use results::model::{AskedContent, LayerFigures};
use toml::Table;
use units::{Basis, Better, Metric, Test, Unit};

pub const KIND: Kind = Kind {
    inputs: &[
        Input { name: "left", wants: InputKind::Block, help: "one side", optional: false },
        Input { name: "right", wants: InputKind::Block, help: "the other side", optional: false },
    ],
    keys: &[Key {
        name: "width",
        values: Values::Size(64 << 10, ["a size in multiples of 4k", "\"128k\""]),
        help: "How much is copied at once.",
    }],
    parsers: &[Parser { id: "mirrored.counts", read: parse }],
    recorded: &[("mirrored.counts", "writes 10\n---\nwrites 30\n---\nwrites 90\n---\nwrites 270")],
    absence: &[Absence { program: "mirrorctl", gone: &["is gone already"], held: &[] }],
    objects: &[Objects {
        called: "mirror",
        listed: Listing::Tool { names: &["mirrorctl", "list"], devices: &["mirrorctl", "sides"] },
        remove: |name| {
            let argv = ["mirrorctl", "split", name].map(str::to_owned).to_vec();
            vec![Action::Command { argv, removes: Some(name.to_owned()) }]
        },
    }],
    facts: &[Fact {
        name: "mirrorctl",
        from: FactSource::Command { argv: &["mirrorctl", "--version"], after: "", needs: "/dev" },
    }],
    headline: Some(Headline { metric: "mirrored_writes", words: None, does: None }),
    metrics: &[Metric {
        id: "mirrored_writes",
        name: "writes to both sides",
        unit: Unit::Count,
        better: Better::Lower,
        basis: Basis::Counter,
        test: Test::Paired,
        help: "Writes that went to both devices.",
    }],
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
        faster: &[],
        tools: &["mirrorctl"],
        by_hand: &[],
        guest_files: &[("etc/mirrorctl.conf", "quiet = yes\n")],
    },
    figures,
    rules: &[LayerRule {
        id: "mirrored_twice",
        text: "With this layer every write goes to both sides.",
        reads: "nothing",
        threshold: None,
        remedy: "None.",
        source: "made up",
        check: Check::Cell(|_, _| Some(Observation::default())),
    }],
    ..Kind::new(
        "mirrored",
        "Two devices that hold the same.",
        "`width`, `mirrored_writes`",
        |table| Ok(Box::new(Mirrored::read(table)?)),
    )
};

/// Another one, which makes its device itself: nothing is under it, and it says no more than it has.
pub const HEAP: Kind = Kind {
    inputs: &[],
    keys: &[Key {
        name: "size",
        values: Values::Described(["256M", "a size", "\"256M\""]),
        help: "How large it is.",
    }],
    needs: LayerNeeds { modules: &["heap-made-up"], tools: &["heapctl"], ..LayerNeeds::NONE },
    ..Kind::new("heap", "A device in memory.", "`size`", |_| Ok(Box::new(Heap)))
};

struct Heap;

impl Layer for Heap {
    fn settings(&self) -> BTreeMap<String, String> {
        [("size".to_owned(), "256M".to_owned())].into()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let name = at.tagged();
        let command = |verb: &str, removes| Action::Command {
            argv: ["heapctl", verb, &name].map(str::to_owned).to_vec(),
            removes,
        };
        let device = format!("/dev/heap/{name}");
        Ok(RaisePlan {
            up: vec![Step {
                about: "make the device".into(),
                action: command("create", None),
                undo: vec![command("remove", Some(name.clone()))],
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

/// Counts what is written to it.
struct MirroredTwin {
    name: String,
    there: bool,
    writes: u64,
}

impl Twin for MirroredTwin {
    fn command(&mut self, argv: &[String]) -> TwinAnswer {
        match argv.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["mirrorctl", verb, name, ..] if name == self.name => self.there = verb == "create",
            _ => return TwinAnswer::NotMine,
        }
        TwinAnswer::ok("")
    }

    fn read(&mut self, source: &Source) -> Option<String> {
        let command = format!("mirrorctl counts {}", self.name);
        (source.show() == command).then(|| format!("writes {}", self.writes))
    }

    fn wrote(&mut self, writes: &Writes, _: &AskedContent) {
        self.writes += writes.blocks;
    }

    fn leftovers(&self) -> Vec<String> {
        Vec::from_iter(self.there.then(|| format!("mirror {}", self.name)))
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

    fn twin(&self, at: &Place) -> Option<Box<dyn Twin>> {
        Some(Box::new(MirroredTwin { name: at.tagged(), there: false, writes: 0 }))
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let ((left, bytes), (right, other)) = (at.block("left"), at.block("right"));
        let name = at.tagged();
        let command = |argv: &[&str], removes| Action::Command {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            removes,
        };
        let device = format!("/dev/mirrored/{name}");
        Ok(RaisePlan {
            up: vec![Step {
                about: "join both sides".into(),
                action: command(&["mirrorctl", "create", &name, left, right, &self.width], None),
                undo: vec![command(&["mirrorctl", "remove", &name], Some(name.clone()))],
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
