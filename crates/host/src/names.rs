//! Placeholders in braces and what they are bound to.

use std::collections::BTreeMap;

use layers::probe::{NamedDevice, PlacedDevice, Source};
use layers::step::Action;

use crate::StepError;

/// Names that were bound, with their values.
pub(crate) type Names = BTreeMap<String, String>;

/// `text` with every `{name}` replaced; fails on a name that is not bound. A brace without a name is kept.
pub(crate) fn resolve(names: &Names, text: &str) -> Result<String, StepError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, tail) = rest.split_at(open);
        out.push_str(before);
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let name = tail[1..].split_once('}').map(|(name, _)| name);
        match name.filter(|name| !name.is_empty() && name.chars().all(plain)) {
            Some(name) => {
                let unbound =
                    || StepError::Unbound { text: text.to_owned(), name: name.to_owned() };
                out.push_str(names.get(name).ok_or_else(unbound)?);
                rest = &tail[name.len() + 2..];
            }
            None => {
                out.push('{');
                rest = &tail[1..];
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// `source` with every placeholder replaced.
pub(crate) fn resolve_source(names: &Names, source: &Source) -> Result<Source, StepError> {
    let text = |text: &str| resolve(names, text);
    Ok(match source {
        Source::DmMessage { node, message } => {
            Source::DmMessage { node: text(node)?, message: text(message)? }
        }
        Source::DmStatus { node } => Source::DmStatus { node: text(node)? },
        Source::DmTable { node } => Source::DmTable { node: text(node)? },
        Source::Command { argv } => {
            Source::Command { argv: argv.iter().map(|word| text(word)).collect::<Result<_, _>>()? }
        }
        Source::Space { path } => Source::Space { path: text(path)? },
        Source::Directory { path } => Source::Directory { path: text(path)? },
        Source::Trace { instance, event } => {
            Source::Trace { instance: text(instance)?, event: event.clone() }
        }
        Source::WriteRuns { instance } => Source::WriteRuns { instance: text(instance)? },
        Source::Latency { instance, devices } => {
            let placed = devices.iter().map(|device| {
                Ok::<_, StepError>(PlacedDevice { path: text(&device.path)?, ..device.clone() })
            });
            Source::Latency {
                instance: text(instance)?,
                devices: placed.collect::<Result<_, _>>()?,
            }
        }
        Source::FileSystem { filesystem, device, attribute } => Source::FileSystem {
            filesystem: filesystem.clone(),
            device: text(device)?,
            attribute: attribute.clone(),
        },
        Source::Environment { setting, device } => Source::Environment {
            setting: setting.clone(),
            device: device.as_deref().map(text).transpose()?,
        },
        Source::Queue { device, attribute } => {
            Source::Queue { device: text(device)?, attribute: attribute.clone() }
        }
        Source::Holders { device } => Source::Holders { device: text(device)? },
        Source::File { path } => Source::File { path: text(path)? },
        Source::Threads { prefix } => Source::Threads { prefix: text(prefix)? },
        Source::Diskstats { devices } => {
            let resolved = devices
                .iter()
                .map(|d| Ok(NamedDevice { name: d.name.clone(), path: text(&d.path)? }))
                .collect::<Result<_, StepError>>()?;
            Source::Diskstats { devices: resolved }
        }
    })
}

/// An action of teardown with every placeholder replaced.
pub(crate) fn resolve_action(names: &Names, action: &Action) -> Result<Action, StepError> {
    let text = |text: &String| resolve(names, text);
    let some = |some: &Option<String>| some.as_ref().map(text).transpose();
    let all = |all: &[String]| all.iter().map(text).collect::<Result<_, _>>();
    Ok(match action {
        Action::Command { argv, removes } => {
            Action::Command { argv: all(argv)?, removes: some(removes)? }
        }
        Action::Wipe { device, mark } => Action::Wipe { device: text(device)?, mark: mark.clone() },
        Action::Write { path, value, reads, may_be_gone } => Action::Write {
            path: text(path)?,
            value: text(value)?,
            reads: some(reads)?,
            may_be_gone: *may_be_gone,
        },
        Action::Set { setting, device, value } => {
            Action::Set { setting: setting.clone(), device: some(device)?, value: text(value)? }
        }
        Action::Unmount { directory, device } => {
            Action::Unmount { directory: text(directory)?, device: some(device)? }
        }
        Action::Wait { source, parser, until, every_ms } => Action::Wait {
            source: resolve_source(names, source)?,
            parser: parser.clone(),
            until: until.clone(),
            every_ms: *every_ms,
        },
        // They name all that they are about themselves.
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_replaced_and_an_unknown_one_is_an_error() {
        let names =
            Names::from([("device.data".into(), "/dev/x".into()), ("v.i".into(), "3".into())]);
        assert_eq!(resolve(&names, "a{device.data}b{v.i}:").unwrap(), "a/dev/xb3:");
        assert_eq!(resolve(&names, "no names").unwrap(), "no names");
        assert_eq!(resolve(&names, "{ not a name } {").unwrap(), "{ not a name } {");
        let error = resolve(&names, "vdo{w.i}:").unwrap_err().to_string();
        assert!(error.contains("{w.i}"), "{error}");
    }
}
