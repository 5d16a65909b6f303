//! The figures of one variant.

use std::collections::BTreeMap;

use results::model::CellState;
use results::read::{CellData, ResultSet};
use stats::{Figure, Spread};

use crate::content::{self, AskedAndAchieved};
use crate::values::{self, MetricValues, Scope};
use crate::within::{self, RunSpread};

/// Figures by id of their metric.
pub type Figures = BTreeMap<String, Figure>;

/// What one variant did.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantFigures {
    /// Its name.
    pub name: String,
    /// Runs that ended well: the ones behind the figures.
    pub repeats: usize,
    /// Runs that failed or were cut off or interrupted.
    pub failed: usize,
    /// Per operation, by its name.
    pub operations: BTreeMap<String, Figures>,
    /// Per layer, by its name in the experiment.
    pub layers: BTreeMap<String, Figures>,
    /// Content that was asked for and achieved.
    pub content: AskedAndAchieved,
    /// CPU time of the load.
    pub cpu: Figures,
    /// Per operation and run: the spread of the throughput of its intervals, bytes per second.
    pub within_run: BTreeMap<String, Vec<RunSpread>>,
    /// Per operation: of each figure of the spread within a run the median over the runs, bytes per second.
    pub thesis: BTreeMap<String, Spread>,
    /// The values behind every figure.
    pub values: Vec<MetricValues>,
}

impl VariantFigures {
    /// A figure by what it is of and its metric; `None` when no run has it.
    pub fn figure(&self, scope: &Scope, metric: &str) -> Option<&Figure> {
        match scope {
            Scope::Operation(name) => self.operations.get(name)?.get(metric),
            Scope::Layer(name) => self.layers.get(name)?.get(metric),
            Scope::Cpu => self.cpu.get(metric),
            Scope::Content => self.content.achieved.get(metric),
        }
    }

    /// The values of a metric by what it is of.
    pub fn values_of(&self, scope: &Scope, metric: &str) -> Option<&MetricValues> {
        self.values.iter().find(|values| values.scope == *scope && values.metric == metric)
    }
}

pub(crate) fn figures(result: &ResultSet, name: &str) -> VariantFigures {
    let cells: Vec<&CellData> = result.cells_of(name).collect();
    let lost = |cell: &&&CellData| !cell.done() && cell.state() != CellState::Pending;
    let failed = cells.iter().filter(lost).count();
    let done: Vec<&CellData> = cells.into_iter().filter(|cell| cell.done()).collect();
    let within_run = within::spreads(&done);
    let mut variant = VariantFigures {
        name: name.to_owned(),
        repeats: done.len(),
        failed,
        operations: BTreeMap::new(),
        layers: BTreeMap::new(),
        content: AskedAndAchieved::default(),
        cpu: Figures::new(),
        thesis: within_run.iter().filter_map(|(op, runs)| within::typical(op, runs)).collect(),
        within_run,
        values: values::collect(&done),
    };
    variant.content.asked =
        done.iter().filter_map(|cell| cell.record.as_ref()).find_map(content::asked);
    for values in &variant.values {
        let figures = match &values.scope {
            Scope::Operation(name) => variant.operations.entry(name.clone()).or_default(),
            Scope::Layer(name) => variant.layers.entry(name.clone()).or_default(),
            Scope::Cpu => &mut variant.cpu,
            Scope::Content => &mut variant.content.achieved,
        };
        figures.insert(values.metric.clone(), stats::figure(&values.numbers()));
    }
    variant
}
