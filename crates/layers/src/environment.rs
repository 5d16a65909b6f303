//! Settings of the kernel around a stack, as data: what each is called in an experiment, where it is on a machine, what it takes.
//! A setting is of the whole machine, or of the queue of one device.

use serde::{Deserialize, Serialize};
use units::Key;

use crate::probe::Source;
use crate::step::{Action, Step};

mod list;

pub use list::SETTINGS;

/// The part of an experiment, and of names of facts, that settings of the whole machine are in.
pub const ENVIRONMENT: &str = "environment";
/// Time limit of setting a value, seconds.
const DEADLINE_S: u64 = 30;

/// One setting.
#[derive(Debug)]
pub struct EnvironmentSetting {
    /// Its name in an experiment, and what it takes.
    pub key: Key,
    /// The place of its value.
    pub place: SettingPlace,
    /// Values that any machine may take.
    pub values: SettingValues,
    /// The file beside the value that lists what this machine takes, or holds the largest number.
    pub listed: Option<&'static str>,
    /// Values that a kernel module brings, each with the module.
    pub modules: &'static [(&'static str, &'static str)],
    /// Settings that a change of this one sets anew: they are put back after it.
    pub resets: &'static [&'static str],
}

/// The place of a value on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingPlace {
    /// An attribute of the queue of a device.
    Queue(&'static str),
    /// A file in each of the directories whose names begin so, which all have the same value.
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
        /// The file that names what holds; empty, or not there, where nothing does.
        file: &'static str,
        /// The program and its arguments before the value.
        set: &'static [&'static str],
        /// The program and its arguments that take back any value.
        unset: &'static [&'static str],
        /// Succeeds where it can be set.
        works: &'static [&'static str],
        /// Directories that hold one called like each value.
        known: &'static [&'static str],
        /// The package that the program is of.
        package: &'static str,
    },
}

/// Values that any machine may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingValues {
    /// A word of letters, digits, `-`, `_` and `.`.
    Word,
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

/// A value that an experiment asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedSetting {
    /// Name of the setting.
    pub setting: String,
    /// Role of the device that it is of; `None`: it is of the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The value.
    pub value: String,
}

impl EnvironmentSetting {
    /// Tells whether each device has a value of its own.
    pub fn is_of_device(&self) -> bool {
        matches!(self.place, SettingPlace::Queue(_))
    }

    /// Returns the place as people name it: a file, or the queue of `device`.
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
            SettingValues::Word => {
                value.starts_with(|c: char| c.is_ascii_alphanumeric()) && value.chars().all(plain)
            }
            SettingValues::Among(all) => all.contains(&value),
            SettingValues::Whole { least, step } => {
                value.parse().is_ok_and(|n: u64| n >= least && n.is_multiple_of(step))
            }
        }
    }
}

/// Returns the setting of this name.
pub fn setting(name: &str) -> Option<&'static EnvironmentSetting> {
    SETTINGS.iter().find(|setting| setting.key.name == name)
}

/// Returns an action in words: the setting, its place and the value.
pub(crate) fn show_set(name: &str, device: Option<&str>, value: &str) -> String {
    let Some(setting) = setting(name) else { return format!("set {name} to {value}") };
    match setting.place {
        SettingPlace::Program { unset, .. } if value.is_empty() => unset.join(" "),
        SettingPlace::Program { set, .. } => format!("{} {value}", set.join(" ")),
        _ => format!("echo {value} > {}", setting.show(device)),
    }
}

/// Returns the steps that give a machine what is asked: first all that holds is read, so that it is known before anything is written, then
/// each value is set in the order of the list.
pub fn set_up(asked: &[AskedSetting]) -> Vec<Step> {
    let mut known: Vec<_> =
        asked.iter().filter_map(|asked| Some((setting(&asked.setting)?, asked))).collect();
    let place = |wanted: &EnvironmentSetting| {
        SETTINGS.iter().position(|setting| setting.key.name == wanted.key.name)
    };
    known.sort_by_key(|(setting, asked)| (place(setting), asked.role.clone()));
    let mut touched: Vec<(&str, Option<&str>)> = Vec::new();
    for (setting, asked) in &known {
        for name in std::iter::once(setting.key.name).chain(setting.resets.iter().copied()) {
            let one = (name, asked.role.as_deref());
            if !touched.contains(&one) {
                touched.push(one);
            }
        }
    }
    let reads = touched.iter().map(|(name, role)| Step {
        about: format!("note {name} of {}", role.unwrap_or("the machine")),
        action: Action::Bind {
            source: Source::Environment { setting: (*name).to_owned(), device: device(*role) },
            parser: crate::machine::ENVIRONMENT.to_owned(),
            prefix: before(name, *role),
        },
        undo: Vec::new(),
        deadline_s: DEADLINE_S,
    });
    let covered = |name: &str, role: &Option<String>| {
        known.iter().any(|(by, asked)| by.resets.contains(&name) && asked.role == *role)
    };
    let sets = known.iter().map(|(setting, asked)| {
        let (name, role) = (setting.key.name, asked.role.as_deref());
        let set = |name: &str, value: String| Action::Set {
            setting: name.to_owned(),
            device: device(role),
            value,
        };
        let back = |name: &str| set(name, format!("{{{}.value}}", before(name, role)));
        let own = (!covered(name, &asked.role)).then(|| back(name));
        Step {
            about: format!("set {name} of {}", role.unwrap_or("the machine")),
            action: set(name, asked.value.clone()),
            undo: own.into_iter().chain(setting.resets.iter().map(|name| back(name))).collect(),
            deadline_s: DEADLINE_S,
        }
    });
    reads.chain(sets).collect()
}

fn device(role: Option<&str>) -> Option<String> {
    role.map(|role| format!("{{device.{role}}}"))
}

/// The name under which the value is bound that held before.
fn before(name: &str, role: Option<&str>) -> String {
    format!("before.{}.{name}", role.unwrap_or(ENVIRONMENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(setting: &str, value: &str) -> AskedSetting {
        let role = Some("data".to_owned());
        AskedSetting { setting: setting.into(), role, value: value.into() }
    }

    #[test]
    fn every_example_is_a_value_that_the_setting_takes_and_no_two_have_one_name() {
        for (i, setting) in SETTINGS.iter().enumerate() {
            assert!(setting.takes(setting.key.example.trim_matches('"')), "{setting:?}");
            assert!(!setting.takes("a b;c") && !setting.takes(""), "{setting:?}");
            let same = |other: &EnvironmentSetting| other.key.name == setting.key.name;
            assert!(!SETTINGS[..i].iter().any(same), "{setting:?}");
            for name in setting.resets {
                assert!(super::setting(name).is_some_and(EnvironmentSetting::is_of_device));
            }
        }
    }

    #[test]
    fn all_that_holds_is_read_first_and_what_a_scheduler_resets_is_put_back_after_it() {
        let steps = set_up(&[asked("nr_requests", "64"), asked("scheduler", "bfq")]);
        let about: Vec<_> = steps.iter().map(|step| step.about.as_str()).collect();
        let wanted = [
            "note scheduler of data",
            "note nr_requests of data",
            "set scheduler of data",
            "set nr_requests of data",
        ];
        assert_eq!(about, wanted);
        let undone: Vec<_> = steps[2].undo.iter().map(Action::show).collect();
        let back = |name: &str| {
            format!("echo {{before.data.{name}.value}} > queue/{name} of {{device.data}}")
        };
        assert_eq!(undone, [back("scheduler"), back("nr_requests")]);
        assert!(steps[3].undo.is_empty(), "it is put back with the scheduler");
        assert_eq!(set_up(&[asked("nr_requests", "64")])[1].undo.len(), 1);
    }
}
