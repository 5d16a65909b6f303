//! Requirements of stages on a machine.

use std::collections::BTreeMap;

use super::Stage;
use plan::{Corpus, Needs};

/// Returns what all stages need.
pub(crate) fn needs(stages: &[Stage], corpora: &BTreeMap<String, Corpus>) -> Needs {
    let all = stages.iter().fold(Needs::default(), |all, stage| all.joined(&stage.task.needs()));
    Needs { corpora: corpora.clone(), ..all }
}
