//! The text of an experiment: one that comes with the program, or a file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// An experiment's file, found by its name or path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentSource {
    /// Name of the experiment in errors.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The reason why there is no experiment.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No such name is shipped.
    #[error("There is no experiment '{name}'")]
    Unknown {
        /// The name.
        name: String,
        /// The shipped experiment with the most similar name, if one is close.
        near: Option<&'static str>,
    },
    /// The file cannot be read.
    #[error("Cannot read experiment file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl SourceError {
    /// Returns what to do about it.
    pub fn help(&self) -> String {
        let Self::Unknown { near, .. } = self else {
            return "give the path of a TOML file, or the name of a shipped experiment".into();
        };
        let names: Vec<_> = experiment::SHIPPED.iter().map(|shipped| shipped.name).collect();
        let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        format!("{hint}Shipped are: {}; or give the path of a file", names.join(", "))
    }
}

impl ExperimentSource {
    /// Finds `experiment`: a path when it looks like one or exists, a shipped name otherwise.
    pub fn find(experiment: &str) -> Result<Self, SourceError> {
        let path = Path::new(experiment);
        if experiment.contains('/') || experiment.ends_with(".toml") || path.is_file() {
            let text = read(path)
                .map_err(|source| SourceError::Unreadable { path: path.to_owned(), source })?;
            return Ok(Self { name: experiment.to_owned(), text });
        }
        if let Some(shipped) = experiment::shipped(experiment) {
            return Ok(Self { name: format!("{experiment}.toml"), text: shipped.text.into() });
        }
        let names = experiment::SHIPPED.iter().map(|shipped| shipped.name);
        let near = experiment::nearest(experiment, names);
        Err(SourceError::Unknown { name: experiment.to_owned(), near })
    }

    /// Returns the experiment with values that override all others. They are kept in its text, so a continued run has them, too.
    #[must_use]
    pub fn with_values(self, set: &[(String, String)]) -> Self {
        self.on_kernels(&[], set)
    }

    /// Does the same, and runs each variant on each of these kernels of the lab, if there are any.
    #[must_use]
    pub fn on_kernels(self, kernels: &[String], set: &[(String, String)]) -> Self {
        Self { text: experiment::with_kernels(self.text, kernels, set), ..self }
    }

    /// Tells whether it is one that comes with the program.
    pub fn is_shipped(&self) -> bool {
        experiment::SHIPPED.iter().any(|shipped| shipped.text == self.text)
    }
}

/// Reads a file up to slightly more than the largest size of an experiment, so that the experiment's own check refuses a longer one.
fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    sys::input::open(path)?.take(experiment::LONGEST_FILE + 1).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
        let error = ExperimentSource::find("vdo-vs-plan").unwrap_err();
        assert!(error.to_string().contains("'vdo-vs-plan'"), "{error}");
        assert!(error.help().starts_with("did you mean 'vdo-vs-plain'? Shipped are: "));
        let missing = ExperimentSource::find("no-such.toml").unwrap_err();
        assert!(matches!(missing, SourceError::Unreadable { .. }), "{missing}");
    }

    #[test]
    fn a_copy_of_a_shipped_experiment_counts_as_shipped_until_it_is_changed() {
        let mut source = ExperimentSource::find("vdo-vs-plain").unwrap();
        assert!(source.is_shipped());
        source.text.push_str("# mine\n");
        assert!(!source.is_shipped());
    }
}
