//! One thing that the doctor noticed.

use serde::{Deserialize, Serialize};

/// How much a finding takes from the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The figures mean less than they seem to.
    Warning,
    /// The figures do not mean what was asked.
    Error,
}

/// One thing that the doctor noticed, with its evidence and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id (`emulated_cpu`).
    pub rule: String,
    /// How much it takes from the figures.
    pub severity: Severity,
    /// What it is about: a variant, a cell, a layer; `None` for the whole result.
    pub subject: Option<String>,
    /// What was noticed, one sentence.
    pub message: String,
    /// The figures it rests on.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
}
