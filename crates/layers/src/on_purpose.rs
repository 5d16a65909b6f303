//! Layers that make a device slow or faulty on purpose: one device-mapper node over one device, for tests and experiments.

use crate::dm;
use crate::kind::LayerNeeds;
use crate::layer::{Offer, Place, RaisePlan, Restart};
use crate::probe::{NamedDevice, Source};
use crate::read_back::read_back;
use crate::rule::{Check, LayerRule, Observation, RuleFacts, ThresholdTest};
use crate::step::{Action, Step};

/// The rule that points out that a result comes from a stack with such a layer.
pub(crate) const RULES: &[LayerRule] = &[LayerRule {
    id: "made_bad_on_purpose",
    text: "A layer of the stack makes a device slow or faulty on purpose: no real device has these figures.",
    reads: "the layers of the stack",
    threshold: None,
    remedy: "Leave that layer out where the device itself is the question.",
    source: "the kernel's admin-guide/device-mapper: dm-delay, dm-flakey, error",
    check: Check::Cell(slow_or_faulty),
}];

fn slow_or_faulty(facts: &RuleFacts, _: ThresholdTest) -> Option<Observation> {
    let layer = facts.layer_facts()?;
    let below: Vec<&str> = layer.on.values().map(String::as_str).collect();
    let message = format!(
        "Layer '{}' makes '{}' slow or faulty on purpose: no real device has these figures.",
        layer.name,
        below.join(", ")
    );
    let settings: Vec<String> =
        layer.settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
    let evidence = format!("{}: {}", layer.layer, settings.join(", "));
    Some(Observation { message: Some(message), evidence, ..Observation::default() })
}

/// Returns what a machine must have for a target of device-mapper.
pub(crate) const fn needs(modules: &'static [&'static str]) -> LayerNeeds {
    LayerNeeds { packages: &["dmsetup"], modules, tools: &["dmsetup"], ..LayerNeeds::NONE }
}

/// The node of a layer over its device.
pub(crate) struct Node<'a> {
    /// The layer's place.
    pub(crate) at: Place<'a>,
    /// The lines of its table.
    pub(crate) table: String,
    /// The parser of its table.
    pub(crate) parser: &'static str,
    /// Settings that the kernel's table must have.
    pub(crate) wanted: Vec<(&'static str, String)>,
}

impl Node<'_> {
    /// Returns what raises it, without probes.
    pub(crate) fn raise(&self) -> RaisePlan {
        let name = self.at.tagged();
        let path = dm::path(&name);
        let mut node = dm::create("put the node over the device", &name, &self.table);
        // Otherwise what was written through it would later be taken for somebody's data.
        let device = self.at.block("data").0.to_owned();
        node.undo.push(Action::Wipe { device, mark: None });
        let mut up = vec![node];
        up.extend(self.looks());
        RaisePlan {
            up,
            nodes: vec![NamedDevice { name: self.at.name.to_owned(), path: path.clone() }],
            probes: Vec::new(),
            ready: Vec::new(),
            settle: vec![Step::flush(&path)],
            offer: Offer::Block { device: path, bytes: self.at.block("data").1 },
            allocate: None,
            memory_bytes: 0,
            computed: Vec::new(),
        }
    }

    /// Returns steps that remove it and put it back.
    pub(crate) fn again(&self) -> Restart {
        let name = self.at.tagged();
        let create = dm::create("put the node over the device", &name, &self.table);
        let up = [Step { undo: Vec::new(), ..create }].into_iter().chain(self.looks()).collect();
        Restart { down: vec![dm::remove("remove the node", &name)], up, renews: None }
    }

    fn looks(&self) -> Vec<Step> {
        let table = Source::DmTable { node: self.at.tagged() };
        read_back(&table, self.parser, self.wanted.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::model::LayerFacts;

    use super::*;
    use crate::rule::made_up;

    #[test]
    fn a_layer_that_makes_a_device_slow_is_told_with_its_settings_and_another_layer_is_not() {
        let own = LayerFacts {
            layer: "delay".into(),
            name: "tired".into(),
            settings: BTreeMap::from([("read_delay_ms".to_owned(), "30".to_owned())]),
            on: BTreeMap::from([("data".to_owned(), "four".to_owned())]),
            computed: Vec::new(),
        };
        let stack = [own];
        let found = |layer| RULES[0].examine(&RuleFacts { layer, stack: &stack, ..made_up::CELL });
        let finding = found("tired").unwrap();
        assert!(
            finding.message.contains("'tired' makes 'four' slow or faulty on purpose"),
            "{finding:?}"
        );
        assert_eq!(finding.evidence, "delay: read_delay_ms 30");
        assert_eq!(found("other"), None);
    }
}
