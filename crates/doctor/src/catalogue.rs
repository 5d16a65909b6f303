//! The list of all rules.

use layers::{Rule, Threshold};

use crate::{before, common, standing};

/// The moment at which a rule looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// A rule that looks at a plan, before its run.
    Before,
    /// A rule that looks at a result, after its run.
    After,
    /// A rule that looks at a stack that a machine has, without a run.
    Standing,
    /// A rule that looks at such a stack over time.
    Watched,
}

impl When {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Standing => "standing",
            Self::Watched => "watched",
        }
    }

    /// Returns the same in words that end a heading.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Before => "before a run",
            Self::After => "after a run",
            Self::Standing => "on a machine, without a run",
            Self::Watched => "on a machine, only while it is watched",
        }
    }
}

/// A rule without its predicate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleAbout {
    /// Its id.
    pub id: &'static str,
    /// The kind of layer that it belongs to; `None` for a common one.
    pub layer: Option<&'static str>,
    /// The moment at which it looks.
    pub when: When,
    /// Its statement.
    pub text: &'static str,
    /// The data that it reads, in words.
    pub reads: &'static str,
    /// The number above or below which it fires.
    pub threshold: Option<Threshold>,
    /// The remedy.
    pub remedy: &'static str,
    /// The source of the rule (`docs/method.md`).
    pub source: &'static str,
}

/// Every rule: the common ones, then each layer's, those that look at plans first.
pub fn rules() -> Vec<RuleAbout> {
    let before = before::RULES.iter().map(|rule| about(rule, None, When::Before));
    let after = common::RULES.iter().map(|rule| about(rule, None, When::After));
    let standing = standing::RULES.iter().map(|rule| about(rule, None, When::Standing));
    let watched = standing::WATCH_RULES.iter().map(|rule| about(rule, None, When::Watched));
    let mut all: Vec<RuleAbout> = before.chain(after).chain(standing).chain(watched).collect();
    for kind in layers::kinds() {
        let when = |before| if before { When::Before } else { When::After };
        let rules = kind.rules.iter();
        all.extend(rules.map(|rule| about(rule, Some(kind.name), when(rule.is_before()))));
        let rules = kind.standing_rules.iter();
        all.extend(rules.map(|rule| about(rule, Some(kind.name), When::Standing)));
        // Most are among those above.
        let known = |id: &str| kind.standing_rules.iter().any(|rule| rule.id == id);
        let rules = kind.watch_rules.iter().filter(|rule| !known(rule.id));
        all.extend(rules.map(|rule| about(rule, Some(kind.name), When::Watched)));
    }
    all.sort_by_key(|rule| (rule.layer.is_some(), rule.layer, rule.when));
    all
}

fn about<C>(rule: &Rule<C>, layer: Option<&'static str>, when: When) -> RuleAbout {
    let Rule { id, text, reads, threshold, remedy, source, .. } = *rule;
    RuleAbout { id, layer, when, text, reads, threshold, remedy, source }
}
