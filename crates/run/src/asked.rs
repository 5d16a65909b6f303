//! Choices of the user for a run, in addition to the experiment's file: seed, tag, repeats, scale, a place for the result.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use experiment::{ExperimentError, PlanOptions, Repeat, Scale, Trial};
use plan::Plan;
use results::sink::SinkError;
use units::{Bytes, Seed};

use crate::{Earlier, ExperimentSource};

/// The scale of the lab, unless another is asked for.
pub const LAB: &str = "lab";
/// The scale of this machine's devices, unless another is asked for.
pub const FULL: &str = "full";

/// Choices of the user for a run, in addition to the experiment's file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunRequest {
    /// The seed of everything random; a fresh one where none is given.
    pub seed: Option<Seed>,
    /// Repeats of each variant, instead of the file's.
    pub repeat: Option<Repeat>,
    /// The scale, instead of the usual one.
    pub scale: Option<String>,
    /// These variants only.
    pub only: Vec<String>,
    /// The tag of the run that is continued; without it, a fresh one.
    pub run_tag: Option<String>,
    /// Sizes of real devices by role.
    pub sizes: BTreeMap<String, Bytes>,
    /// A change to a variant: the changed variant is measured together with the variant itself, and nothing else runs.
    pub trial: Option<Trial>,
}

impl RunRequest {
    /// One repeat.
    pub fn once() -> Self {
        Self { repeat: Some(Repeat::Fixed(1)), ..Self::default() }
    }

    /// Resumes `earlier`: keeps its tag, and its seed where none is asked for.
    #[must_use]
    pub fn continuing(self, earlier: Option<&Earlier>) -> Self {
        let seed = self.seed.or(earlier.map(Earlier::seed));
        Self { seed, run_tag: earlier.map(|earlier| earlier.run_tag().to_owned()), ..self }
    }

    /// Returns the plan that is asked for; `usual` is its scale where none is asked for.
    pub fn plan(
        self,
        source: &ExperimentSource,
        usual: &'static str,
    ) -> Result<Plan, ExperimentError> {
        let trial = self.trial;
        let pair = trial.as_ref().map(|trial| vec![trial.of.clone(), trial.name.clone()]);
        let choices = PlanOptions {
            seed: self.seed.unwrap_or_else(fresh_seed),
            run_tag: self.run_tag.unwrap_or_else(run_tag),
            repeat: self.repeat,
            sizes: self.sizes,
            scale: self.scale.map_or(Scale::Usual(usual), Scale::Asked),
            only: pair.unwrap_or(self.only),
        };
        match &trial {
            None => experiment::compose(&source.name, &source.text, &choices),
            Some(trial) => experiment::compose_trial(&source.name, &source.text, &choices, trial),
        }
    }
}

/// Returns a random seed, from the kernel's random bytes.
pub fn fresh_seed() -> Seed {
    let mut bytes = [0u8; 8];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    match read {
        Ok(()) => Seed(u64::from_le_bytes(bytes)),
        // Without /dev the time and the process still differ from run to run.
        Err(_) => {
            Seed(std::process::id().into()).derive(&format!("{:?}", std::time::SystemTime::now()))
        }
    }
}

/// Eight hexadecimal digits that no other run has: not from the seed, which may be given twice.
fn run_tag() -> String {
    format!("{:08x}", fresh_seed().0 >> 32)
}

/// The directory that the result of `plan` gets: `wanted`, or one named after the experiment and the time. It must not exist.
pub fn result_directory(wanted: Option<&Path>, plan: &Plan) -> Result<PathBuf, SinkError> {
    let dir = wanted.map_or_else(
        || {
            let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from(format!("{}-{now}", plan.facts.experiment))
        },
        Path::to_owned,
    );
    if dir.exists() { Err(SinkError::Exists(dir)) } else { Ok(dir) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_have_neither_seed_nor_tag_in_common_unless_they_are_asked_to() {
        let source = ExperimentSource::find("vdo-vs-plain").unwrap();
        let plan = |seed| RunRequest { seed, ..RunRequest::once() }.plan(&source, LAB).unwrap();
        let (one, other) = (plan(None), plan(None));
        assert!(one.seed != other.seed && one.run_tag != other.run_tag);
        let (one, other) = (plan(Some(Seed(7))), plan(Some(Seed(7))));
        assert!(one.seed == other.seed && one.run_tag != other.run_tag);
        assert_eq!(one.facts.repeat, 1);
    }

    #[test]
    fn a_result_gets_a_directory_of_its_own() {
        let plan =
            RunRequest::once().plan(&ExperimentSource::find("vdo-vs-plain").unwrap(), LAB).unwrap();
        let there = tempfile::tempdir().unwrap();
        assert!(matches!(result_directory(Some(there.path()), &plan), Err(SinkError::Exists(_))));
        let named = result_directory(None, &plan).unwrap();
        assert!(named.to_string_lossy().starts_with("vdo-vs-plain-"), "{}", named.display());
    }
}
