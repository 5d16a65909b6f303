//! Settings of the environment on this machine: read, set and read back, and checked against the values that the machine accepts.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use layers::environment::{EnvironmentSetting, SettingPlace, SettingValues, setting};
use sys::interrupt::Interrupt;

use crate::modules::module;

/// Longest time for a program that sets a value.
const DEADLINE: Duration = Duration::from_secs(20);

/// Returns the current value; `of` is the directory of the device in sysfs. For a partition it is the value of its disk.
///
/// # Errors
/// When this machine has no such setting, or it cannot be read.
pub(crate) fn read(name: &str, of: Option<&Path>) -> io::Result<String> {
    let setting = known(name)?;
    if let SettingPlace::Program { file, .. } = setting.place {
        // Before the value is first set, the file does not exist.
        return Ok(std::fs::read_to_string(file).unwrap_or_default().trim().to_owned());
    }
    let files = files(setting, of).or_else(|error| {
        let disk = of.map(|of| of.join("..")).ok_or(error)?;
        files(setting, Some(&disk))
    })?;
    let values: BTreeSet<String> =
        files.iter().map(|file| Ok(chosen(&contents(file)?))).collect::<io::Result<_>>()?;
    Ok(values.into_iter().collect::<Vec<_>>().join(", "))
}

/// Sets a value and reads it back.
///
/// # Errors
/// When it cannot be set, or has another value afterwards; the error names the file and the values that it accepts.
pub(crate) fn set(name: &str, of: Option<&Path>, value: &str) -> io::Result<()> {
    let setting = known(name)?;
    if let SettingPlace::Program { file, set, unset, .. } = setting.place {
        let command = if value.is_empty() { unset } else { set };
        run(command, value)?;
        let now = read(name, of)?;
        let wrong = || refusal(setting, Path::new(file), &format!("says '{now}' after"), value);
        return if now == value { Ok(()) } else { Err(wrong()) };
    }
    for file in files(setting, of)? {
        std::fs::write(&file, value)
            .map_err(|error| refusal(setting, &file, &format!("refuses ({error})"), value))?;
        let now = chosen(&contents(&file)?);
        if now != value {
            return Err(refusal(setting, &file, &format!("says '{now}' after"), value));
        }
    }
    Ok(())
}

/// Returns the reason why this machine, or `device`, does not accept a value; `None` if it does, as far as can be known without setting it.
pub fn refused(name: &str, device: Option<&Path>, value: &str) -> Option<String> {
    let cannot = |error: &io::Error| format!("{name} cannot be set here: {error}");
    let setting = match known(name) {
        Ok(setting) => setting,
        Err(error) => return Some(cannot(&error)),
    };
    if let SettingPlace::Program { works, known, .. } = setting.place {
        let is_known = known.iter().any(|directory| Path::new(directory).join(value).is_dir());
        let unknown = || {
            format!(
                "{name} cannot be '{value}': there is no such directory in {}",
                known.join(", ")
            )
        };
        return match run(works, "") {
            Err(error) => Some(cannot(&error)),
            Ok(()) => (!is_known).then(unknown),
        };
    }
    let looked = (|| {
        let number = device.map(sys::block::number).transpose()?.flatten();
        let of = number.map(sys::block::sysfs);
        if let Some(device) = device.filter(|_| of.as_ref().is_some_and(|of| is_part(of))) {
            let why = format!(
                "{} is a partition, and others use the queue of its disk",
                device.display()
            );
            return Err(io::Error::other(why));
        }
        let files = files(setting, of.as_deref())?;
        let values: BTreeSet<String> =
            files.iter().map(|file| contents(file)).collect::<io::Result<_>>()?;
        // Values that differ could not be restored.
        if values.len() > 1 {
            let values = values.iter().map(|value| value.trim()).collect::<Vec<_>>().join(", ");
            return Err(io::Error::other(format!("{} differ ({values})", setting.show(None))));
        }
        Ok(files)
    })();
    match looked {
        Err(error) => Some(cannot(&error)),
        Ok(files) => files.iter().find(|file| !may_be(setting, file, value)).map(|file| {
            let file = shown(file);
            format!("{name} cannot be '{value}': {file} takes {}", allowed(setting, &file))
        }),
    }
}

fn known(name: &str) -> io::Result<&'static EnvironmentSetting> {
    setting(name).ok_or_else(|| io::Error::other(format!("there is no setting '{name}'")))
}

/// The files that hold the value.
fn files(setting: &EnvironmentSetting, of: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let absent = |path: &Path| {
        io::Error::new(io::ErrorKind::NotFound, format!("there is no {}", path.display()))
    };
    match setting.place {
        SettingPlace::Queue(attribute) => {
            let of =
                of.ok_or_else(|| io::Error::other("it belongs to a device, and none is named"))?;
            let file = of.join("queue").join(attribute);
            if file.exists() { Ok(vec![file]) } else { Err(absent(&file)) }
        }
        SettingPlace::Each { directory, prefix, file } => {
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            let matching = entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix));
            let mut files: Vec<_> = matching.map(|entry| entry.path().join(file)).collect();
            files.retain(|file| file.exists());
            files.sort();
            let none = || absent(&Path::new(directory).join(format!("{prefix}*")).join(file));
            if files.is_empty() { Err(none()) } else { Ok(files) }
        }
        SettingPlace::Program { file, .. } => Ok(vec![PathBuf::from(file)]),
    }
}

fn contents(file: &Path) -> io::Result<String> {
    std::fs::read_to_string(file)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

/// Tells whether the directory of a device in sysfs is that of a partition.
fn is_part(of: &Path) -> bool {
    of.join("partition").exists()
}

/// The file under the name that people know.
fn shown(file: &Path) -> String {
    file.canonicalize().unwrap_or_else(|_| file.to_owned()).display().to_string()
}

/// Text of the file that lists the accepted values.
fn list(setting: &EnvironmentSetting, file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file.with_file_name(setting.listed?)).ok()?;
    Some(text.replace(['[', ']'], "").trim().to_owned())
}

/// Tells whether the file may accept a value, as far as its list tells.
fn may_be(setting: &EnvironmentSetting, file: &Path, value: &str) -> bool {
    let Some(list) = list(setting, file) else { return true };
    match setting.values {
        // A value that a module provides is listed once the module is loaded, which the kernel does when the value is set.
        SettingValues::Plain => {
            list.split_whitespace().any(|word| word == value)
                || setting.modules.iter().any(|(brought, name)| *brought == value && module(name))
        }
        SettingValues::Among(_) => true,
        SettingValues::Whole { .. } => {
            let (most, value): (Option<u64>, Option<u64>) = (list.parse().ok(), value.parse().ok());
            most.zip(value).is_none_or(|(most, value)| value <= most)
        }
    }
}

/// The values that a file accepts, in words.
fn allowed(setting: &EnvironmentSetting, file: impl AsRef<Path>) -> String {
    match (setting.values, list(setting, file.as_ref())) {
        (SettingValues::Plain, Some(words)) => format!("one of: {words}"),
        (SettingValues::Whole { .. }, Some(most)) => {
            format!("{}, at most {most}", setting.key.takes)
        }
        _ => setting.key.takes.to_owned(),
    }
}

fn refusal(setting: &EnvironmentSetting, file: &Path, what: &str, value: &str) -> io::Error {
    let file = shown(file);
    let took = if what.starts_with("says") { " was written" } else { "" };
    let takes = allowed(setting, &file);
    io::Error::other(format!("{file} {what} '{value}'{took}; it takes {takes}"))
}

/// The current value: where the kernel lists several, the one in brackets.
fn chosen(text: &str) -> String {
    let held = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    held.map_or(text.trim(), |(held, _)| held).to_owned()
}

/// Runs a command with the words of a value.
fn run(command: &[&str], value: &str) -> io::Result<()> {
    let words = command.iter().copied().chain(value.split_whitespace());
    let argv: Vec<_> = words.map(str::to_owned).collect();
    let command = argv.join(" ");
    let output = crate::child::run(&argv, DEADLINE, &Interrupt::new())
        .map_err(|error| io::Error::new(error.kind(), format!("{command}: {error}")))?;
    match output.code {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(format!(
            "{command}: {}{}",
            output.stdout.trim(),
            output.stderr.trim()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_list_the_value_in_brackets_holds() {
        assert_eq!(chosen("none [mq-deadline] kyber\n"), "mq-deadline");
        assert_eq!(chosen("[none]\n"), "none");
        assert_eq!(chosen("256\n"), "256");
        assert_eq!(chosen("write back\n"), "write back");
    }

    #[test]
    fn what_a_file_says_that_it_takes_is_held_against_a_value_before_it_is_set() {
        let dir = tempfile::tempdir().unwrap();
        let queue = dir.path().join("queue");
        std::fs::create_dir(&queue).unwrap();
        let write = |name: &str, text: &str| std::fs::write(queue.join(name), text).unwrap();
        write("scheduler", "[none] mq-deadline\n");
        write("max_sectors_kb", "1280\n");
        write("max_hw_sectors_kb", "1280\n");
        for (name, value, fits) in [
            ("scheduler", "none", true),
            ("scheduler", "mq-deadline", true),
            ("scheduler", "cfq", false),
            ("max_sectors_kb", "1280", true),
            ("max_sectors_kb", "1281", false),
        ] {
            let setting = setting(name).unwrap();
            assert_eq!(may_be(setting, &queue.join(name), value), fits, "{name} {value}");
        }
        let takes = allowed(setting("scheduler").unwrap(), queue.join("scheduler"));
        assert_eq!(takes, "one of: none mq-deadline");
    }

    #[test]
    fn what_is_not_on_this_machine_is_said_with_its_file() {
        let error = read("scheduler", Some(Path::new("/sys/none"))).unwrap_err().to_string();
        assert!(error.contains("/sys/none/../queue/scheduler"), "{error}");
        let error = read("colour", None).unwrap_err().to_string();
        assert!(error.contains("no setting 'colour'"), "{error}");
    }
}
