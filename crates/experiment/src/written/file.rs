//! The experiment file's own keys, read with their places.

use disk::{Attributes, Fault, Like};
use layers::environment::AskedSetting;
use toml::Spanned;
use units::{Bytes, Key, key};

use crate::checked::bounds;
use crate::written::attributes;
use crate::written::corpora::{self, WrittenCorpus};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Named, Setting, Table};
use crate::written::environment;
use crate::written::expectations::Expectation;
use crate::written::factors::{Exclude, Factor};
use crate::written::keys::{GIVEN, SCALE, SET, VARIANT};
use crate::written::machine::MACHINE;
use crate::written::names;
use crate::written::pictures::Picture;
use crate::written::questions::Question;
use crate::written::repeat::Repeat;
use crate::written::reported::Reported;
use crate::written::scale::Scaled;

const NAME: Key = key("name", "a text of 1 to 64 characters", "\"dedupe-off\"");
const ABOUT: Key = key("about", "a sentence", "\"What deduplication alone costs\"");
const SOURCE: Key = key("source", "a text", "\"where the question comes from\"");
const REPEAT: Key = key("repeat", "a whole number from 1 on, or \"auto\"", "5");
/// `[devices.ROLE]`.
pub(crate) const DEVICES: Key =
    key("devices", "tables, each under its role", "{ data = { size = \"12G\" } }");
const STACK: Key = key("stack", "tables: [[stack]]", "[{ layer = \"vdo\", on = \"data\" }]");
const STAGE: Key = key("stage", "tables: [[stage]]", "[{ do = \"allocate\" }]");
const QUESTION: Key = key("question", "tables: [[question]]", "[{ metric = \"iops\" }]");
/// `size` of a device.
pub(crate) const SIZE: Key = key("size", "a size from 64M on, in multiples of 4k", "\"12G\"");
/// `like` of a device.
pub(crate) const LIKE: Key = key(
    "like",
    "a disk that there is a model of, alone or in a table with other values for its parameters",
    "{ base = \"hdd\", rpm = 5400 }",
);
const FAULTS: Key =
    key("faults", "a list of faults of a modelled disk", "[{ fault = \"slow\", factor = 4 }]");
const WRITE_RUNS: Key = key("write_runs", "true to record the length of runs of writes", "true");
const LATENCY_BY_LAYER: Key = key(
    "latency_by_layer",
    "true to measure the latency of every block device of the stack",
    "true",
);
const FILE: Key = key("file", "the path of a file that is copied from", "\"data.img\"");
const EXPECT: Key =
    key("expect", "tables: [[expect]]", "[{ metric = \"iops\", variant = \"b\", above = 1000 }]");
const REPORTED: Key = key(
    "reported",
    "tables: [[reported]]",
    "[{ what = \"table 5.1\", unit = \"MB/s\", metric = \"iops\", values = [{ value = 166.24 }] }]",
);
const PICTURE: Key =
    key("picture", "tables: [[picture]]", "[{ show = \"iops over time\", stage = \"warm\" }]");
const FACTOR: Key = key("factor", "tables: [[factor]]", "[{ name = \"dedupe\" }]");
const EXCLUDE: Key = key("exclude", "tables: [[exclude]]", "[{ dedupe = \"off\" }]");

/// Default number of repeats.
const REPEATS: Repeat = Repeat::Fixed(5);

/// The whole file.
pub(crate) struct File<'t> {
    pub name: Spanned<String>,
    pub about: String,
    pub source: Option<String>,
    pub repeat: Repeat,
    /// Tells whether the latency of every block device of the stack is measured.
    pub latency_by_layer: bool,
    /// Byte range of `repeat`, where it is written.
    pub repeat_at: Option<std::ops::Range<usize>>,
    pub devices: Vec<Named<Device<'t>>>,
    pub corpora: Vec<WrittenCorpus<'t>>,
    /// Tells whether it calls corpora trees, as files of earlier versions do.
    pub has_trees: bool,
    pub machine: Table<'t>,
    pub environment: Table<'t>,
    pub stack: Vec<Table<'t>>,
    pub variant: Vec<WrittenVariant<'t>>,
    pub factor: Vec<Factor<'t>>,
    pub exclude: Vec<Exclude>,
    pub scale: Vec<Named<Scaled<'t>>>,
    /// `[set]`: values that override all others, at every scale.
    pub set: Scaled<'t>,
    pub stage: Vec<Table<'t>>,
    pub question: Vec<Question>,
    pub expect: Vec<Expectation>,
    pub reported: Vec<Reported>,
    pub picture: Vec<Picture>,
}

/// `[devices.ROLE]`: a block device by its role.
#[derive(Clone)]
pub(crate) struct Device<'t> {
    /// As it is written.
    pub table: Table<'t>,
    /// Size of a device that a stack stands on.
    pub size: Option<Spanned<Bytes>>,
    /// Path of the file, of a device that stages copy from.
    pub file: Option<Spanned<String>>,
    /// Disk that the lab models it like.
    pub like: Option<Spanned<Like>>,
    /// Its faults in the lab.
    pub faults: Option<Spanned<Vec<Fault>>>,
    /// Its attributes and limits in the lab.
    pub attributes: Attributes,
    /// Tells whether writes to it are recorded, to know the length of runs of consecutive writes.
    pub write_runs: Option<Spanned<bool>>,
    /// Settings of its queue.
    pub environment: Vec<AskedSetting>,
}

/// `[[variant]]`: one stack to compare.
pub(crate) struct WrittenVariant<'t> {
    pub name: Spanned<String>,
    pub stack: Vec<Table<'t>>,
    pub set: Vec<Setting<'t>>,
}

/// Returns what was read, or adds the mistake to `mistakes` and returns an empty value.
fn keep<T: Default>(read: Result<T, Diagnostic>, mistakes: &mut Vec<Diagnostic>) -> T {
    read.unwrap_or_else(|mistake| {
        mistakes.push(mistake);
        T::default()
    })
}

/// Reads each table, and keeps all mistakes.
fn each<A, B>(
    tables: Vec<A>,
    read: impl Fn(A) -> Result<B, Diagnostic>,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<B> {
    tables.into_iter().filter_map(|table| read(table).map_err(|m| mistakes.push(m)).ok()).collect()
}

impl<'t> File<'t> {
    /// Reads a file. Returns what could be read together with all mistakes; a text that is not TOML is an error.
    pub(crate) fn read(text: &'t str) -> Result<(Self, Vec<Diagnostic>), Diagnostic> {
        if text.len() as u64 > bounds::FILE {
            return Err(Diagnostic {
                message: format!("The file is longer than {}", Bytes(bounds::FILE)),
                span: None,
                help: Some("an experiment needs a few lines; is this the right file?".into()),
                ..Diagnostic::default()
            });
        }
        let mut root = Table::parse(text, "An experiment")?;
        let mut mistakes = Vec::new();
        let m = &mut mistakes;
        let name = keep(root.need::<String>(&NAME).map(Some), m);
        let about = keep(root.need::<String>(&ABOUT).map(Some), m);
        let source = keep(root.take::<String>(&SOURCE), m);
        let repeat = keep(root.take::<Repeat>(&REPEAT), m);
        let by_layer = keep(root.take::<bool>(&LATENCY_BY_LAYER), m);
        let devices = keep(root.table(&DEVICES, "A list of devices"), m);
        let devices = devices.map(|table| table.named_tables(&DEVICES, "A device")).transpose();
        let devices = each(keep(devices, m).unwrap_or_default(), Device::read, m);
        let has_trees = corpora::are_trees(&root);
        let corpora = keep(corpora::take(&mut root), m);
        let machine = keep(root.table(&MACHINE, "A machine"), m);
        let environment = keep(root.table(&environment::KEY, "An environment"), m);
        let stack = keep(root.tables(&STACK, "A layer of the stack"), m);
        let variant = each(keep(root.tables(&VARIANT, "A variant"), m), WrittenVariant::read, m);
        let factor = each(keep(root.tables(&FACTOR, "A factor"), m), Factor::read, m);
        let exclude = each(keep(root.tables(&EXCLUDE, "An exclusion"), m), Exclude::read, m);
        let scale = keep(root.table(&SCALE, "A list of scales"), m);
        let scale = scale.map(|table| table.named_tables(&SCALE, "A scale")).transpose();
        let scale = each(keep(scale, m).unwrap_or_default(), Scaled::read, m);
        let set = settings(&mut root, m);
        let stage = keep(root.tables(&STAGE, "A stage"), m);
        let question = each(keep(root.tables(&QUESTION, "A question"), m), Question::read, m);
        let expect = each(keep(root.tables(&EXPECT, "An expectation"), m), Expectation::read, m);
        let reported = each(keep(root.tables(&REPORTED, "A report"), m), Reported::read, m);
        let picture = each(keep(root.tables(&PICTURE, "A picture"), m), Picture::read, m);
        m.extend(root.finish().err());
        for (key, text) in [("about", &about), ("source", &source)] {
            m.extend(text.as_ref().and_then(|t| names::check_text(key, t.get_ref(), &t.span())));
        }
        if let Some(name) = &name {
            let mistake = names::check_plain("the experiment", name.get_ref(), &name.span());
            m.extend(mistake.map(Diagnostic::renamed));
        }
        let file = Self {
            name: name.unwrap_or_else(|| Spanned::new(0..0, String::new())),
            about: about.map(Spanned::into_inner).unwrap_or_default(),
            source: source.map(Spanned::into_inner),
            repeat: repeat.as_ref().map_or(REPEATS, |repeat| *repeat.get_ref()),
            latency_by_layer: by_layer.is_some_and(Spanned::into_inner),
            repeat_at: repeat.map(|repeat| repeat.span()),
            devices,
            corpora,
            has_trees,
            machine: machine.unwrap_or_else(|| Table::empty("A machine")),
            environment: environment.unwrap_or_else(|| Table::empty("An environment")),
            stack,
            variant,
            factor,
            exclude,
            scale,
            set: Scaled { set, variants: Vec::new() },
            stage,
            question,
            expect,
            reported,
            picture,
        };
        file.check(&mut mistakes);
        Ok((file, mistakes))
    }

    /// Checks what needs neither layers nor stages.
    fn check(&self, mistakes: &mut Vec<Diagnostic>) {
        if self.devices.is_empty() && mistakes.is_empty() {
            mistakes.push(Diagnostic {
                message: "The experiment has no device".into(),
                span: None,
                help: Some("name one: [devices.data] with size = \"12G\"".into()),
                ..Diagnostic::default()
            });
        }
        for device in &self.devices {
            let mistake = names::check_role(&device.name, &device.at);
            mistakes.extend(mistake.map(Diagnostic::with_other_key));
        }
        let stacks = self.variant.iter().map(|variant| &variant.stack).chain([&self.stack]);
        mistakes.extend(
            stacks.filter_map(|s| bounds::check(s, bounds::LAYERS, "layers of a stack", Table::at)),
        );
        mistakes.extend(bounds::check(&self.devices, bounds::DEVICES, "devices", |d| d.at.clone()));
        mistakes
            .extend(bounds::check(&self.variant, bounds::VARIANTS, "variants", |v| v.name.span()));
        mistakes.extend(bounds::check(&self.factor, bounds::FACTORS, "factors", |f| f.name.span()));
        let (reported, most) = (&self.reported, bounds::REPORTS);
        mistakes.extend(bounds::check(reported, most, "reports of a source", Reported::at));
        mistakes.extend(bounds::check(&self.stage, bounds::STAGES, "stages", Table::at));
        if let Some(extra) = self.question.get(bounds::QUESTIONS) {
            let most = bounds::QUESTIONS;
            mistakes.push(Diagnostic::at(
                extra.subject.places.table(),
                format!("{} questions are asked", self.question.len()),
                format!("ask at most {most}: with Holm's correction more could never be decided"),
            ));
        }
    }
}

impl<'t> Device<'t> {
    pub(crate) fn read(named: Named<Table<'t>>) -> Result<Named<Self>, Diagnostic> {
        let Named { name, at, value: table } = named;
        let mut keys = table.clone();
        let (size, file) = (keys.take(&SIZE)?, keys.take(&FILE)?);
        let (like, faults) = (keys.take(&LIKE)?, keys.take(&FAULTS)?);
        let attributes = attributes::take(&mut keys)?;
        let write_runs = keys.take(&WRITE_RUNS)?;
        let environment = environment::take(&mut keys, Some(&name))?;
        let device = Self { size, file, like, faults, attributes, write_runs, environment, table };
        keys.finish()?;
        Ok(Named { name, at, value: device })
    }
}

impl<'t> WrittenVariant<'t> {
    fn read(mut table: Table<'t>) -> Result<Self, Diagnostic> {
        let name: Spanned<String> = table.need(&NAME)?;
        if let Some(mistake) = names::check("a variant", name.get_ref(), &name.span()) {
            return Err(mistake.renamed());
        }
        let stack = table.tables(&STACK, "A layer of the stack")?;
        let set = table.table(&SET, "set")?.map(Table::settings).unwrap_or_default();
        table.finish()?;
        Ok(Self { name, stack, set })
    }
}

/// Takes out the settings of the file that nothing on the command line replaces, and those of the command line.
fn settings<'t>(root: &mut Table<'t>, mistakes: &mut Vec<Diagnostic>) -> Vec<Setting<'t>> {
    let mut take = |key: &'static Key, what: &'static str| {
        let table = keep(root.table(key, what), mistakes);
        table.map(Table::settings).unwrap_or_default()
    };
    let (mut set, given) = (take(&SET, "set"), take(&GIVEN, "given"));
    set.retain(|setting| given.iter().all(|last| last.path != setting.path));
    set.extend(given);
    set
}
