//! `proofs.json` of a result: the outcomes of testing its findings. It is written after the run has ended, and is not covered by the
//! seal.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::{Finding, Proof};
use crate::parts::LONGEST;
use crate::sink::{DirSink, Sink, SinkError};

/// The file's name.
pub const PROOFS: &str = "proofs.json";

/// The proof of a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptProof {
    /// Id of the rule.
    pub rule: String,
    /// The subject of the finding.
    pub subject: Option<String>,
    /// The trial's rounds and outcome.
    pub proof: Proof,
}

impl KeptProof {
    /// Tells whether it belongs to this finding.
    pub fn is_of(&self, finding: &Finding) -> bool {
        self.rule == finding.rule && self.subject == finding.subject
    }
}

/// Reads the proofs in the result in `dir`; none if the file does not exist or cannot be read.
pub(crate) fn read(dir: &Path) -> Vec<KeptProof> {
    let bytes = sys::input::read(&dir.join(PROOFS), LONGEST).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Stores the proof of a finding in the result `held`, replacing an earlier proof of the same finding.
///
/// # Errors
/// When the file cannot be written, or exists with other content.
pub fn keep(held: &mut DirSink, finding: &Finding, proof: &Proof) -> Result<(), SinkError> {
    let path = held.way().join(PROOFS);
    let named = held.name().join(PROOFS);
    let failed = |source| SinkError::Write { path: named.clone(), source };
    let mut kept: Vec<KeptProof> = match sys::input::read(&path, LONGEST) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))?,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    kept.retain(|kept| !kept.is_of(finding));
    let (rule, subject) = (finding.rule.clone(), finding.subject.clone());
    kept.push(KeptProof { rule, subject, proof: proof.clone() });
    let bytes = serde_json::to_vec_pretty(&kept).map_err(|error| failed(error.into()))?;
    held.put(PROOFS, &bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::{ProofOutcome, Severity};

    fn finding(rule: &str) -> Finding {
        Finding {
            rule: rule.into(),
            severity: Severity::Note,
            subject: Some("vdo".into()),
            message: String::new(),
            evidence: String::new(),
            remedy: String::new(),
            figures: Vec::new(),
            range: None,
            place: None,
            explains_percent: None,
            changes: Vec::new(),
            commands: Vec::new(),
            proof: None,
        }
    }

    fn proof(outcome: ProofOutcome) -> Proof {
        Proof { outcome, figure: "IOPS".into(), rounds: Vec::new() }
    }

    #[test]
    fn the_last_proof_of_a_finding_is_the_one_that_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut held = DirSink::reopen(dir.path()).unwrap();
        assert_eq!(read(dir.path()), []);
        let (misses, idle) = (finding("block_map_misses"), finding("packer_idle"));
        keep(&mut held, &misses, &proof(ProofOutcome::Unclear)).unwrap();
        keep(&mut held, &idle, &proof(ProofOutcome::Refuted)).unwrap();
        keep(&mut held, &misses, &proof(ProofOutcome::Confirmed)).unwrap();
        let kept = read(dir.path());
        let of = |finding: &Finding| {
            let found: Vec<_> = kept.iter().filter(|kept| kept.is_of(finding)).collect();
            found.iter().map(|kept| kept.proof.outcome).collect::<Vec<_>>()
        };
        assert_eq!(
            (of(&misses), of(&idle)),
            (vec![ProofOutcome::Confirmed], vec![ProofOutcome::Refuted])
        );
    }

    #[test]
    fn a_file_that_is_something_else_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(PROOFS), "my notes").unwrap();
        assert_eq!(read(dir.path()), []);
        let mut held = DirSink::reopen(dir.path()).unwrap();
        keep(&mut held, &finding("a"), &proof(ProofOutcome::Unclear)).unwrap_err();
        assert_eq!(fs::read(dir.path().join(PROOFS)).unwrap(), b"my notes");
    }
}
