//! Facts that are recorded when a run begins.

use std::collections::BTreeMap;

use results::model::{Accelerator, DeviceFacts, MachineFacts};

/// Facts that are known when a run starts.
#[derive(Debug, Clone)]
pub struct Start {
    /// The command line.
    pub command: Vec<String>,
    /// Version of the program.
    pub tool_version: String,
    /// Accelerator that executes the guest.
    pub accelerator: Accelerator,
    /// Reason why no better accelerator is used.
    pub accelerator_reason: Option<String>,
    /// Tells whether layers and engine are simulated.
    pub simulated: bool,
    /// The machine on which `fathom` was started.
    pub host: MachineFacts,
    /// The device or file bound to each role, for a run on this machine.
    pub devices: BTreeMap<String, DeviceFacts>,
    /// Text of the experiment file.
    pub experiment_text: String,
}
