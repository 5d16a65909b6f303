//! Steps that set the environment of a cell, and restore it.

use crate::environment::{AskedSetting, ENVIRONMENT, EnvironmentSetting, SETTINGS, setting};
use crate::probe::Source;
use crate::step::{Action, Step};

/// Time limit of setting a value, seconds.
const DEADLINE_S: u64 = 30;

/// Returns the steps that give a machine the settings asked for. First all present values are read, so that they are known before anything is
/// written; then each value is set, in the order of [`SETTINGS`].
pub fn set_up(wanted: &[AskedSetting]) -> Vec<Step> {
    let mut known: Vec<_> =
        wanted.iter().filter_map(|wanted| Some((setting(&wanted.setting)?, wanted))).collect();
    let place = |wanted: &EnvironmentSetting| {
        SETTINGS.iter().position(|setting| setting.key.name == wanted.key.name)
    };
    known.sort_by_key(|(setting, wanted)| (place(setting), wanted.role.clone()));
    let mut touched: Vec<(&str, Option<&str>)> = Vec::new();
    for (setting, wanted) in &known {
        for name in std::iter::once(setting.key.name).chain(setting.resets.iter().copied()) {
            let one = (name, wanted.role.as_deref());
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
        known.iter().any(|(by, wanted)| by.resets.contains(&name) && wanted.role == *role)
    };
    let sets = known.iter().map(|(setting, wanted)| {
        let (name, role) = (setting.key.name, wanted.role.as_deref());
        let set = |name: &str, value: String| Action::Set {
            setting: name.to_owned(),
            device: device(role),
            value,
        };
        let back = |name: &str| set(name, format!("{{{}.value}}", before(name, role)));
        let put_back = (!covered(name, &wanted.role)).then(|| back(name));
        Step {
            about: format!("set {name} of {}", role.unwrap_or("the machine")),
            action: set(name, wanted.value.clone()),
            undo: put_back
                .into_iter()
                .chain(setting.resets.iter().map(|name| back(name)))
                .collect(),
            deadline_s: DEADLINE_S,
        }
    });
    reads.chain(sets).collect()
}

fn device(role: Option<&str>) -> Option<String> {
    role.map(|role| format!("{{device.{role}}}"))
}

/// Returns the name under which the previous value is bound.
fn before(name: &str, role: Option<&str>) -> String {
    format!("before.{}.{name}", role.unwrap_or(ENVIRONMENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_data(setting: &str, value: &str) -> AskedSetting {
        let role = Some("data".to_owned());
        AskedSetting { setting: setting.into(), role, value: value.into() }
    }

    #[test]
    fn all_that_holds_is_read_first_and_what_a_scheduler_resets_is_put_back_after_it() {
        let steps = set_up(&[of_data("nr_requests", "64"), of_data("scheduler", "bfq")]);
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
        assert_eq!(set_up(&[of_data("nr_requests", "64")])[1].undo.len(), 1);
    }
}
