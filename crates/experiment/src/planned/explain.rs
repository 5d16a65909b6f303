//! Output of `explain`: the plan, its commands, its time and bytes, without touching anything.

use layers::probe::Reading;
use results::model::{
    AskedMetric, CacheBound, Computed, FactorFacts, SequentialFacts, VariantFacts,
};
use serde::Serialize;
use units::{Bytes, Nanos, Unit};

use crate::checked::texture;
use plan::{CellPlan, Plan, StagePlan};

/// A plan in the order in which a person wants to read it.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    /// Name of the experiment.
    pub experiment: String,
    /// Purpose of the experiment, as its file says it.
    pub about: String,
    /// About how long all cells take, nanoseconds; at most, where it takes as many repeats as are needed.
    pub about_ns: u64,
    /// About how long it takes at least, nanoseconds: until its first look, where it takes as many repeats as are needed.
    pub least_ns: u64,
    /// I/Os per second that the time rests on where loads end by amount.
    pub assumed_iops: u64,
    /// Tells whether a load ends by amount, so that its time rests on these.
    pub ends_by_amount: bool,
    /// Tells whether stages are commands, whose time nobody knows: all times leave it out, or hold a guess of it.
    pub commands: bool,
    /// Order of cells: `variant r1`, ...
    pub order: Vec<String>,
    /// Repeats of each variant; the most, where it takes as many as are needed.
    pub repeat: u32,
    /// Looks after which it is decided whether more repeats are needed, and the time limit of the run; `null` where the number of repeats is
    /// fixed.
    pub sequential: Option<SequentialFacts>,
    /// Why no verdict can be expected; `null` where one can.
    pub no_verdict: Option<String>,
    /// Name of the scale, where the experiment has it.
    pub scale: Option<String>,
    /// Settings of the scale, as they are written.
    pub scaled: Vec<String>,
    /// Factors: what is varied at several levels.
    pub factors: Vec<FactorFacts>,
    /// Devices by role with their size in bytes and the most that is stored on them.
    pub devices: Vec<ExplainedDevice>,
    /// One entry for each variant.
    pub variants: Vec<ExplainedVariant>,
}

/// One device.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedDevice {
    /// Its role.
    pub role: String,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// The most that will be stored on it at any moment, bytes.
    pub stored_bytes: u64,
    /// The file that it shows, for reading only.
    pub file: Option<std::path::PathBuf>,
    /// Tells whether variants ask for different sizes: this is the largest of them, for all.
    pub largest: bool,
    /// Disk that the lab models it like.
    pub like: Option<String>,
    /// Attributes and limits that it has in the lab, by key.
    pub attributes: std::collections::BTreeMap<String, String>,
}

/// One variant.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedVariant {
    /// Its name.
    pub name: String,
    /// About how long one of its cells takes, nanoseconds.
    pub about_ns: u64,
    /// Settings that the experiment gives, by key: of the lab's machine, and of the environment.
    pub machine: std::collections::BTreeMap<String, String>,
    /// Steps that raise the stack, in order.
    pub up: Vec<String>,
    /// Waits until the stack is ready.
    pub ready: Vec<String>,
    /// Figures of the layers, as formulas give them.
    pub computed: Vec<ExplainedFigure>,
    /// Upper bounds of caches' hit rates in measured loads, and the least time to reach them.
    pub bounds: Vec<String>,
    /// Stages that it runs.
    pub stages: Vec<String>,
    /// Actions that take the stack down, in order.
    pub down: Vec<String>,
    /// Probes, each with its cadence and its source.
    pub samples: Vec<String>,
    /// Warnings of the doctor about the plan, before it runs.
    pub warnings: Vec<String>,
}

/// A figure of a layer as a formula has it.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedFigure {
    /// Name of the layer.
    pub layer: String,
    /// The figure.
    #[serde(flatten)]
    pub figure: Computed,
}

impl std::fmt::Display for ExplainedFigure {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Computed { metric, about, value } = &self.figure;
        let (name, value) = layers::metric(metric).map_or_else(
            || (metric.as_str(), value.to_string()),
            |known| {
                // Formulas give numbers of blocks exactly, so all digits are shown.
                let exact = known.unit == Unit::Blocks;
                let grouped = || units::show::grouped(*value as u64);
                (known.name, if exact { grouped() } else { known.unit.show(*value) })
            },
        );
        write!(f, "{} of {}: {value} ({about})", name, self.layer)
    }
}

/// Explains a plan.
pub fn explain(plan: &Plan) -> Explained {
    let (Nanos(least_ns), Nanos(about_ns)) = plan.takes();
    Explained {
        experiment: plan.facts.experiment.clone(),
        about: plan.facts.about.clone(),
        about_ns,
        least_ns,
        assumed_iops: crate::planned::estimate::ASSUMED_IOPS,
        ends_by_amount: plan.cells.iter().flat_map(|cell| &cell.stages).any(|s| s.ios.is_some()),
        commands: plan.has_commands(),
        order: plan.cells.iter().map(|c| format!("{} r{}", c.variant, c.repeat)).collect(),
        repeat: plan.facts.repeat,
        sequential: plan.facts.sequential.clone(),
        no_verdict: plan.no_verdict(),
        scale: plan.facts.scale.clone(),
        scaled: plan.facts.scaled.clone(),
        factors: plan.facts.factors.clone(),
        devices: plan
            .devices
            .iter()
            .map(|(role, d)| ExplainedDevice {
                role: role.clone(),
                size_bytes: d.size.0,
                stored_bytes: d.stored.0,
                file: d.file.clone(),
                largest: d.largest,
                like: d.model.as_ref().map(|model| model.like.to_string()),
                attributes: d
                    .attributes
                    .shown()
                    .into_iter()
                    .map(|(k, v)| (k.to_owned(), v))
                    .collect(),
            })
            .collect(),
        variants: variants(plan),
    }
}

/// Returns the variants in the order of the file; the cells are in random order.
fn variants(plan: &Plan) -> Vec<ExplainedVariant> {
    let cell = |name: &str| plan.cells.iter().find(|cell| cell.variant == name);
    let facts = plan.facts.variants.iter();
    facts
        .filter_map(|facts| Some(variant(cell(&facts.name)?, facts, &plan.facts.questions)))
        .collect()
}

fn variant(cell: &CellPlan, facts: &VariantFacts, questions: &[AskedMetric]) -> ExplainedVariant {
    let shown = |steps: &[layers::step::Step]| -> Vec<String> {
        steps.iter().map(|s| s.action.show()).collect()
    };
    let reduces = layers::any_reduces(cell.stack.iter().map(|layer| layer.kind.as_str()));
    let mut warnings: Vec<String> = cell
        .stages
        .iter()
        .filter_map(|stage| stage.load().filter(|load| load.has_content()))
        .flat_map(|load| {
            let content = &load.content;
            let flushes = load.durable().and_then(|durable| content.flush_warning(durable));
            let short = load.written_blocks();
            let short = short.and_then(|blocks| content.length_warning(blocks, load.jobs));
            let all = content.warnings().into_iter().chain(flushes).chain(short);
            let relevant = all.filter(|warning| reduces || !warning.is_of_reduction());
            relevant.map(|warning| warning.to_string()).collect::<Vec<_>>()
        })
        .collect();
    warnings.dedup();
    ExplainedVariant {
        name: cell.variant.clone(),
        about_ns: cell.about.0,
        machine: facts.machine.clone(),
        up: shown(&cell.up),
        ready: shown(&cell.ready),
        computed: facts
            .stack
            .iter()
            .flat_map(|layer| {
                let name = &layer.name;
                let figure = |figure: &Computed| ExplainedFigure {
                    layer: name.clone(),
                    figure: figure.clone(),
                };
                layer.computed.iter().map(figure)
            })
            .collect(),
        bounds: facts
            .stages
            .iter()
            .flat_map(|stage| stage.caches.iter().map(|bound| most(&stage.name, bound)))
            .collect(),
        stages: cell.stages.iter().map(|planned| stage(planned, facts, questions)).collect(),
        down: cell.up.iter().rev().flat_map(|s| s.undo.iter().map(|a| a.show())).collect(),
        samples: cell
            .probes
            .iter()
            .map(|p| {
                let (every, from) = (Nanos(p.every_ms * 1_000_000), p.source.show());
                let slow = match p.reading {
                    Reading::Edge => "",
                    Reading::Background => ", in the background",
                };
                format!("{} every {every}{slow}: {from}", p.id)
            })
            .collect(),
        warnings,
    }
}

/// Describes the upper bound of a cache in a stage.
fn most(stage: &str, bound: &CacheBound) -> String {
    let CacheBound { layer, percent, chunk_bytes, chunks, warm_up_ns, .. } = bound;
    let (percent, grouped) = (Unit::Percent.show(*percent), units::show::grouped(*chunks));
    let time = warm_up_ns.map_or_else(String::new, |ns| {
        format!(", for which the modelled disk takes {}", Nanos(ns))
    });
    format!(
        "{stage}: of the reads at most {percent} can hit {layer}; to come within 2 points of that, {grouped} chunks of {} have to be read in{time}",
        Bytes(*chunk_bytes)
    )
}

fn stage(stage: &StagePlan, facts: &VariantFacts, questions: &[AskedMetric]) -> String {
    let known = facts.stages.iter().find(|known| known.name == stage.name);
    let before: String = stage.before.iter().map(|step| format!("{}; then ", step.about)).collect();
    let amount = stage.ios.zip(stage.load()).map(|(ios, load)| {
        let size = load.block_size.fixed();
        let size = size.map_or_else(|| load.block_size.to_string(), |n| n.to_string());
        format!(", {} I/Os of {size}", units::show::grouped(ios))
    });
    let measured = match (&stage.sweep, stage.measured) {
        // Each repeat draws another order.
        (Some(_), _) => " (measured, order drawn)",
        (None, true) => " (measured)",
        (None, false) => "",
    };
    let about = known.map_or("", |k| &k.about);
    let time = match stage.command() {
        Some(_) => ", time unknown".to_owned(),
        // Nothing is added for a stage that takes hardly any time, or whose description ends with its time.
        None if stage.about.0 == 0 => String::new(),
        None if about.ends_with(&format!("for {}", stage.about)) => String::new(),
        None => format!(", about {}", stage.about),
    };
    let natural = stage.driven().is_some_and(|load| texture::suits(questions, load));
    let why =
        if natural { " (texture natural, which suits the CPU time that is asked)" } else { "" };
    // A load that ends by its number of I/Os has named the number already.
    let is_shown = stage.load().is_some_and(|load| load.ios.is_some());
    let amount = amount.filter(|_| !is_shown).unwrap_or_default();
    format!("{before}{}{measured}: {about}{why}{amount}{time}", stage.name)
}
