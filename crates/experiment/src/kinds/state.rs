//! `do = "state"`: a layer is brought to a state that its kind declares (`fresh`, `steady`, `full`), and that is proven by its figures.

use layers::{Kind, Place, Proof, Round, State, StateMethod, criterion, machine};
use results::model::{Criterion, StageData};
use toml::Spanned;
use units::{Key, key};
use workload::LoadSpec;

use crate::kinds::action::{self, Act};
use crate::kinds::allocation::{self, Allocation};
use crate::kinds::fill::{self, Fill};
use crate::kinds::steps::{self, Steps};
use crate::kinds::targets::WrittenTarget;
use crate::planned::graph::StackPlan;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::{Diagnostic, among};
use crate::written::document::Table;
use plan::{Needs, Otherwise, PlacedLayer, StagePlan, StatePlan};

const IS: Key = key("is", "the name of a state of a layer", "\"steady\"");
const OTHERWISE: Key =
    key("otherwise", "fail or warn: what happens when the state is not reached", "\"warn\"");

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts {
        instead: Some("the load that follows"),
        ..KindFacts::new("state", "A state", WorksOn::One, StageData::State)
    },
    read: |table, around| Ok(Box::new(StateStage::read(table, around.file)?)),
};

/// A state as written.
#[derive(Clone)]
struct StateStage {
    state: Spanned<String>,
    otherwise: Otherwise,
    /// The load that brings it there, where the experiment gives one.
    by: Option<Fill>,
}

impl StateStage {
    /// Reads the keys that are left.
    fn read(mut table: Table, file: &str) -> Result<Self, Diagnostic> {
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

    /// Returns the stage that brings the layer `name` there: its kind and its task.
    fn means(
        &self,
        stage: &StageHead,
        name: &str,
        state: &State,
    ) -> Result<(KindFacts, Box<dyn StageTask>), Diagnostic> {
        if let (Some(_), false) = (&self.by, matches!(state.by, StateMethod::Load { .. })) {
            let message = format!("No load brings a layer to the state '{}'", state.name);
            return Err(
                Diagnostic::at(stage.places.at("by"), message, "leave 'by' out").fix_by_removing()
            );
        }
        Ok(match state.by {
            StateMethod::Nothing => (steps::READ.facts, Box::new(Steps::Read)),
            StateMethod::Allocate => (allocation::KIND.facts, Box::new(Allocation)),
            StateMethod::Action(action) => {
                (action::KIND.facts, Box::new(Act::plain(action, self.state.span())))
            }
            StateMethod::Discard => (steps::TRIM.facts, Box::new(Steps::Trim)),
            StateMethod::Load { metric, at_least, load } => {
                let by = match &self.by {
                    Some(fill) => fill.clone(),
                    None => Fill::of_state(load, &self.state)?,
                };
                (fill::KIND.facts, Box::new(by.until(name, metric, at_least)))
            }
        })
    }
}

impl StageTask for StateStage {
    /// Plans the stages that bring the layer to the state; the last of them carries the proof.
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let (name, state) = self.find(stage, &on.stack)?;
        let Some((layer, kind, run_tag)) = on.running.layer(&name) else {
            let message = format!("'{name}' is not a layer");
            return Err(Diagnostic::at(stage.places.at("target"), message, "name one"));
        };
        let place = Place { name: &layer.name, run_tag, inputs: &layer.inputs };
        let mistake = |e: layers::SettingError| {
            Diagnostic::at(self.state.span(), e.to_string(), e.help).if_rest_is_right()
        };
        let parsed = (kind.parse)(&layer.settings).map_err(mistake)?;
        parsed.reachable(&place, state.name, self.by.is_none()).map_err(mistake)?;
        let Proof { criteria, round } = parsed.proof(&place, state.name);
        let plan = StatePlan {
            layer: name.clone(),
            state: state.name.to_owned(),
            criteria: criteria
                .into_iter()
                .map(|criterion| known_criterion(criterion, &on.stack))
                .collect(),
            round,
            otherwise: self.otherwise,
        };
        // The plan shows the kind of stage that this one turns into.
        let (kind, task) = self.means(stage, &name, state)?;
        // Loads reach the layer through what stands on it; whatever else is done is done to the layer itself.
        let by_load = matches!(state.by, StateMethod::Load { .. });
        let over = if by_load { on.stack.top_over(&name).to_owned() } else { name };
        let head = StageHead { target: WrittenTarget::Layer(over), kind, ..stage.clone() };
        let mut planned = task.plan(&head, on)?;
        if let Some(last) = planned.last_mut() {
            last.name.clone_from(&stage.name);
            last.state = Some(plan);
            if by_load {
                last.traits = KIND.facts.traits;
            }
        }
        Ok(planned)
    }

    fn loads_mut(&mut self) -> Vec<&mut LoadSpec> {
        self.by.iter_mut().flat_map(Fill::loads_mut).collect()
    }

    /// Returns the needs of a discard, if one may bring a layer to this state.
    fn needs(&self) -> Needs {
        let states = layers::kinds().iter().flat_map(|kind| kind.states);
        let mut wanted = states.filter(|state| state.name == self.state.get_ref());
        let trims = wanted.any(|state| matches!(state.by, StateMethod::Discard));
        if trims { Steps::Trim.needs() } else { Needs::default() }
    }
}

/// Replaces a criterion about runs of writes by one about the size of a write where runs are not recorded: that says less, but is always known.
fn known_criterion(criterion: Criterion, stack: &StackPlan) -> Criterion {
    if criterion.metric == machine::RUN_BYTES && !stack.records(&criterion.layer) {
        return Criterion { metric: machine::WRITE_BYTES.to_owned(), ..criterion };
    }
    criterion
}

/// Returns what proves a state, in words.
pub(crate) fn describe(plan: &StatePlan) -> String {
    let all: Vec<String> = plan.criteria.iter().map(criterion::describe).collect();
    let round = match &plan.round {
        None => String::new(),
        Some(Round::Time { seconds }) => format!("; a round is {seconds} s"),
        Some(Round::Growth { metric, by }) => {
            let by = layers::metric(metric).map_or_else(|| by.to_string(), |m| m.unit.show(*by));
            format!("; a round is {by} of {metric}")
        }
    };
    format!("{} is {} when {}{round}", plan.layer, plan.state, all.join(", "))
}
