//! The figures of a command that a stage ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Figures that were measured of one command; `None` for those that were not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandFigures {
    /// Time from its start to its end, seconds.
    pub elapsed_s: Option<f64>,
    /// Time from its start until its data was on stable storage, seconds; `None` when that was not asked for.
    pub elapsed_with_sync_s: Option<f64>,
    /// User CPU time of the command and all its processes that were waited for, seconds.
    pub cpu_user_s: Option<f64>,
    /// System CPU time of the same processes, seconds.
    pub cpu_system_s: Option<f64>,
    /// Peak memory of its largest process, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Its exit code; `None` when a signal ended it.
    pub exit_code: Option<i32>,
    /// Space used in the target's file system before the command, bytes; `None` when the target is not a directory.
    pub used_before_bytes: Option<u64>,
    /// Space used after the command and its sync, bytes.
    pub used_after_bytes: Option<u64>,
    /// Command lines of processes that it had started and that were killed because they outlived it.
    #[serde(default)]
    pub killed: Vec<String>,
    /// Numbers that were picked from what it printed, by name.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
    /// Its standard output: beginning and end.
    #[serde(default)]
    pub stdout: String,
    /// Its standard error: beginning and end.
    #[serde(default)]
    pub stderr: String,
}

impl CommandFigures {
    /// Its figures by the ids of the catalogue.
    pub fn metrics(&self) -> [(&'static str, Option<f64>); 6] {
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
        let grown = bytes(self.used_after_bytes).zip(bytes(self.used_before_bytes));
        [
            ("elapsed_s", self.elapsed_s),
            ("elapsed_with_sync_s", self.elapsed_with_sync_s),
            ("command_cpu_user_s", self.cpu_user_s),
            ("command_cpu_system_s", self.cpu_system_s),
            ("peak_memory_bytes", bytes(self.peak_memory_bytes)),
            ("space_taken_bytes", grown.map(|(after, before)| after - before)),
        ]
    }
}
