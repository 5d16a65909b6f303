//! `do = "state"`: a layer is brought to a state that its kind declares (`fresh`, `steady`, `full`), and that is proven by its figures.

use layers::{Growth, Kind, Place, Proof, State, StateMethod, criterion, machine};
use results::model::Criterion;
use toml::Spanned;
use units::Key;
use workload::LoadSpec;

use crate::action::Act;
use crate::change::RunningLayers;
use crate::diagnostic::{Diagnostic, among};
use crate::document::Table;
use crate::fill::Fill;
use crate::graph::StackPlan;
use crate::plan::{Otherwise, PlacedLayer, StatePlan};
use crate::stages::StageHead;
use crate::steps::Steps;
use crate::targets::WrittenTarget;

const IS: Key = Key { name: "is", takes: "the name of a state of a layer", example: "\"steady\"" };
const OTHERWISE: Key = Key {
    name: "otherwise",
    takes: "fail or warn: what happens when the state is not reached",
    example: "\"warn\"",
};

/// Means that bring a layer to a state: the work of another stage.
pub(crate) enum StageMeans {
    Steps(Steps),
    Allocate,
    Act(Act),
    Fill(Box<Fill>),
}

/// A state as written.
#[derive(Clone)]
pub(crate) struct StateStage {
    state: Spanned<String>,
    otherwise: Otherwise,
    /// The load that brings it there, where the experiment says one.
    by: Option<Fill>,
}

impl StateStage {
    /// Reads the keys that are left.
    pub(crate) fn read(mut table: Table, file: &str) -> Result<Self, Diagnostic> {
        let state = table.need::<String>(&IS)?;
        let otherwise = match table.take::<String>(&OTHERWISE)? {
            None => Otherwise::Fail,
            Some(word) => match word.get_ref().as_str() {
                "fail" => Otherwise::Fail,
                "warn" => Otherwise::Warn,
                other => {
                    let message = format!("otherwise cannot be '{other}'");
                    return Err(Diagnostic::of_key(word.span(), message, &OTHERWISE));
                }
            },
        };
        let by = Fill::read_by(&mut table, file)?;
        table.finish()?;
        Ok(Self { state, otherwise, by })
    }

    pub(crate) fn load_mut(&mut self) -> Option<&mut LoadSpec> {
        self.by.as_mut().map(Fill::load_mut)
    }

    /// Tells whether a layer is discarded on the way there.
    pub(crate) fn trims(&self) -> bool {
        let states = layers::kinds().iter().flat_map(|kind| kind.states);
        let mut own = states.filter(|state| state.name == self.state.get_ref());
        own.any(|state| matches!(state.by, StateMethod::Discard))
    }

    /// The stage that brings the layer there with what it does, and what proves it.
    pub(crate) fn plan(
        &self,
        stage: &StageHead,
        stack: &StackPlan,
        running: &mut RunningLayers,
    ) -> Result<(StageHead, StageMeans, StatePlan), Diagnostic> {
        let (name, state) = self.find(stage, stack)?;
        let Some((layer, kind, run_tag)) = running.layer(&name) else {
            let message = format!("'{name}' is no layer");
            return Err(Diagnostic::at(stage.places.at("target"), message, "name one"));
        };
        let place = Place { name: &layer.name, run_tag, inputs: &layer.inputs };
        let mistake = |e: layers::SettingError| {
            Diagnostic::at(self.state.span(), e.to_string(), e.help).resting()
        };
        let parsed = (kind.parse)(&layer.settings).map_err(mistake)?;
        parsed.reachable(&place, state.name, self.by.is_none()).map_err(mistake)?;
        let Proof { criteria, round } = parsed.proof(&place, state.name);
        let plan = StatePlan {
            layer: name.clone(),
            state: state.name.to_owned(),
            criteria: criteria.into_iter().map(|criterion| told(criterion, stack)).collect(),
            round,
            otherwise: self.otherwise,
        };
        let means = self.means(stage, &name, state)?;
        // Loads reach the layer through what stands on it; whatever else is done is done to the layer itself.
        let worked_on = match means {
            StageMeans::Fill(_) => stack.top_over(&name).to_owned(),
            StageMeans::Steps(_) | StageMeans::Allocate | StageMeans::Act(_) => name,
        };
        let target = WrittenTarget::Layer(worked_on);
        // Whoever reads the plan sees the stage that it comes down to.
        let kind = kind_of(&state.by).to_owned();
        Ok((StageHead { target, kind, ..stage.clone() }, means, plan))
    }

    /// The layer that has such a state: the one that is named as target, else the topmost.
    fn find(
        &self,
        stage: &StageHead,
        stack: &StackPlan,
    ) -> Result<(String, &'static State), Diagnostic> {
        let wanted = self.state.get_ref();
        let named = match &stage.target {
            WrittenTarget::Layer(name) => Some(name),
            _ => None,
        };
        let kind = |layer: &PlacedLayer| -> Option<&'static Kind> { layers::kind(&layer.kind) };
        let candidates =
            || stack.layers.iter().rev().filter(|l| named.is_none_or(|name| l.name == *name));
        let found = candidates().find_map(|layer| {
            let state = kind(layer)?.states.iter().find(|state| state.name == wanted)?;
            Some((layer.name.clone(), state))
        });
        found.ok_or_else(|| {
            let all = candidates().filter_map(kind).flat_map(|kind| kind.states);
            let known: Vec<&str> = all.map(|state| state.name).collect();
            let message = match named {
                Some(name) => format!("'{name}' has no state '{wanted}'"),
                None => format!("No layer of this stack has a state '{wanted}'"),
            };
            let help = match known[..] {
                [] => "name a layer that has states: fathom layers NAME shows them".to_owned(),
                _ => among(wanted, known.iter().copied()),
            };
            Diagnostic::at(self.state.span(), message, help).near(wanted, known)
        })
    }

    /// Returns what brings the layer `name` there.
    fn means(
        &self,
        stage: &StageHead,
        name: &str,
        state: &State,
    ) -> Result<StageMeans, Diagnostic> {
        if let (Some(_), false) = (&self.by, matches!(state.by, StateMethod::Load { .. })) {
            let message = format!("No load brings a layer to the state '{}'", state.name);
            return Err(Diagnostic::at(stage.places.at("by"), message, "leave 'by' out").without());
        }
        Ok(match state.by {
            StateMethod::Nothing => StageMeans::Steps(Steps::Read),
            StateMethod::Allocate => StageMeans::Allocate,
            StateMethod::Action(action) => StageMeans::Act(Act::plain(action, self.state.span())),
            StateMethod::Discard => StageMeans::Steps(Steps::Trim),
            StateMethod::Load { metric, at_least, load } => {
                let by = match &self.by {
                    Some(fill) => fill.clone(),
                    None => Fill::of_state(load, &self.state)?,
                };
                StageMeans::Fill(Box::new(by.until(name, metric, at_least)))
            }
        })
    }
}

/// The kind of stage that brings a layer to a state.
fn kind_of(way: &StateMethod) -> &'static str {
    match way {
        StateMethod::Nothing => "read",
        StateMethod::Allocate => "allocate",
        StateMethod::Action(_) => "layer",
        StateMethod::Discard => "trim",
        StateMethod::Load { .. } => "fill",
    }
}

/// A criterion about runs of writes is one about the size of a write where nobody records them: that says less, and is always known.
fn told(criterion: Criterion, stack: &StackPlan) -> Criterion {
    if criterion.metric == machine::RUN_BYTES && !stack.records(&criterion.layer) {
        return Criterion { metric: machine::WRITE_BYTES.to_owned(), ..criterion };
    }
    criterion
}

/// Returns what proves a state, in words.
pub(crate) fn describe(plan: &StatePlan) -> String {
    let all: Vec<String> = plan.criteria.iter().map(criterion::describe).collect();
    let round = plan.round.as_ref().map_or_else(String::new, |Growth { metric, by }| {
        let by = layers::metric(metric).map_or_else(|| by.to_string(), |m| m.unit.show(*by));
        format!("; a round is {by} of {metric}")
    });
    format!("{} is {} when {}{round}", plan.layer, plan.state, all.join(", "))
}
