//! Missions: the work that a guest gets to do.

use std::collections::BTreeMap;

use engine::Choice;
use plan::Plan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::suspended::SuspendedCell;
use crate::{Injection, RunError};

/// Mission of a guest. `Order` is the type of the measurements that a program makes itself on a raised stack; a run has none.
///
/// In JSON the variant's name comes before its contents, so that a reader knows their type before they come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mission", content = "of", rename_all = "snake_case")]
pub enum Mission<Order = ()> {
    /// Give its user a shell, without any stack.
    Shell,
    /// Run cells of a plan.
    Cells(Cells),
    /// Raise a stack, give its user a shell, and take the stack down when the shell is left.
    KeepStack(KeptStack),
    /// Raise a stack, measure what the order says on it, and take it down.
    Measure {
        /// The stack.
        held: KeptStack,
        /// The measurements to make.
        order: Order,
    },
}

/// Cells of a plan that a guest runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    /// The plan.
    pub plan: Plan,
    /// Positions of the cells to run, in order.
    pub cells: Vec<usize>,
    /// The state of the first of them, if another guest has begun it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Box<SuspendedCell>>,
    /// Faults to be injected, for tests of teardown.
    pub injections: Vec<Injection>,
    /// Choices of how loads are driven that an earlier guest has made, by the name of the loads that are driven alike.
    #[serde(default)]
    pub choices: BTreeMap<String, Choice>,
    /// Positions of cells before which the host is asked whether they are needed.
    #[serde(default)]
    pub ask_before: Vec<usize>,
    /// Facts of the machine that only the host knows, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub known: BTreeMap<String, String>,
    /// Tells whether the guest logs what it does, and sends the lines.
    #[serde(default)]
    pub log: bool,
}

/// A stack that is raised and kept until something is done with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptStack {
    /// The plan.
    pub plan: Plan,
    /// Position of the cell whose stack it is.
    pub cell: usize,
}

/// The experiment has no such variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("There is no variant '{name}'")]
pub struct NoVariant {
    name: String,
    variants: Vec<String>,
}

impl NoVariant {
    /// Returns what to do about it.
    pub fn help(&self) -> String {
        format!("its variants are: {}", self.variants.join(", "))
    }
}

impl KeptStack {
    /// Returns the stack of `variant`, or of the last variant in the experiment's file: the order of the cells is random.
    pub fn of(plan: &Plan, variant: Option<&str>) -> Result<Self, NoVariant> {
        let variants = &plan.facts.variants;
        let name = variant.or(variants.last().map(|last| last.name.as_str())).unwrap_or_default();
        match plan.cells.iter().find(|cell| cell.variant == name) {
            Some(cell) => Ok(Self { plan: plan.clone(), cell: cell.index }),
            None => Err(NoVariant {
                name: name.to_owned(),
                variants: variants.iter().map(|v| v.name.clone()).collect(),
            }),
        }
    }
}

impl<Order: Serialize + DeserializeOwned> Mission<Order> {
    /// The mission as the bytes that a guest gets.
    pub fn encode(&self) -> Result<Vec<u8>, RunError> {
        serde_json::to_vec(self).map_err(|error| RunError::Plan(error.into()))
    }

    /// Reads the mission from the bytes that a guest got.
    pub fn decode(bytes: &[u8]) -> Result<Self, RunError> {
        serde_json::from_slice(bytes).map_err(|error| RunError::Mission(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use experiment::{PlanOptions, Scale};
    use units::Seed;

    use super::*;

    fn plan() -> Plan {
        plan_of(Seed(u64::MAX))
    }

    fn plan_of(seed: Seed) -> Plan {
        let shipped = experiment::shipped("vdo-vs-plain").unwrap();
        let choices = PlanOptions {
            seed,
            run_tag: "0badcafe".into(),
            repeat: Some(experiment::Repeat::Fixed(1)),
            sizes: BTreeMap::new(),
            scale: Scale::Usual("lab"),
            only: Vec::new(),
        };
        experiment::compose("vdo-vs-plain.toml", shipped.text, &choices).unwrap()
    }

    #[test]
    fn every_mission_is_understood_as_it_was_meant() {
        let held = KeptStack { plan: plan(), cell: 1 };
        let cells = Cells {
            plan: plan(),
            cells: vec![0, 1],
            begun: None,
            injections: Vec::new(),
            choices: BTreeMap::new(),
            ask_before: vec![1],
            known: BTreeMap::from([("image".to_owned(), "cafe".to_owned())]),
            log: true,
        };
        let missions = [
            Mission::Shell,
            Mission::Cells(cells),
            Mission::KeepStack(held.clone()),
            Mission::Measure { held, order: "quickly".to_owned() },
        ];
        for mission in missions {
            let understood = Mission::<String>::decode(&mission.encode().unwrap()).unwrap();
            assert_eq!(understood, mission);
        }
    }

    #[test]
    fn the_last_variants_stack_is_held_unless_another_is_named() {
        for seed in 0..20 {
            let plan = plan_of(Seed(seed));
            assert_eq!(plan.cells[KeptStack::of(&plan, None).unwrap().cell].variant, "vdo");
        }
        let plan = plan();
        assert_eq!(plan.cells[KeptStack::of(&plan, Some("plain")).unwrap().cell].variant, "plain");
        let error = KeptStack::of(&plan, Some("zfs")).unwrap_err();
        assert!(error.help().starts_with("its variants are: plain, "), "{}", error.help());
    }

    #[test]
    fn a_mission_of_another_version_is_an_error_that_names_it_and_says_what_to_do() {
        let error = Mission::<()>::decode(br#"{"mission":"migrate","of":{}}"#).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("programs of host and guest differ"), "{message}");
        assert!(message.contains("`migrate`") && message.contains("one build"), "{message}");
        for other in ["", "{}", r#"{"plan":{},"cells":[0]}"#, r#"{"mission":"cells"}"#] {
            let error = Mission::<()>::decode(other.as_bytes()).unwrap_err();
            assert!(matches!(error, RunError::Mission(_)), "{other}: {error}");
        }
    }
}
