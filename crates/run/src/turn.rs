//! One load of a stage, or a round of it: its targets, its seed, and the handling of the engine's reports.

use std::sync::Arc;

use engine::{Event as LoadEvent, IoLogKeeper, IoLogTarget, Load, Progress, Waiting};
use host::Executor;
use layers::{LOAD_END, LOAD_START, RAMP_START};
use plan::{Aim, CellPlan, Rounds, StagePlan, Task};
use results::model::{LoadSummary, Row};
use units::Nanos;

use crate::message::Message;
use crate::scene::CellContext;
use crate::watch::CellSamplers;
use crate::{Event, OperationBrief};

/// The load that is driven: that of a stage, or one round of it.
#[derive(Clone, Copy)]
pub(crate) struct LoadId {
    pub stage: usize,
    pub round: Option<Round>,
}

/// One round of a fill.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    /// Its number, from 1.
    pub number: u32,
    /// The longest time that it may take.
    pub at_most: Nanos,
    /// Time that the rounds before it took.
    pub past: Nanos,
}

/// Readings of the layers at the begin and the end of a stage's load.
pub(crate) struct LoadSpan {
    /// Tells whether the load is a whole one: for a round of a fill, which is a part of one load, the layers are not read.
    whole: bool,
    ramp: bool,
    begun: bool,
    ended: bool,
}

impl LoadSpan {
    pub(crate) fn of(load: &Load, turn: LoadId) -> Self {
        let ramp = load.spec.ramp.is_some_and(|ramp| ramp.0 > 0);
        Self { whole: turn.round.is_none(), ramp, begun: false, ended: false }
    }

    /// Reads the layers when the load begins, when its ramp is over if it has one, and when the load is over.
    pub(crate) fn read_at(
        &mut self,
        event: &LoadEvent,
        executor: &mut Executor,
        watch: &mut CellSamplers,
    ) {
        let begins = match event {
            LoadEvent::Started(_) => !self.ramp,
            LoadEvent::RampOver => self.ramp,
            LoadEvent::ReadingBack(_) => {
                self.end(executor, watch);
                false
            }
            _ => false,
        };
        if self.ramp && self.whole && matches!(event, LoadEvent::Started(_)) {
            watch.look(executor, RAMP_START);
        }
        if begins && self.whole && !self.begun {
            self.begun = true;
            watch.look(executor, LOAD_START);
        }
    }

    /// Reads the layers when the load is over.
    pub(crate) fn end(&mut self, executor: &mut Executor, watch: &mut CellSamplers) {
        if self.begun && !self.ended {
            self.ended = true;
            watch.look(executor, LOAD_END);
        }
    }
}

/// Returns the targets of a stage's load; each round of a file system's fill has one more file.
pub(crate) fn aims(stage: &StagePlan, turn: LoadId) -> Vec<Aim> {
    let mut aims = stage.aims.clone();
    if let (Task::Fill(fill), Some(round)) = (&stage.task, turn.round)
        && matches!(fill.rounds, Rounds::Files(_))
    {
        let files = aims.iter_mut().filter_map(|aim| aim.files.as_mut());
        files.for_each(|files| files.first = u64::from(round.number - 1));
    }
    aims
}

/// The load of a stage, without targets so far. The seed depends on the repeat and the stage, not on the variant.
/// Each round of a fill has a different seed, or it would repeat the round before.
pub(crate) fn load_of(plan: &CellPlan, turn: LoadId) -> Load {
    let planned = &plan.stages[turn.stage];
    let mut spec = planned.driven().cloned().unwrap_or_default();
    let mut seed = plan.seed.derive(&format!("stage {}", planned.name));
    match (&planned.task, turn.round) {
        (Task::Fill(fill), Some(round)) => {
            seed = seed.derive(&format!("round {}", round.number));
            spec = fill.round(round.number, round.at_most);
        }
        _ => {
            let limits = spec.duration.into_iter().chain(planned.deadline);
            spec.duration = limits.min();
        }
    }
    if spec.hot_seed.is_none() && !planned.fresh_places {
        spec.hot_seed = Some(plan.seed);
    }
    Load { stage: turn.stage, ..Load::new(spec, seed) }
}

/// Largest log of I/Os that is kept for a stage, or for one round of a fill, bytes: 1.6 million I/Os.
const LOGGED: u64 = 64 << 20;

/// Returns the place of the log of every I/O, in the folder of the cell, if the stage asks for one.
pub(crate) fn io_log(scene: &CellContext, plan: &CellPlan, turn: LoadId) -> Option<IoLogTarget> {
    plan.stages[turn.stage].driven().filter(|spec| spec.io_log)?;
    let round = turn.round.map_or_else(String::new, |round| format!("-{}", round.number));
    let folder = results::cell_folder(plan.index, &plan.variant, plan.repeat);
    let name = format!("{}/{folder}/ios-{}{round}.log", results::writer::CELLS, turn.stage);
    let (recorder, path) = (scene.recorder.clone(), name.clone());
    let add = move |bytes: &[u8]| {
        recorder.send(Message::Append { path: path.clone(), bytes: bytes.to_vec() });
    };
    Some(IoLogTarget::Keeper(IoLogKeeper { name, add: Arc::new(add), most: LOGGED }))
}

/// Returns the message for a load that was not done within the deadline of its stage.
pub(crate) fn late(stage: &StagePlan, load: &LoadSummary) -> Option<String> {
    let deadline = stage.deadline.filter(|_| load.ended_by == "duration")?;
    let duration = match &stage.task {
        Task::Tree(tree) => tree.duration,
        _ => stage.load()?.duration,
    };
    duration.is_none_or(|duration| duration > deadline).then(|| {
        format!(
            "stage {} was not done within its deadline of {deadline}: give it more time, or less to do",
            stage.name
        )
    })
}

/// Puts the engine's reports into the result and shows them to people.
pub(crate) fn hand_in(scene: &CellContext, plan: &CellPlan, turn: LoadId, event: &LoadEvent) {
    let name = &plan.stages[turn.stage].name;
    // Nobody knows how many rounds a fill takes.
    let (past, known) = turn.round.map_or((0, true), |round| (round.past.0, false));
    let progress = |progress: &Progress, operations| Event::Progress {
        cell: plan.index,
        stage: name.clone(),
        elapsed_ns: past + progress.elapsed_ns,
        remaining_ns: progress.remaining_ns.filter(|_| known),
        fraction: progress.fraction.filter(|_| known),
        operations,
    };
    match event {
        LoadEvent::Intervals { rows, jobs, progress: at } => {
            let jobs = jobs.iter().map(|row| Row::Job(row.clone()));
            for row in rows.iter().map(|row| Row::Interval(row.clone())).chain(jobs) {
                scene.recorder.row(&row);
            }
            if let (Some(tree), Some(last)) = (at.tree, rows.last()) {
                scene.recorder.row(&Row::Sample(tree.sample(last.end_ns)));
            }
            let operations = OperationBrief::newest(rows);
            scene.recorder.event(progress(at, operations));
        }
        // The rows follow; until then the view shows that the load goes on.
        LoadEvent::Waiting(Waiting { progress: at, .. }) => {
            scene.recorder.event(progress(at, Vec::new()));
        }
        // Every round would say the same.
        LoadEvent::Notice(_) if turn.round.is_some_and(|round| round.number > 1) => {}
        LoadEvent::Notice(text) => {
            scene.recorder.event(Event::Notice { cell: Some(plan.index), text: text.clone() });
        }
        LoadEvent::Started { .. } | LoadEvent::RampOver | LoadEvent::ReadingBack(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use experiment::{PlanOptions, Repeat, Scale};
    use units::Seed;

    use super::*;
    use crate::stop::{Stop, judge};

    /// The only stage of an experiment, a load of a tree with more keys.
    fn tree(keys: &str) -> StagePlan {
        let text = format!(
            "name = \"t\"\nabout = \"a\"\n[devices.data]\nsize = \"512M\"\n[[stack]]\nlayer = \"xfs\"\nname = \"fs\"\non = \"data\"\n\
             [[stage]]\ndo = \"tree\"\nname = \"grow\"\nops = \"create=2,delete=1\"\nfiles = 300\nfile_size = \"8k\"\n{keys}\n\
             [[stage]]\ndo = \"read\"\nname = \"end\"\nmeasure = true\n"
        );
        let options = PlanOptions {
            seed: Seed(1),
            run_tag: "00000000".into(),
            repeat: Some(Repeat::Fixed(1)),
            sizes: BTreeMap::new(),
            scale: Scale::Usual("lab"),
            only: Vec::new(),
        };
        let plan = experiment::compose("test", &text, &options).unwrap();
        plan.cells[0].stages.iter().find(|stage| stage.name == "grow").unwrap().clone()
    }

    fn ended(by: &str) -> LoadSummary {
        LoadSummary { ended_by: by.into(), ..LoadSummary::empty(Seed(1)) }
    }

    #[test]
    fn a_load_of_a_tree_that_its_deadline_cut_off_is_late() {
        let late = |keys: &str| super::late(&tree(keys), &ended("duration"));
        for keys in ["equilibrium = true", "ios = 100", "duration = \"60s\""] {
            let message = late(&format!("{keys}\ndeadline = \"5s\""));
            assert!(message.is_some_and(|message| message.contains("deadline of 5 s")), "{keys}");
        }
        assert_eq!(late("duration = \"5s\"\ndeadline = \"60s\""), None);
        assert_eq!(late("duration = \"5s\""), None);
        let stage = tree("ios = 100\ndeadline = \"5s\"");
        assert_eq!(super::late(&stage, &ended("ios")), None);
    }

    #[test]
    fn a_tree_that_was_not_seen_at_rest_has_not_reached_what_it_is_for() {
        let load = LoadSummary { incomplete: vec!["no rest".into()], ..ended("unsettled") };
        assert!(matches!(judge(&load), Some(Stop::NotReached(why)) if why == "no rest"));
        assert!(judge(&ended("equilibrium")).is_none());
    }
}
