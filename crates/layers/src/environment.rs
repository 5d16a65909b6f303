//! Settings of the kernel around a stack, as data: the name of each in an experiment, its place on a machine, its values.
//! A setting belongs to the whole machine, or to the queue of one device.

use serde::{Deserialize, Serialize};

mod list;
mod setting;

pub use list::SETTINGS;
pub use setting::{EnvironmentSetting, SettingPlace, SettingValues};

/// The table of an experiment for settings of the whole machine, and the part that stands for them in names of facts.
pub const ENVIRONMENT: &str = "environment";

/// A value that an experiment asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedSetting {
    /// Name of the setting.
    pub setting: String,
    /// Role of the device that it belongs to; `None`: it belongs to the whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The value.
    pub value: String,
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
