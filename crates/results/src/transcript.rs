//! The transcript: every external command and action of a run, one JSON line each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The most that is kept of an output, bytes.
pub const OUTPUT_KEPT: usize = 8 << 10;

/// The purpose (`about`) of the last line written by `fathom clean`; its error names what could not be removed.
pub const CLEANED: &str = "take down what the run left";

/// One line of `transcript.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TranscriptEntry {
    /// Start, nanoseconds since the run's epoch.
    pub at_ns: u64,
    /// Index of the cell it was for; `None` outside cells.
    pub cell: Option<usize>,
    /// Number of its step among those that build the stack, in the plan of the cell, from 0; `None` for any other command or action, and in
    /// results of versions that did not number the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Number of the action within the undo of that step, from 0; `None` if it does not undo a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// Names in braces that were bound since the line before, with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bound: BTreeMap<String, String>,
    /// Its purpose (`make the VDO pool`).
    pub about: String,
    /// Program and arguments of a command; empty for an action that is not a command.
    pub argv: Vec<String>,
    /// The command or action as a person would type or say it.
    pub action: String,
    /// Tells whether it took something down.
    pub undo: bool,
    /// Exit code; `None` for an action, and for a command that was killed or could not be started.
    pub exit_code: Option<i32>,
    /// Standard output, as much as is kept ([`bounded`]).
    pub stdout: String,
    /// Standard error, as much as is kept.
    pub stderr: String,
    /// Command lines of processes that the command had started and that were killed because they outlived it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<String>,
    /// The reason why it failed, where that does not come from the command itself.
    pub error: Option<String>,
    /// Its duration, nanoseconds.
    pub duration_ns: u64,
}

/// Returns `output` as text; if it is longer than [`OUTPUT_KEPT`], its middle is replaced by a note.
pub fn bounded(output: &[u8]) -> String {
    if output.len() <= OUTPUT_KEPT {
        return String::from_utf8_lossy(output).into_owned();
    }
    let half = OUTPUT_KEPT / 2;
    let (head, tail) = (&output[..half], &output[output.len() - half..]);
    format!(
        "{}\n[{} bytes left out]\n{}",
        String::from_utf8_lossy(head),
        output.len() - OUTPUT_KEPT,
        String::from_utf8_lossy(tail)
    )
}

/// Reads every whole line of a transcript; lines that are not entries (a cut-off last one) are only counted.
pub(crate) fn read(text: &[u8]) -> (Vec<TranscriptEntry>, usize) {
    let mut lost = 0;
    let lines = text.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    let entries =
        lines.filter_map(|line| serde_json::from_slice(line).map_err(|_| lost += 1).ok()).collect();
    (entries, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_both_ends_and_says_what_is_missing() {
        let mut output = vec![b'a'; OUTPUT_KEPT];
        assert_eq!(bounded(&output).len(), OUTPUT_KEPT);
        output.extend(b"the end");
        let kept = bounded(&output);
        assert!(kept.starts_with('a') && kept.ends_with("the end"));
        assert!(kept.contains("[7 bytes left out]"));
    }

    #[test]
    fn a_cut_off_last_line_costs_only_itself() {
        let entry = TranscriptEntry { action: "lvs".into(), ..Default::default() };
        let mut text = serde_json::to_vec(&entry).unwrap();
        text.push(b'\n');
        text.extend(b"{\"at_ns\":1,");
        assert_eq!(read(&text), (vec![entry], 1));
    }
}
