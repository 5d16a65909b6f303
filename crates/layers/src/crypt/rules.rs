//! The doctor's rules about encryption in a stack.

use results::model::LayerFacts;

use crate::rule::{Check, LayerRule, Observation, PlannedFacts, RuleFacts, ThresholdTest};

/// Every rule.
pub(super) const RULES: &[LayerRule] = &[REDUCES_CIPHERTEXT, CIPHER_WITHOUT_INSTRUCTIONS];

const REDUCES_CIPHERTEXT: LayerRule = LayerRule {
    id: "reduces_ciphertext",
    text: "A layer that dedupes and compresses gets data that is encrypted already: no two blocks are alike, and none compresses.",
    reads: "the layers that this one stands on",
    threshold: None,
    remedy: "Let the layer that dedupes and compresses stand on the encrypted device: then it sees the data, and what it stores is encrypted.",
    source: "dm-crypt encrypts each sector by its place",
    check: Check::Plan(reduces_ciphertext),
};

fn reduces_ciphertext(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let below = below(facts.layer, facts.stack);
    let reducing = below.iter().find(|layer| facts.reducing.contains(&layer.layer.as_str()))?;
    let message = format!(
        "'{}' gets data that '{}' has encrypted: no two blocks are alike, and none compresses, so that nothing is saved.",
        reducing.name, facts.layer
    );
    Some(Observation { message: Some(message), ..Observation::default() })
}

const CIPHER_WITHOUT_INSTRUCTIONS: LayerRule = LayerRule {
    id: "cipher_without_instructions",
    text: "The cipher was carried out without the processor's instructions for it: it is slower than on a machine that uses them.",
    reads: "the kernel's list of ciphers (/proc/crypto), when the device was opened",
    threshold: None,
    remedy: "Load the kernel's module for this processor (aesni-intel on x86), if the processor has the instructions; do not compare these figures with those of a machine that uses them.",
    source: "arch/x86/crypto/aesni-intel_glue.c",
    check: Check::Cell(plain_arithmetic),
};

fn plain_arithmetic(facts: &RuleFacts, _: ThresholdTest) -> Option<Observation> {
    let driver = facts.facts.get(&format!("{}.driver", facts.layer))?;
    let message = format!(
        "'{driver}' carried out the cipher of '{}', without the processor's instructions for it.",
        facts.layer
    );
    let plain = driver.contains("aes-generic") || driver.contains("aes-lib");
    plain.then(|| Observation { message: Some(message), ..Observation::default() })
}

/// The layers that `layer` stands on, however many lie between.
fn below<'a>(layer: &str, stack: &'a [LayerFacts]) -> Vec<&'a LayerFacts> {
    let start = stack.iter().find(|other| other.name == layer);
    let mut open: Vec<&str> =
        start.map_or_else(Vec::new, |start| start.on.values().map(String::as_str).collect());
    let mut found = Vec::new();
    while let Some(name) = open.pop() {
        if let Some(layer) = stack.iter().find(|other| other.name == name) {
            open.extend(layer.on.values().map(String::as_str));
            found.push(layer);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rule::made_up;

    fn layer(kind: &str, name: &str, on: &str) -> LayerFacts {
        LayerFacts {
            layer: kind.into(),
            name: name.into(),
            settings: BTreeMap::new(),
            on: BTreeMap::from([("data".to_owned(), on.to_owned())]),
            computed: Vec::new(),
        }
    }

    #[test]
    fn a_cipher_in_plain_arithmetic_is_told_and_one_by_instructions_is_not() {
        let found = |driver: &str| {
            CIPHER_WITHOUT_INSTRUCTIONS.examine(&RuleFacts {
                layer: "secret",
                facts: &BTreeMap::from([("secret.driver".to_owned(), driver.to_owned())]),
                ..made_up::CELL
            })
        };
        assert!(found("xts(ecb(aes-generic))").unwrap().message.contains("aes-generic"));
        assert_eq!((found("xts-aes-aesni"), found("unknown")), (None, None));
    }

    #[test]
    fn encryption_above_what_reduces_is_told_and_below_it_is_right() {
        assert_eq!(RULES.len(), 2, "the rules have another case");
        let found = |stack: &[LayerFacts]| {
            REDUCES_CIPHERTEXT.check_plan(&PlannedFacts {
                layer: "secret",
                kind: "crypt",
                stack,
                reducing: &["small"],
                ..made_up::PLAN
            })
        };
        let above = [
            layer("small", "store", "data"),
            layer("plain", "between", "store"),
            layer("crypt", "secret", "between"),
        ];
        let shown = found(&above).unwrap();
        assert!(
            shown.message.contains("'store'") && shown.remedy.contains("stand on"),
            "{shown:?}"
        );
        assert_eq!(
            found(&[layer("crypt", "secret", "data"), layer("small", "store", "secret")]),
            None
        );
    }
}
