//! One load as a result, so that its page is made like that of any other result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::{Aim, Load};
use results::model::{
    Accelerator, CellEntry, CellRecord, CellState, LayerFacts, LoadSummary, MachineLoad, Manifest,
    PlanFacts, Row, SCHEMA, StageData, StageEdge, StageFacts, StageRecord, StageTraits,
    TargetFacts, VariantFacts,
};
use results::{CellData, ResultSet, Seal};

use crate::RunOutcome;

/// The name of the only stage.
const STAGE: &str = "load";

/// A load that has ended, with its targets.
#[derive(Debug)]
pub struct OneLoad {
    /// The load.
    pub load: Load,
    /// Its targets by name, with the size in bytes if there is only one.
    pub targets: Vec<(String, Option<u64>)>,
    /// Its rows, those of single jobs too, in order.
    pub rows: Vec<Row>,
    /// Its figures.
    pub summary: LoadSummary,
    /// What the machine did for other programs while it ran; `None` where that is not known.
    pub machine: Option<MachineLoad>,
    /// Its start, as a date and time.
    pub started_utc: String,
    /// The command line.
    pub command: Vec<String>,
}

impl OneLoad {
    /// Returns the result of one cell with one stage, which exists in memory only.
    pub fn result(self) -> ResultSet {
        let spans = || {
            self.rows.iter().filter_map(|row| match row {
                Row::Interval(row) => Some((row.start_ns, row.end_ns)),
                _ => None,
            })
        };
        let begin = spans().next().map_or(0, |(start_ns, _)| start_ns);
        let end = spans().next_back().map_or(begin, |(_, end_ns)| end_ns);
        let names: Vec<&str> = self.targets.iter().map(|(name, _)| name.as_str()).collect();
        let variant = names.join(", ");
        let seed = self.summary.seed;
        let complete = self.summary.incomplete.is_empty();
        let entry = CellEntry {
            index: 0,
            variant: variant.clone(),
            repeat: 1,
            folder: results::cell_folder(0, &variant, 1),
            state: CellState::Done,
            reason: None,
            disturbed_percent: None,
            host: None,
        };
        let edge = |ended: bool, at_ns: u64| {
            let (stage, name) = (0, STAGE.to_owned());
            Row::Stage(StageEdge { stage, name, measured: true, ended, at_ns })
        };
        let rows =
            [edge(false, begin)].into_iter().chain(self.rows).chain([edge(true, end)]).collect();
        let incomplete = (!complete).then(|| self.summary.incomplete.join("; "));
        let record = record(variant.clone(), seed, (begin, end), (self.summary, self.machine));
        let outcome = if complete { RunOutcome::Complete } else { RunOutcome::Incomplete };
        let manifest = Manifest {
            schema: SCHEMA,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: String::new(),
            command: self.command,
            started_utc: self.started_utc,
            ended_utc: Some(crate::ledger::now_utc()),
            resumed: Vec::new(),
            devices: BTreeMap::new(),
            seed,
            accelerator: Accelerator::None,
            accelerator_reason: None,
            simulated: false,
            plan: facts(&self.load, &self.targets, variant),
            plan_document: serde_json::Value::Null,
            host: host::facts(),
            guest: None,
            lab: None,
            cells: vec![entry.clone()],
            outcome: Some(outcome.word().to_owned()),
            stopped: None,
        };
        ResultSet {
            path: PathBuf::from(STAGE),
            manifest,
            experiment_toml: None,
            transcript: Vec::new(),
            lost_lines: 0,
            lab_files: BTreeMap::new(),
            proofs: Vec::new(),
            going_on: None,
            incomplete,
            seal: Seal::Whole,
            cells: vec![CellData::new(entry, Some(record), rows)],
        }
    }
}

/// The record of the only cell, which began and ended then.
fn record(
    variant: String,
    seed: units::Seed,
    (start_ns, end_ns): (u64, u64),
    (summary, machine): (LoadSummary, Option<MachineLoad>),
) -> CellRecord {
    CellRecord {
        run_id: None,
        index: 0,
        variant,
        repeat: 1,
        seed,
        state: CellState::Done,
        reason: None,
        start_ns,
        end_ns: Some(end_ns),
        steps: Vec::new(),
        stages: vec![stage(start_ns, end_ns, summary)],
        layers: BTreeMap::new(),
        facts: BTreeMap::new(),
        leftovers: Some(Vec::new()),
        notices: Vec::new(),
        ran_on: host::facts(),
        machine,
    }
}

fn stage(start_ns: u64, end_ns: u64, summary: LoadSummary) -> StageRecord {
    StageRecord {
        kind: STAGE.to_owned(),
        traits: Some(StageTraits::of(StageData::Load)),
        name: STAGE.to_owned(),
        measured: true,
        start_ns,
        end_ns: Some(end_ns),
        load: Some(summary),
        ..StageRecord::default()
    }
}

/// Returns the facts of a made-up plan, in which each target is a device.
fn facts(load: &Load, targets: &[(String, Option<u64>)], variant: String) -> PlanFacts {
    let device = |(name, bytes): &(String, Option<u64>)| LayerFacts {
        layer: "device".to_owned(),
        name: name.clone(),
        settings: bytes
            .map(|n| ("size".to_owned(), units::Bytes(n).to_string()))
            .into_iter()
            .collect(),
        on: BTreeMap::new(),
        computed: Vec::new(),
    };
    let all: f64 = load.targets.iter().map(|aim| aim.share.0).sum();
    let target = |((name, _), aim): (&(String, Option<u64>), &Aim)| TargetFacts {
        name: name.clone(),
        files: None,
        share_percent: 100.0 * aim.share.0 / all,
    };
    let about = load.spec.describe();
    let stage = StageFacts {
        kind: STAGE.to_owned(),
        traits: Some(StageTraits::of(StageData::Load)),
        name: STAGE.to_owned(),
        measured: true,
        about: about.clone(),
        load: serde_json::to_value(&load.spec).unwrap_or_default(),
        rounds: serde_json::Value::Null,
        targets: targets.iter().zip(&load.targets).map(target).collect(),
        target_bytes: None,
        io_bytes: None,
        synced: None,
        sweep: None,
        figures: BTreeMap::new(),
        caches: Vec::new(),
    };
    let variant = VariantFacts {
        name: variant,
        stages: vec![stage],
        stack: targets.iter().map(device).collect(),
        levels: BTreeMap::new(),
        machine: BTreeMap::new(),
    };
    PlanFacts {
        experiment: "a load".to_owned(),
        about,
        source: None,
        repeat: 1,
        sequential: None,
        order_drawn: true,
        variants: vec![variant],
        questions: Vec::new(),
        expectations: Vec::new(),
        reported: Vec::new(),
        factors: Vec::new(),
        pictures: Vec::new(),
        scale: None,
        scaled: Vec::new(),
        first_left_out: None,
    }
}
