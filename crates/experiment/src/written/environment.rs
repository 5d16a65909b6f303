//! `[environment]`, and settings of the queue of a device: values of the kernel around a stack, which `layers::environment` lists.

use std::collections::BTreeMap;

use layers::environment::{AskedSetting, ENVIRONMENT, EnvironmentSetting, SETTINGS, SettingPlace};
use toml::{Spanned, Value};
use units::{Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use plan::{Machine, Needs};

/// `[environment]`.
pub(crate) const KEY: Key = key(ENVIRONMENT, "a table", "{ cpu_governor = \"performance\" }");

/// Reads the environment of a variant.
pub(crate) fn read(table: &Table) -> Result<Vec<AskedSetting>, Diagnostic> {
    let mut table = table.clone();
    let settings = take(&mut table, None)?;
    table.finish()?;
    Ok(settings)
}

/// Takes the settings of the machine out of a table, or those of the device of a role.
pub(crate) fn take(table: &mut Table, role: Option<&str>) -> Result<Vec<AskedSetting>, Diagnostic> {
    let mut settings = Vec::new();
    for known in SETTINGS.iter().filter(|known| known.is_of_device() == role.is_some()) {
        let Some(value) = table.take::<Value>(&known.key)? else { continue };
        let (setting, role) = (known.key.name.to_owned(), role.map(str::to_owned));
        settings.push(AskedSetting { setting, role, value: valid(known, &value)? });
    }
    Ok(settings)
}

/// The value in the form that the machine reads.
fn valid(setting: &EnvironmentSetting, value: &Spanned<Value>) -> Result<String, Diagnostic> {
    let text = match value.get_ref() {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if setting.takes(&text) {
        return Ok(text);
    }
    let message = format!("{} cannot be '{text}'", setting.key.name);
    Err(Diagnostic::of_key(value.span(), message, &setting.key))
}

/// Returns what a machine must have to take these settings.
pub(crate) fn needs(settings: &[AskedSetting]) -> Needs {
    let mut needs = Needs::default();
    for wanted in settings {
        let Some(setting) = layers::environment::setting(&wanted.setting) else { continue };
        let brought = setting.modules.iter().filter(|(value, _)| *value == wanted.value);
        // Modules are optional here: a kernel that has the feature built in has no module of it.
        needs.faster.extend(brought.map(|(_, module)| (*module).to_owned()));
        if let SettingPlace::Program { set, package, .. } = setting.place {
            needs.tools.extend(set.first().map(|program| (*program).to_owned()));
            needs.packages.push(package.to_owned());
        }
    }
    needs
}

/// Returns the settings of a variant's machine and of its environment, by key.
pub(crate) fn of_machine(machine: &Machine, settings: &[AskedSetting]) -> BTreeMap<String, String> {
    let of_environment = settings.iter().filter(|wanted| wanted.role.is_none());
    let of_environment =
        of_environment.map(|wanted| (wanted.setting.clone(), wanted.value.clone()));
    machine.shown().into_iter().chain(of_environment).collect()
}
