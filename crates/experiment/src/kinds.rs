//! Every kind of stage: each has a file below, and one line here; two more files (targets, and changes of layers) serve several kinds. No other
//! place names a kind, except the code that reads results of earlier versions.

pub(crate) mod action;
pub(crate) mod ageing;
pub(crate) mod allocation;
pub(crate) mod change;
pub(crate) mod command;
pub(crate) mod copy;
pub(crate) mod crash;
pub(crate) mod drive;
pub(crate) mod fill;
pub(crate) mod layout;
pub(crate) mod reboot;
pub(crate) mod restart;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod targets;
pub(crate) mod tree_load;

use std::sync::OnceLock;

use units::{Key, key};

use crate::stages::StageKind;
use crate::written::diagnostic::{Diagnostic, Mend, among, nearest};
use crate::written::document::Table;

const DO: Key = key("do", "what the stage does", "\"load\"");

/// The kinds that Fathom brings.
const KINDS: &[StageKind] = &[
    allocation::KIND,
    layout::KIND,
    drive::KIND,
    tree_load::KIND,
    ageing::KIND,
    fill::KIND,
    state::KIND,
    copy::KIND,
    command::KIND,
    action::KIND,
    steps::DROP_CACHES,
    steps::WAIT,
    steps::READ,
    steps::SET,
    steps::TRIM,
    steps::REMOUNT,
    restart::KIND,
    reboot::KIND,
    crash::KIND,
];

static ALL: OnceLock<Vec<StageKind>> = OnceLock::new();

/// Returns every kind of stage.
fn kinds() -> &'static [StageKind] {
    ALL.get_or_init(|| KINDS.to_vec())
}

/// Adds kinds that a program brings itself; returns false, and adds none, if a file was read already.
pub fn register(more: impl IntoIterator<Item = StageKind>) -> bool {
    ALL.set(KINDS.iter().copied().chain(more).collect()).is_ok()
}

impl StageKind {
    /// Takes `do` out of a stage, and returns the kind that it names.
    pub(crate) fn take(table: &mut Table) -> Result<&'static Self, Diagnostic> {
        let names = || kinds().iter().map(|kind| kind.facts.name);
        let Some(written) = table.take::<String>(&DO)? else {
            if let Some(misspelt) = table.misspelt(&DO) {
                return Err(misspelt);
            }
            let help = format!("add do = ...; {}", among("", names()));
            return Err(Diagnostic::at(table.at(), "A stage does not say what it does", help));
        };
        let known = kinds().iter().find(|kind| kind.facts.name == written.get_ref());
        known.ok_or_else(|| {
            let message = format!("There is no stage '{}'", written.get_ref());
            let word = written.get_ref();
            let instead = nearest(word, names()).map(|near| Mend::With(format!("{near:?}").into()));
            let mistake = Diagnostic::at(written.span(), message, among(word, names()));
            Diagnostic { instead, ..mistake }
        })
    }
}

#[cfg(test)]
mod tests {
    use results::model::{StageData, StageFacts, StageTraits};

    use super::*;

    #[test]
    fn results_of_earlier_versions_are_read_as_kinds_are_today() {
        for StageKind { facts, .. } in KINDS {
            let json = serde_json::json!({
                "kind": facts.name, "name": "", "measured": false, "about": "", "load": null,
            });
            let old: StageFacts = serde_json::from_value(json).unwrap();
            // Every result that has a kind which came later has its traits, too.
            let unknown = old.traits() == StageTraits::of(StageData::Unknown);
            assert!(unknown || old.traits() == facts.traits, "{}", facts.name);
        }
    }
}
