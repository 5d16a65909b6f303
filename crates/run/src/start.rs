//! Facts that a ledger writes down when a run begins.

use std::collections::BTreeMap;

use results::model::{Accelerator, DeviceFacts, MachineFacts};

/// Facts that are known when a run starts.
#[derive(Debug, Clone)]
pub struct Start {
    /// The command line.
    pub command: Vec<String>,
    /// Version of the program.
    pub tool_version: String,
    /// Accelerator that will execute it.
    pub accelerator: Accelerator,
    /// Why not a better one.
    pub accelerator_reason: Option<String>,
    /// Tells whether layers and engine are twins.
    pub simulated: bool,
    /// The machine it was started on.
    pub host: MachineFacts,
    /// The device or file of each role, of a run on this machine.
    pub devices: BTreeMap<String, DeviceFacts>,
    /// The experiment's file.
    pub experiment_text: String,
}
