//! One setting of the environment: its name, its place on a machine, and its values.

use units::Key;

/// One setting.
#[derive(Debug)]
pub struct EnvironmentSetting {
    /// Its name in an experiment, and what it takes.
    pub key: Key,
    /// The place of its value.
    pub place: SettingPlace,
    /// Values that any machine may take.
    pub values: SettingValues,
    /// The file next to that of the value that lists the values that this machine takes, or holds the largest number.
    pub listed: Option<&'static str>,
    /// Values that a kernel module brings, each with the module.
    pub modules: &'static [(&'static str, &'static str)],
    /// Settings that a change of this one resets: they are restored after it.
    pub resets: &'static [&'static str],
}

/// The place of a value on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingPlace {
    /// An attribute of the queue of a device.
    Queue(&'static str),
    /// A file in each of several directories, which all have the same value.
    Each {
        /// The directory that they are in.
        directory: &'static str,
        /// The beginning of their names.
        prefix: &'static str,
        /// The file.
        file: &'static str,
    },
    /// A value that a program sets, and keeps in a file.
    Program {
        /// The file that holds the present value; empty, or not there, where none is set.
        file: &'static str,
        /// The program and its arguments before the value.
        set: &'static [&'static str],
        /// The program and its arguments that clear the value.
        unset: &'static [&'static str],
        /// A command that succeeds where the value can be set.
        works: &'static [&'static str],
        /// Directories with a subdirectory named after each known value.
        known: &'static [&'static str],
        /// The package that contains the program.
        package: &'static str,
    },
}

/// Values that any machine may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingValues {
    /// A word of letters, digits, `-`, `_` and `.`.
    Plain,
    /// One of these.
    Among(&'static [&'static str]),
    /// A whole number.
    Whole {
        /// The least.
        least: u64,
        /// It is a multiple of this.
        step: u64,
    },
}

impl EnvironmentSetting {
    /// Tells whether each device has a separate value.
    pub fn is_of_device(&self) -> bool {
        matches!(self.place, SettingPlace::Queue(_))
    }

    /// Returns the place in words: a file, or the queue of `device`.
    pub fn show(&self, device: Option<&str>) -> String {
        match self.place {
            SettingPlace::Queue(attribute) => {
                format!("queue/{attribute} of {}", device.unwrap_or("a device"))
            }
            SettingPlace::Each { directory, prefix, file } => {
                format!("{directory}/{prefix}*/{file}")
            }
            SettingPlace::Program { file, .. } => file.to_owned(),
        }
    }

    /// Tells whether any machine may take this value.
    pub fn takes(&self, value: &str) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        match self.values {
            SettingValues::Plain => {
                value.starts_with(|c: char| c.is_ascii_alphanumeric()) && value.chars().all(plain)
            }
            SettingValues::Among(all) => all.contains(&value),
            SettingValues::Whole { least, step } => {
                value.parse().is_ok_and(|n: u64| n >= least && n.is_multiple_of(step))
            }
        }
    }
}
