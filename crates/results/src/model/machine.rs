//! Facts of a machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts of a machine, as text by name, in the order it is shown (`kernel`, `cpu`, `memory`, ...).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineFacts(pub BTreeMap<String, String>);

impl MachineFacts {
    /// Tells whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
