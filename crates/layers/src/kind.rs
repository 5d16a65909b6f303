//! A kind of layer: its name, keys, needs, figures, charts, rules and manual page.

use std::collections::BTreeMap;

use results::model::LayerFigures;
use units::{Basis, Metric};

pub use crate::chart::{Chart, Series};
use crate::counter::{Overview, place_of};
use crate::figures::{Endpoints, FigureFacts, Followed, Window};
use crate::objects::{Fact, Objects};
use crate::recorded::Recorded;
use crate::rule::{LayerRule, StandingRule};
use crate::standing::Standing;
use crate::{Key, Layer, ParseError, Parsed, Place, SettingError, Twin};

/// The figure that measures the purpose of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headline {
    /// Its id (`saving_percent`).
    pub metric: &'static str,
    /// Words that follow its value in a sentence (`of the space was saved`); without them, its name stands before the value.
    pub words: Option<&'static str>,
    /// Verb and object around its value, where the layer does it: `saves` 75 % `of the space`.
    pub does: Option<(&'static str, &'static str)>,
}

/// Facts about the kernel threads of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threads {
    /// Kernel threads that the layer has only once, by the names that its thread probe reports: such a thread sets the pace when it takes nearly 100
    /// % of a CPU.
    pub single: &'static [&'static str],
    /// Percent of one CPU: below the first, the layer has more threads of a kind than it needs; above the second, one more would help.
    pub marks: Option<(f64, f64)>,
    /// The work of each kind of thread, by its name without a number, in words that go on after "a thread that": `hashQ`, `looks for
    /// duplicates`.
    pub does: &'static [(&'static str, &'static str)],
}

impl Threads {
    /// Facts about a layer that has no threads, or none whose number could be raised.
    pub const NONE: Self = Self { single: &[], marks: None, does: &[] };

    /// The work of the thread called `name`; `None` where it is not known.
    pub fn does(&self, name: &str) -> Option<&'static str> {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        self.does.iter().find(|(known, _)| *known == kind).map(|(_, does)| *does)
    }

    /// A thread with its work first: `looks for duplicates (hashQ0)`; `None` where its work is not known.
    pub fn with_work(&self, name: &str) -> Option<String> {
        self.does(name).map(|does| format!("{does} ({name})"))
    }
}

/// A part of a total that a layer counts separately: of all reads of a disk, for example, those that the layer makes for its own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The metric of the whole: of the devices below the layer, or of the load.
    pub of: &'static str,
    /// The metrics of the layer that are the part, added up.
    pub metrics: &'static [&'static str],
    /// The metric of the whole that the part is compared with: for a device its bytes, since requests may have been merged.
    pub within: &'static str,
    /// Amount that one counted thing contributes to `within`, in the unit of `within`.
    pub each: u64,
    /// The part in plain words: `VDO comparing duplicates with what it has stored`.
    pub words: &'static str,
    /// The layer's word for what is counted.
    pub counter: &'static str,
}

/// Reads the settings of a layer from a table that holds nothing else.
pub type ParseSettings = fn(&toml::Table) -> Result<Box<dyn Layer>, SettingError>;

/// One kind of layer: an entry of the registry. A new kind sets what it has, and takes the rest from [`Kind::new`].
#[derive(Clone, Copy)]
pub struct Kind {
    /// The word in an experiment's `layer = ...`.
    pub name: &'static str,
    /// Description, one sentence.
    pub about: &'static str,
    /// Devices that it stands on, needed or optional; empty for a layer that needs none (`zram`).
    pub inputs: &'static [Input],
    /// Its settings.
    pub keys: &'static [Key],
    /// Reads its settings from a table that holds nothing else.
    pub parse: ParseSettings,
    /// The parsers of what its probes and waits read.
    pub parsers: &'static [Parser],
    /// Recorded output of a real one, by the parser that reads it: its twin answers with this output unless [`Layer::twin`](crate::Layer::twin) gives
    /// a model. Several texts of one source follow each other, with lines `---` between them.
    pub recorded: &'static [(&'static str, &'static str)],
    /// Messages by which its tools say that an object is not there, which is fine in teardown.
    pub absence: &'static [Absence],
    /// Objects that its tools make and that outlive a killed run.
    pub objects: &'static [Objects],
    /// Facts of a machine that its figures depend on.
    pub facts: &'static [Fact],
    /// Tells whether its device refuses I/O that may not wait (`RWF_NOWAIT`), so that io_uring hands each I/O to a worker thread of the
    /// kernel: targets of device-mapper without `DM_TARGET_NOWAIT`.
    pub refuses_nowait: bool,
    /// Tells whether it answers reads of unwritten places without reading its device: what is not mapped reads as zeros.
    pub answers_for_holes: bool,
    /// Tells whether all devices under it must have logical blocks of one size: lvm does not join devices that differ in it.
    pub one_block_size: bool,
    /// Tells whether it stores duplicates once and compressed blocks together, so that warnings about duplicates and packing of content are for it.
    pub reduces: bool,
    /// Tells whether what stands on it gets a directory, not a block device.
    pub offers_files: bool,
    /// Facts about its kernel threads.
    pub threads: Threads,
    /// Parts of the work of devices and CPUs that it counts separately; pages explain differences by them.
    pub shares: &'static [Share],
    /// The figure that measures the layer's purpose: pages show it in their first sentence and on their cards.
    pub headline: Option<Headline>,
    /// Its figures, described.
    pub metrics: &'static [Metric],
    /// Things of it that can be filled, each with the metric that says how full it is.
    pub fills: &'static [FillLevel],
    /// Figures that tell the condition of the cache, if the layer is a cache.
    pub cache: Option<CacheFigures>,
    /// States that it can be brought to: `do = "state"`.
    pub states: &'static [State],
    /// Actions that it can do while it stands, except for changes of settings.
    pub actions: &'static [ActionKind],
    /// The optional part that a change of its settings while it stands needs or affects.
    pub change: Option<PartEffect>,
    /// Charts that a report draws of its samples.
    pub charts: &'static [Chart],
    /// Packages, modules, programs and files that a machine must have for it.
    pub needs: LayerNeeds,
    /// Its manual page, Markdown.
    pub manual: &'static str,
    /// Its figures from the samples of a cell; every metric is a key, `None` where the samples do not say.
    pub figures: fn(&FigureFacts) -> LayerFigures,
    /// Every number that its probes read of it, in groups, under the layer's own names: `PROBE.FIELD`.
    pub counters: &'static [&'static [Metric]],
    /// Growth of a number that only grows, by its field; `None` if it was reset in between.
    pub counting: fn(&Endpoints, &str) -> Option<f64>,
    /// The figures that its own tool prints first, made from one reading.
    pub overview: Option<Overview>,
    /// Fields that its figures follow between marks; of all others only what is read at marks stays in memory.
    pub followed: &'static [Followed],
    /// The doctor's rules about it.
    pub rules: &'static [LayerRule],
    /// The forms in which it exists on a machine, and the sources that are read there.
    pub standing: &'static [Standing],
    /// The doctor's rules about it that need no run.
    pub standing_rules: &'static [StandingRule],
    /// The rules about the growth of its counters while it is watched; most of them are among `standing_rules` too.
    pub watch_rules: &'static [StandingRule],
    /// Commands that change these settings of a volume that the reader made; empty if there are no such commands, or if the volume
    /// has to be made anew.
    pub commands: fn(&BTreeMap<String, String>, &[Changed]) -> Vec<String>,
}

/// A setting and the value that it is to have, as written in TOML (`"512M"`, `false`).
pub type Changed<'a> = (&'a str, &'a str);

impl Kind {
    /// The action that brings back a part that another action removed.
    pub fn brings(&self, part: &str) -> Option<&'static ActionKind> {
        self.actions.iter().find(|a| matches!(a.part, Some(PartEffect::Brings(own)) if own == part))
    }

    /// Creates a kind on one block device that has only a name, a sentence about it, a manual page and settings.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        manual: &'static str,
        parse: ParseSettings,
    ) -> Self {
        Self {
            name,
            about,
            inputs: ON_ONE_DEVICE,
            keys: &[],
            parse,
            parsers: &[],
            recorded: &[],
            absence: &[],
            objects: &[],
            facts: &[],
            refuses_nowait: false,
            answers_for_holes: false,
            one_block_size: false,
            reduces: false,
            offers_files: false,
            threads: Threads::NONE,
            shares: &[],
            headline: None,
            metrics: &[],
            fills: &[],
            cache: None,
            states: &[],
            actions: &[],
            change: None,
            charts: &[],
            needs: LayerNeeds::NONE,
            manual,
            figures: no_figures,
            counters: &[],
            counting: crate::counter::grew,
            overview: None,
            followed: &[],
            rules: &[],
            standing: &[],
            standing_rules: &[],
            watch_rules: &[],
            commands: |_, _| Vec::new(),
        }
    }

    /// Every counter of the kind.
    pub fn counters(&self) -> impl Iterator<Item = &'static Metric> + use<> {
        self.counters.iter().copied().flatten()
    }

    /// The counter with this id.
    pub fn counter(&self, id: &str) -> Option<&'static Metric> {
        self.counters().find(|counter| counter.id == id)
    }

    /// The value of a counter of the layer called `layer` over a window: its growth, or for a level its value at the end.
    pub fn counted(&self, counter: &Metric, layer: &str, window: &Window) -> Option<f64> {
        let (probe, field) = place_of(counter);
        let ends = window.ends(&format!("{layer}.{probe}"))?;
        match counter.basis {
            Basis::Level => ends.end(field),
            Basis::Counter | Basis::Cell | Basis::Load | Basis::Work => {
                (self.counting)(&ends, field)
            }
        }
    }

    /// The simulated twin of a layer of this kind at `at`.
    ///
    /// # Errors
    /// When its settings cannot work there.
    pub fn twin(
        &'static self,
        layer: &dyn Layer,
        at: &Place,
    ) -> Result<Box<dyn Twin>, SettingError> {
        match layer.twin(at) {
            Some(twin) => Ok(twin),
            None => Ok(Box::new(Recorded::new(self.recorded, layer.raise(at)?))),
        }
    }
}

/// Returns the figures of a kind without figures: none.
fn no_figures(_: &FigureFacts) -> LayerFigures {
    LayerFigures::new()
}

/// One thing that must be under a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Its name in `on = { NAME = ... }`; a layer with one input takes `on = "..."` too.
    pub name: &'static str,
    /// The kind of thing that it must be.
    pub wants: InputKind,
    /// The purpose for which the layer uses it.
    pub help: &'static str,
    /// Tells whether the layer can go without it.
    pub optional: bool,
}

/// A kind of thing that an input of a layer must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A block device.
    Block,
    /// A directory of a mounted file system.
    Directory,
}

/// The only input of a layer that stands on one block device.
pub(crate) const ON_ONE_DEVICE: &[Input] =
    &[needed("data", InputKind::Block, "the device that it stands on")];

/// An input that a layer cannot go without.
pub(crate) const fn needed(name: &'static str, wants: InputKind, help: &'static str) -> Input {
    Input { name, wants, help, optional: false }
}

/// A function that turns the text of a source into fields.
#[derive(Clone, Copy)]
pub struct Parser {
    /// Its id, which probes and steps name.
    pub id: &'static str,
    /// Reads the text.
    pub read: fn(&str) -> Result<Parsed, ParseError>,
}

/// The words by which a tool says that the object of a removal is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    /// The program (`lvm`).
    pub program: &'static str,
    /// Words of absence in its standard error.
    pub gone: &'static [&'static str],
    /// Words by which it says that it could not even look: in a message with them, words of absence do not count.
    pub held: &'static [&'static str],
}

/// Ids of the figures of a cache that tell whether it is cold, warm, full of junk or stalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheFigures {
    /// Share of I/Os that it answered.
    pub hits: &'static str,
    /// Share of it that holds blocks.
    pub used: &'static str,
    /// Metrics of what came in or went out.
    pub moves: &'static [&'static str],
}

/// Something of a layer that can be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillLevel {
    /// Its name: `physical`, `logical`, `cache`, `file system`.
    pub of: &'static str,
    /// The metric that says how full it is, percent.
    pub metric: &'static str,
    /// The part that the metric needs; without the part it has no value.
    pub part: Option<&'static str>,
}

/// A state that a layer can be brought to: a stage with `do = "state"`. What proves it is [`Layer::proof`](crate::Layer::proof).
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// The word in `is = "..."`.
    pub name: &'static str,
    /// Description, one sentence.
    pub about: &'static str,
    /// The way to bring the layer there.
    pub by: StateMethod,
}

/// A way to bring a layer to a state.
#[derive(Debug, Clone, Copy)]
pub enum StateMethod {
    /// Nothing: the layer is in the state already, or it is not.
    Nothing,
    /// The writes of the stage `allocate`.
    Allocate,
    /// An action of the layer, by its name.
    Action(&'static str),
    /// A discard of all of it.
    Discard,
    /// A load in rounds, until a metric has a value and all criteria are met.
    Load {
        /// Id of the metric.
        metric: &'static str,
        /// The value.
        at_least: f64,
        /// The load of a round, unless the experiment gives another: keys of a load, as TOML.
        load: &'static str,
    },
}

/// An action that a layer can do while it stands: a stage with `do = "layer"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionKind {
    /// The word in `action = "..."`.
    pub name: &'static str,
    /// Description of what it does, one sentence.
    pub about: &'static str,
    /// Its settings.
    pub keys: &'static [Key],
    /// Tells whether nothing may stand on the layer during the action.
    pub alone: bool,
    /// Tells whether it may lose writes that were not flushed before.
    pub loses: bool,
    /// Its effect on an optional part of the layer.
    pub part: Option<PartEffect>,
}

/// The effect of an action on an optional part of a layer, with the name of the part. All parts are there when the layer has been raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartEffect {
    /// It is for a layer that has the part.
    Needs(&'static str),
    /// It removes the part, which must be there.
    Takes(&'static str),
    /// It brings the part back, which must be missing.
    Brings(&'static str),
    /// The part is there after it, whether it was missing or not.
    Renews(&'static str),
}

impl PartEffect {
    /// Name of the part.
    pub fn name(self) -> &'static str {
        match self {
            Self::Needs(name) | Self::Takes(name) | Self::Brings(name) | Self::Renews(name) => name,
        }
    }
}

/// Things that a machine must have for a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerNeeds {
    /// Debian packages.
    pub packages: &'static [&'static str],
    /// Kernel modules.
    pub modules: &'static [&'static str],
    /// Kernel modules with faster code for certain processors; a guest loads those that suit its processor.
    pub faster: &'static [&'static str],
    /// Programs.
    pub tools: &'static [&'static str],
    /// Programs of these packages that people use in a shell, and no run needs.
    pub by_hand: &'static [&'static str],
    /// Files of the lab's guest: path below its root, and text.
    pub guest_files: &'static [(&'static str, &'static str)],
}

impl LayerNeeds {
    /// Nothing.
    pub const NONE: Self = Self {
        packages: &[],
        modules: &[],
        faster: &[],
        tools: &[],
        by_hand: &[],
        guest_files: &[],
    };
}
