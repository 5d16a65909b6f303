//! From the file to the Plan.

use std::collections::BTreeMap;

use layers::environment::AskedSetting;
use results::model::{ExpectedFigure, FactorFacts, PlanFacts, ReportedFacts, VariantFacts};
use units::{Bytes, Seed};

use crate::ExperimentError;
use crate::checked::bounds;
use crate::checked::texture;
use crate::checked::unused;
use crate::kinds::steps;
use crate::planned::devices::{self, Devices};
use crate::planned::graph::{self, StackPlan};
use crate::planned::kernels;
use crate::planned::{estimate, order};
use crate::stages::{self, Stage};
use crate::written::corpora::{self, AllCorpora};
use crate::written::diagnostic::Diagnostic;
use crate::written::environment;
use crate::written::factors::Factor;
use crate::written::file::File;
use crate::written::machine;
use crate::written::pictures::{self, Picture};
use crate::written::questions::{self, Question};
use crate::written::repeat::Repeat;
use crate::written::scale::Scale;
use crate::written::stacks::{self, VariantStack};
use crate::written::trial::Trial;
use crate::written::variants::{self, Variant, Variants};
use plan::{CellPlan, DevicePlan, Machine, Needs, Plan};

/// The note on a file with the words of earlier versions.
const TREES: &str = "[trees.X] is called [corpora.X] now, {tree.X} {corpus.X}, and tree.X.KEY corpus.X.KEY; the old words are still read";

/// Choices of the caller, in addition to the file.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOptions {
    /// The seed of the run.
    pub seed: Seed,
    /// Eight hexadecimal digits, unique to the run.
    pub run_tag: String,
    /// Repeats instead of the file's.
    pub repeat: Option<Repeat>,
    /// Sizes of the real devices by role, instead of the file's.
    pub sizes: BTreeMap<String, Bytes>,
    /// The scale to plan at.
    pub scale: Scale,
    /// Names of the variants to run, several in one text with commas between them; empty for all.
    pub only: Vec<String>,
}

/// An experiment as it was read, with what is wrong with it so far: it is planned from this at every scale.
pub(crate) struct Source<'t> {
    /// Name of the file, for errors.
    name: &'t str,
    text: &'t str,
    pub file: File<'t>,
    mistakes: Vec<Diagnostic>,
}

impl<'t> Source<'t> {
    /// Reads the experiment in `text`; `name` names it in errors.
    ///
    /// # Errors
    ///
    /// Text that is not TOML, or too long for an experiment. Other mistakes come with the plan.
    pub(crate) fn read(name: &'t str, text: &'t str) -> Result<Self, ExperimentError> {
        match File::read(text) {
            Ok((file, mistakes)) => Ok(Self { name, text, file, mistakes }),
            Err(mistake) => Err(failed(name, text, vec![mistake])),
        }
    }

    /// Returns the error of these mistakes.
    pub(crate) fn fail(&self, mistakes: Vec<Diagnostic>) -> ExperimentError {
        failed(self.name, self.text, mistakes)
    }

    /// Checks and plans it at one scale.
    pub(crate) fn plan(&self, choices: &PlanOptions) -> Result<Plan, ExperimentError> {
        planned(self, choices, None)
    }
}

fn failed(name: &str, text: &str, mistakes: Vec<Diagnostic>) -> ExperimentError {
    ExperimentError { file: name.to_owned(), text: text.to_owned(), mistakes }
}

/// Plans a trial: the experiment with one more variant, for the first question alone.
pub fn compose_trial(
    file: &str,
    text: &str,
    choices: &PlanOptions,
    trial: &Trial,
) -> Result<Plan, ExperimentError> {
    let mut plan = planned(&Source::read(file, text)?, choices, Some(trial))?;
    trial.focus(&mut plan);
    Ok(plan)
}

fn planned<'t>(
    source: &Source<'t>,
    choices: &PlanOptions,
    trial: Option<&'t Trial>,
) -> Result<Plan, ExperimentError> {
    let (file, parsed, mut mistakes) = (source.name, &source.file, source.mistakes.clone());
    let (mut variants, wrong) = variants::all(parsed, &choices.scale);
    mistakes.extend(wrong);
    if let Some(trial) = trial.filter(|_| mistakes.is_empty()) {
        mistakes.extend(variants.try_out(trial).err());
    }
    let written: Vec<_> = variants.all.iter().map(|variant| &variant.corpora[..]).collect();
    let corpora = corpora::read(&written, file).unwrap_or_else(|m| {
        mistakes.extend(m);
        AllCorpora::default()
    });
    let mut read = Read::default();
    for variant in &variants.all {
        mistakes.extend(read.add(variant, file, &variants.all));
    }
    kernels::fix_formats(&read.machines, &mut read.stacks);
    let picked = variants.pick(&choices.only).unwrap_or_else(|mistake| {
        mistakes.push(mistake);
        Vec::new()
    });
    let at = parsed.repeat_at.clone().filter(|_| choices.repeat.is_none());
    let repeat = repeat(parsed, choices);
    mistakes.extend(bounds::check_cells(picked.len(), repeat.most(), at.clone()));
    mistakes.extend(repeat.check(parsed, picked.len(), at));
    texture::choose(&parsed.question, read.stages.iter_mut().flatten());
    let whole = mistakes.is_empty();
    if whole {
        mistakes.extend(of_figures(parsed, &read, &variants));
    }
    let differ = devices::fit(&mut read.devices, &choices.sizes);
    let of_run = (choices.run_tag.as_str(), parsed.latency_by_layer);
    // From a file that could not be read completely, layers and stages would only report consequences of the missing parts.
    let built = match whole {
        true => build(&variants.all, &read, &corpora, of_run).unwrap_or_else(|wrong| {
            mistakes.extend(wrong);
            Vec::new()
        }),
        false => Vec::new(),
    };
    if !mistakes.is_empty() {
        return Err(source.fail(once(mistakes)));
    }
    let all: Vec<Stage> = read.stages.iter().flatten().cloned().collect();
    mistakes.extend(equal_levels(&parsed.factor, &built));
    mistakes.extend(idle(parsed, &read, &built, &all));
    if !mistakes.is_empty() {
        return Err(source.fail(once(mistakes)));
    }
    // A figure that names no variant stands for the same one whichever variants run, so all names are needed.
    let names: Vec<&str> = variants.all.iter().map(|variant| variant.name.as_str()).collect();
    let chosen: Vec<PlannedVariant> =
        built.into_iter().enumerate().filter(|(i, _)| picked.contains(i)).map(|(_, m)| m).collect();
    let commands = stages::needs(&all, &corpora.planned);
    let mut plan = assemble(parsed, choices, &chosen, &commands);
    (plan.facts.expectations, plan.facts.reported) =
        (expectations(parsed, &names, choices.scale.name()), reported(parsed, &names));
    (plan.facts.scale, plan.facts.scaled) = (variants.scale, variants.scaled);
    let first = names.first().filter(|_| !picked.contains(&0));
    plan.facts.first_left_out = first.map(|name| (*name).to_owned());
    for (role, device) in &mut plan.devices {
        device.largest = differ.contains(role);
    }
    Ok(plan)
}

/// Returns the mistakes in questions, pictures, expectations and reported figures.
fn of_figures(parsed: &File, read: &Read, variants: &Variants) -> Vec<Diagnostic> {
    // Without a measured stage nothing has figures.
    let none: Vec<_> =
        read.stages.iter().filter_map(|stage| stages::check_measured(stage)).collect();
    if !none.is_empty() {
        return none;
    }
    let stages = distinct(&read.stages);
    let names: Vec<&str> = variants.all.iter().map(|variant| variant.name.as_str()).collect();
    let scales: Vec<&str> = parsed.scale.iter().map(|scale| scale.name.as_str()).collect();
    let mut mistakes = questions::check(&parsed.question, &stages, &read.stacks);
    mistakes.extend(pictures::check(&parsed.picture, &stages, &read.stacks, &parsed.factor));
    mistakes.extend(parsed.expect.iter().flat_map(|e| e.check(&stages, &read.stacks, &names)));
    mistakes.extend(parsed.reported.iter().flat_map(|r| r.check(&stages, &read.stacks, &names)));
    mistakes.extend(parsed.expect.iter().filter_map(|e| e.check_scale(&scales)));
    mistakes
}

/// Plans every variant on its own.
fn build<'a, 't>(
    variants: &'a [Variant<'t>],
    read: &'a Read,
    corpora: &AllCorpora,
    of_run: (&str, bool),
) -> Result<Vec<PlannedVariant<'a, 't>>, Vec<Diagnostic>> {
    let one = |(i, variant): (usize, &'a Variant<'t>)| {
        let devices = &read.devices[i];
        let stack = graph::build(&read.stacks[i], devices, &read.environments[i], of_run)?;
        let brought = (devices, &corpora.variants[i]);
        let stages = stages::plan(&read.stages[i], variant, &stack, brought, of_run.0)?;
        Ok(PlannedVariant { variant, devices, machine: read.machines[i].clone(), stack, stages })
    };
    variants.iter().enumerate().map(one).collect()
}

/// Returns the mistakes about levels of a factor that make no difference at any levels of the others: they would be compared as if they did.
fn equal_levels(factors: &[Factor], built: &[PlannedVariant]) -> Vec<Diagnostic> {
    factors
        .iter()
        .filter_map(|factor| factor.equal_levels(&|a, b| alike(built, factor, a, b)))
        .collect()
}

/// Tells whether all variants at one level of a factor do the same as those at another one; `None` where no two differ in this level alone.
fn alike(built: &[PlannedVariant], factor: &Factor, one: &str, other: &str) -> Option<bool> {
    let name = factor.name.get_ref();
    let at = |level: &str| {
        let level = level.to_owned();
        built.iter().filter(move |made| made.variant.levels.get(name) == Some(&level))
    };
    let rest = |made: &PlannedVariant| {
        let mut levels = made.variant.levels.clone();
        levels.remove(name);
        (made.variant.written.clone(), levels)
    };
    let pairs = at(one).flat_map(|a| at(other).map(move |b| (a, b)));
    let mut pairs = pairs.filter(|(a, b)| rest(a) == rest(b)).peekable();
    pairs.peek()?;
    Some(pairs.all(|(a, b)| a.does_as(b)))
}

/// Layers, devices and corpora that nothing uses.
fn idle(file: &File, read: &Read, built: &[PlannedVariant], all: &[Stage]) -> Vec<Diagnostic> {
    let mut idle = unused::devices(file, &read.stacks, &read.stages);
    for (i, made) in built.iter().enumerate() {
        let stages = (&read.stages[i][..], &made.stages[..]);
        idle.extend(unused::layers(file, (&read.stacks[i], &made.stack), stages));
    }
    idle.extend(unused::corpora(&file.corpora, &read.devices, &read.stacks, all));
    idle
}

/// A variant, planned.
struct PlannedVariant<'a, 't> {
    variant: &'a Variant<'t>,
    devices: &'a Devices,
    machine: Machine,
    stack: StackPlan,
    stages: Vec<plan::StagePlan>,
}

impl PlannedVariant<'_, '_> {
    /// Tells whether it does the same as `other`, however the two are written.
    fn does_as(&self, other: &Self) -> bool {
        self.devices == other.devices
            && self.machine == other.machine
            && self.stack.does_as(&other.stack)
            && self.stages.len() == other.stages.len()
            && self.stages.iter().zip(&other.stages).all(|(stage, other)| stage.does_as(other))
    }
}

/// Devices, machine, stack and stages of the variants, one entry for each variant.
#[derive(Default)]
struct Read {
    devices: Vec<Devices>,
    machines: Vec<Machine>,
    environments: Vec<Vec<AskedSetting>>,
    stacks: Vec<VariantStack>,
    stages: Vec<Vec<Stage>>,
}

impl Read {
    /// Reads one more variant, and returns its mistakes.
    fn add(&mut self, variant: &Variant, file: &str, variants: &[Variant]) -> Vec<Diagnostic> {
        let mut mistakes = Vec::new();
        let mut keep = |wrong| mistakes.extend(wrong);
        self.machines.extend(machine::read(&variant.machine).map_err(|wrong| keep(vec![wrong])));
        let environment = environment::read(&variant.environment);
        self.environments.extend(environment.map_err(|wrong| keep(vec![wrong])));
        self.devices.extend(devices::read(variant, file).map_err(&mut keep));
        self.stacks.extend(stacks::read(variant).map_err(&mut keep));
        self.stages.extend(stages::read(variant, file, variants).map_err(&mut keep));
        mistakes
    }
}

/// Removes repetitions of mistakes, which parts shared by several variants cause.
fn once(mistakes: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut unique: Vec<Diagnostic> = Vec::new();
    for mistake in mistakes {
        if !unique.contains(&mistake) {
            unique.push(mistake);
        }
    }
    unique
}

/// The stages of all variants; stages of one name that do the same operations and pick the same figures are listed once.
fn distinct(variants: &[Vec<Stage>]) -> Vec<Stage> {
    let figures = |stage: &Stage| -> Vec<String> {
        stage.task.picked().into_iter().flatten().map(str::to_owned).collect()
    };
    let operations = |stage: &Stage| (stage.task.operations(), figures(stage));
    let mut all: Vec<Stage> = Vec::new();
    for stage in variants.iter().flatten() {
        let same = |other: &Stage| {
            other.head.name == stage.head.name && operations(other) == operations(stage)
        };
        if !all.iter().any(same) {
            all.push(stage.clone());
        }
    }
    all
}

/// Returns how often each variant is run.
fn repeat(file: &File, choices: &PlanOptions) -> Repeat {
    choices.repeat.unwrap_or(file.repeat)
}

fn assemble(file: &File, choices: &PlanOptions, made: &[PlannedVariant], commands: &Needs) -> Plan {
    let repeat = repeat(file, choices).most();
    let cells = order::draw_order(made.len(), repeat, choices.seed)
        .into_iter()
        .enumerate()
        .map(|(index, (v, repeat))| {
            let PlannedVariant { variant, machine, stack, stages, .. } = &made[v];
            let seed = choices.seed.of_repeat(repeat);
            let mut stages = stages.clone();
            order::sweeps(&mut stages, seed);
            CellPlan {
                index,
                variant: variant.name.clone(),
                repeat,
                seed,
                machine: machine.clone(),
                environment: stack.environment.clone(),
                stack: stack.layers.clone(),
                up: stack.up.iter().cloned().chain(steps::drop_caches()).collect(),
                ready: stack.ready.clone(),
                about: estimate::cell(&stages),
                stages,
                settle: stack.settle.clone(),
                probes: stack.probes.clone(),
                target: stack.top.clone(),
            }
        })
        .collect();
    let needs = made.iter().fold(commands.clone(), |all, made| all.joined(&made.stack.needs));
    Plan {
        run_tag: choices.run_tag.clone(),
        seed: choices.seed,
        notes: file.has_trees.then(|| TREES.to_owned()).into_iter().collect(),
        facts: facts(file, choices, made),
        devices: device_plans(made),
        needs,
        cells,
    }
}

fn facts(file: &File, choices: &PlanOptions, made: &[PlannedVariant]) -> PlanFacts {
    let variant = |made: &PlannedVariant| VariantFacts {
        name: made.variant.name.clone(),
        stack: made.stack.facts.clone(),
        stages: made.stages.iter().map(|s| stages::facts(s, &made.stack, made.devices)).collect(),
        levels: made.variant.levels.clone(),
        machine: environment::of_machine(&made.machine, &made.stack.environment),
    };
    PlanFacts {
        experiment: file.name.get_ref().clone(),
        about: file.about.clone(),
        source: file.source.clone(),
        repeat: repeat(file, choices).most(),
        sequential: repeat(file, choices).sequential(),
        order_drawn: true,
        variants: made.iter().map(variant).collect(),
        questions: file.question.iter().map(Question::facts).collect(),
        expectations: Vec::new(),
        reported: Vec::new(),
        pictures: file.picture.iter().map(Picture::facts).collect(),
        factors: file.factor.iter().map(factor).collect(),
        scale: None,
        scaled: Vec::new(),
        first_left_out: None,
    }
}

fn factor(factor: &Factor) -> FactorFacts {
    FactorFacts {
        name: factor.name.get_ref().clone(),
        levels: factor.levels.iter().map(|level| level.name.clone()).collect(),
    }
}

/// The values that the source reported; those that name no variant belong to the first one.
fn reported(file: &File, variants: &[&str]) -> Vec<ReportedFacts> {
    let first = variants.first().copied().unwrap_or_default();
    file.reported.iter().map(|reported| reported.facts(first)).collect()
}

/// The expected values; those that name no variant belong to the last one.
fn expectations(file: &File, variants: &[&str], scale: &str) -> Vec<ExpectedFigure> {
    let last = variants.last().copied().unwrap_or_default();
    file.expect.iter().map(|expected| expected.facts(last, scale)).collect()
}

/// The devices that the variants use.
fn device_plans(made: &[PlannedVariant]) -> BTreeMap<String, DevicePlan> {
    let mut plans: BTreeMap<String, DevicePlan> = BTreeMap::new();
    for PlannedVariant { devices, stack, stages, .. } in made {
        let stands = |role: &str| stack.facts.iter().any(|l| l.layer == "device" && l.name == role);
        for (role, &size) in devices.sizes.iter().filter(|(role, _)| stands(role)) {
            let empty = DevicePlan {
                size,
                stored: Bytes(0),
                file: None,
                largest: false,
                model: devices.models.get(role).cloned(),
                attributes: devices.attributes.get(role).cloned().unwrap_or_default(),
            };
            let plan = plans.entry(role.clone()).or_insert(empty);
            plan.stored = plan.stored.max(estimate::stored(stages, size));
        }
        let copied = |role: &str| {
            stages.iter().any(|stage| stage.task.copy().is_some_and(|copy| copy.role == role))
        };
        for (role, image) in devices.images.iter().filter(|(role, _)| copied(role)) {
            let file = Some(image.path.clone());
            let read = DevicePlan {
                size: image.size,
                stored: Bytes(0),
                file,
                largest: false,
                model: None,
                attributes: disk::Attributes::default(),
            };
            plans.insert(role.clone(), read);
        }
    }
    plans
}
