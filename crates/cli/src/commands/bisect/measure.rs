//! The pairs of a step: a normal result of two variants, in the lab, on devices or simulated.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use experiment::{Repeat, Trial};
use plan::Plan;
use results::ResultSet;
use results::model::{AskedMetric, PlanFacts};
use run::{Earlier, ExperimentSource, FULL, LAB, RunOutcome, RunRequest};
use stats::bisect::Rules;
use units::{Better, Seed};

use super::kept::{Found, look_for};
use crate::args::{BisectFigureArgs, Common, Gates, GuestArgs, HostArgs, LabRunArgs, RunArgs};
use crate::choices::say_notes;
use crate::commands::{lab, run as local};
use crate::failure::Failure;

/// Names for the copy of the good end that it is compared with; the second is for experiments that use the first.
const COPY_NAMES: [&str; 2] = ["again", "again-beside-itself"];
/// Largest number of questions of an experiment.
const MOST_QUESTIONS: usize = 6;

/// The experiment, the figure, and where pairs are measured.
pub struct Bench {
    figure: BisectFigureArgs,
    lab: bool,
    allowed: bool,
    paper: Plan,
    pub source: ExperimentSource,
    /// The figure that tells good from bad.
    pub asked: AskedMetric,
    /// Name of the good end.
    pub good: String,
    pub seed: Seed,
}

/// Returns the rules by which steps are judged with this figure.
pub fn rules(figure: &BisectFigureArgs, threshold: f64) -> Rules {
    let better = layers::metric(&figure.metric).map_or(Better::Neither, |metric| metric.better);
    Rules { better, threshold, most: figure.repeat }
}

impl Bench {
    /// Plans the list, with the figure as a question; a mistake in either is found here.
    pub fn new(
        figure: &BisectFigureArgs,
        source: ExperimentSource,
        lab: bool,
        allowed: bool,
        only: &[String],
    ) -> Result<Self, Failure> {
        let usual = if lab { LAB } else { FULL };
        let plan =
            |source: &ExperimentSource| listed(only, figure.scale.as_ref()).plan(source, usual);
        if !lab
            && !figure.host.simulate
            && figure.host.device.is_empty()
            && figure.host.destroy_data.is_empty()
        {
            let message = "Nothing says where to measure";
            return Err(Failure::usage(message).with_help(
                "add --device ROLE=PATH or --destroy-data ROLE=PATH for each device of the experiment, --lab for the lab, or --simulate",
            ));
        }
        let mut paper = plan(&source)?;
        let source = with_question(source, figure, &paper);
        // The figure is checked as a question of the file; this name makes clear that a mistake in it came from the options.
        let name = format!("{} with --metric, --stage, --operation, --layer", source.name);
        plan(&ExperimentSource { name, text: source.text.clone() })?;
        if lab {
            say_notes(figure.scale.as_deref(), &paper);
        } else {
            local::say_about(figure.scale.as_deref(), &mut paper);
        }
        let BisectFigureArgs { metric, stage, operation, layer, .. } = figure.clone();
        let question = AskedMetric { metric, stage, operation, layer, threshold: 0.0 };
        refuse_ambiguous(&paper.facts, &question)?;
        let (figure, good, seed) = (figure.clone(), String::new(), paper.seed);
        Ok(Self { figure, lab, allowed, paper, source, asked: question, good, seed })
    }

    /// The plan's facts of the whole list.
    pub fn facts(&self) -> &PlanFacts {
        &self.paper.facts
    }

    /// The word for where it is measured.
    pub fn place(&self) -> &'static str {
        match (self.lab, self.figure.host.simulate) {
            (true, _) => "lab",
            (_, true) => "simulated",
            _ => "devices",
        }
    }

    /// Options that choose the devices and the guest, each as it was given.
    pub fn options(&self) -> Vec<String> {
        let host = &self.figure.host;
        let role = |(role, path): &(String, PathBuf)| format!("{role}={}", path.display());
        let mut options: Vec<String> =
            host.device.iter().chain(&host.destroy_data).map(role).collect();
        options.sort();
        let GuestArgs { memory, cpus, plain_command_line, tcg, qemu, mirror: _ } =
            &self.figure.machine;
        options.extend(memory.map(|memory| format!("memory {memory}")));
        options.extend(cpus.map(|cpus| format!("cpus {cpus}")));
        options.extend(qemu.as_ref().map(|suite| format!("qemu {suite}")));
        options.extend(plain_command_line.then(|| "plain command line".to_owned()));
        options.extend(tcg.then(|| "tcg".to_owned()));
        options
    }

    /// The name of the variant that is compared with the good end.
    fn other_name(&self, other: Option<&str>) -> String {
        let taken = |name: &&&str| !self.facts().variants.iter().any(|v| v.name == **name);
        let again = || (*COPY_NAMES.iter().find(taken).unwrap_or(&COPY_NAMES[0])).to_owned();
        other.map_or_else(again, str::to_owned)
    }

    /// Returns the request for `repeats` repeats of the good end and of `other`; `None` is the good end once more.
    fn request(&self, other: Option<&str>, repeats: u32, seed: Seed) -> RunRequest {
        let name = self.other_name(other);
        let stage = self.asked.stage.clone();
        let first = || self.facts().measured_stages().first().map(|name| (*name).to_owned());
        let stage = stage.or_else(first).unwrap_or_default();
        let of = self.good.clone();
        let (trial, only) = match other {
            None => (Some(Trial { of, name, set: String::new(), stage }), Vec::new()),
            Some(_) => (None, vec![of, name]),
        };
        let (seed, repeat) = (Some(seed), Some(Repeat::Fixed(repeats)));
        RunRequest {
            seed,
            repeat,
            scale: self.figure.scale.clone(),
            only,
            trial,
            ..RunRequest::default()
        }
    }

    /// Returns the plan of these repeats.
    pub fn plan_beside(&self, other: Option<&str>, repeats: u32) -> Result<Plan, Failure> {
        let usual = if self.lab { LAB } else { FULL };
        Ok(self.request(other, repeats, self.seed).plan(&self.source, usual)?)
    }

    /// Measures pairs into a folder of `out`, or continues a result that was cut off there; `None` when the user wished to stop.
    pub fn measure(
        &self,
        other: Option<&str>,
        repeats: u32,
        folder: &str,
        out: &Path,
    ) -> Result<Option<ResultSet>, Failure> {
        let dir = out.join(folder);
        let begun = match look_for(&dir)? {
            Found::Ended(set) => return Ok(Some(*set)),
            Found::Begun => true,
            Found::Nothing => {
                // The run makes it itself.
                let _ = std::fs::remove_dir(&dir);
                false
            }
        };
        let earlier = begun.then(|| Earlier::open(&dir)).transpose()?;
        let request = self.request(other, repeats, self.seed.derive(folder));
        let outcome = match self.execute(request.continuing(earlier.as_ref()), earlier, &dir) {
            Err(failure) if failure.is_interrupt() => return Ok(None),
            ended => ended?,
        };
        match outcome {
            RunOutcome::Interrupted => Ok(None),
            RunOutcome::TeardownFailed => {
                let message = format!("The run in {} left something behind", dir.display());
                Err(Failure::teardown(message).with_help(format!(
                    "fathom clean {} says what, and takes it down",
                    dir.display()
                )))
            }
            RunOutcome::Complete | RunOutcome::Incomplete => Ok(Some(results::open(&dir)?)),
        }
    }

    fn execute(
        &self,
        request: RunRequest,
        earlier: Option<Earlier>,
        dir: &Path,
    ) -> Result<RunOutcome, Failure> {
        let figure = &self.figure;
        let place = |wanted: bool| wanted.then(|| dir.to_owned());
        let common = Common {
            experiment: figure.experiment.clone(),
            out: place(earlier.is_none()),
            resume: place(earlier.is_some()),
            repeat: None,
            quiet: figure.quiet,
            scale: figure.scale.clone(),
            only: Vec::new(),
            set: Vec::new(),
            seed: None,
            json: false,
            push: None,
            gates: Gates::default(),
            inject: Vec::new(),
        };
        if self.lab {
            let machine = figure.machine.clone();
            let args = LabRunArgs {
                common,
                machine,
                kernel: Vec::new(),
                keep_disks: None,
                deadline: None,
            };
            let plan = request.plan(&self.source, LAB)?;
            return Ok(lab::execute_plan(&args, &self.source, &plan, earlier)?.0);
        }
        let args = RunArgs {
            common,
            host: HostArgs { allow_commands: self.allowed, ..figure.host.clone() },
            pace: figure.pace,
        };
        let mut paper = request.clone().plan(&self.source, FULL)?;
        paper.on_own_devices();
        Ok(local::execute(&args, &self.source, (request, paper), earlier)?.0)
    }
}

/// Refuses, before anything is measured, a figure of loads that several operations or stages have.
fn refuse_ambiguous(facts: &PlanFacts, question: &AskedMetric) -> Result<(), Failure> {
    if !layers::owners_of_metric(&question.metric).loads || question.layer.is_some() {
        return Ok(());
    }
    let meant = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
    let stages = facts.variants.iter().flat_map(|variant| &variant.stages);
    let stages = stages.filter(|stage| stage.measured && meant(&question.stage, &stage.name));
    let all: BTreeSet<String> = stages
        .flat_map(|stage| {
            let operations = stage.load.get("ops").and_then(serde_json::Value::as_object);
            let operations = operations.into_iter().flat_map(serde_json::Map::keys);
            let operations = operations.filter(|name| meant(&question.operation, name));
            operations.map(|operation| format!("{operation} of {}", stage.name))
        })
        .collect();
    if all.len() < 2 {
        return Ok(());
    }
    let all: Vec<String> = all.into_iter().collect();
    let message = format!("several have {}: {}", question.metric, all.join(", "));
    Err(Failure::usage(message).with_help("name the one that is meant with --stage or --operation"))
}

/// A directory named after the experiment and the time.
pub fn default_out(experiment: &str) -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    PathBuf::from(format!("{experiment}-bisect-{now}"))
}

/// Returns the request for the list of the experiment's variants.
fn listed(only: &[String], scale: Option<&String>) -> RunRequest {
    RunRequest { only: only.to_vec(), scale: scale.cloned(), ..RunRequest::once() }
}

/// Returns the experiment with the figure as a question, if it is not asked yet and there is room for a question.
fn with_question(
    source: ExperimentSource,
    figure: &BisectFigureArgs,
    plan: &Plan,
) -> ExperimentSource {
    let questions = &plan.facts.questions;
    let same = |question: &AskedMetric| {
        question.metric == figure.metric
            && question.stage == figure.stage
            && question.operation == figure.operation
            && question.layer == figure.layer
    };
    let inline = source.text.lines().any(|line| {
        line.trim_start()
            .strip_prefix("question")
            .is_some_and(|rest| rest.trim_start().starts_with('='))
    });
    if inline || questions.len() >= MOST_QUESTIONS || questions.iter().any(same) {
        return source;
    }
    let keys = [
        ("metric", Some(&figure.metric)),
        ("stage", figure.stage.as_ref()),
        ("operation", figure.operation.as_ref()),
        ("layer", figure.layer.as_ref()),
    ];
    let line = |(key, value): (&str, Option<&String>)| {
        value.map(|value| format!("{key} = {}\n", toml::Value::from(value.as_str())))
    };
    let lines: String = keys.into_iter().filter_map(line).collect();
    ExperimentSource { text: format!("{}\n[[question]]\n{lines}", source.text), ..source }
}
