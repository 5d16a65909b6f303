//! Devices that carry things of a run, though the run did not begin on them.

use std::collections::BTreeMap;

use results::model::DeviceFacts;
use sys::identity::Identity;

/// Tells whether a device is shown to be, or to stand on, something that the run with this tag did not begin on: a copy of its disk, for example,
/// carries all that the run wrote. Nothing is shown where another version stored no identity, or where a device has no lasting one and the machine
/// was started again.
pub(super) fn is_stranger(
    devices: &BTreeMap<String, DeviceFacts>,
    now: &Identity,
    tag: &str,
) -> bool {
    if devices.is_empty() {
        return false;
    }
    let known: Option<Vec<_>> = devices.values().map(crate::resume::identity).collect();
    known.is_some_and(|known| stands_elsewhere(now, &known, tag))
}

fn stands_elsewhere(now: &Identity, known: &[Identity], tag: &str) -> bool {
    if known.iter().any(|device| !device.is_other(now)) {
        return false;
    }
    match now {
        Identity::Loop { on, .. } | Identity::Partition { on, .. } => {
            stands_elsewhere(on, known, tag)
        }
        Identity::Mapped { on, .. } => on.iter().any(|on| stands_elsewhere(on, known, tag)),
        // A file of the run lies in a file system of the run.
        Identity::File(file) => {
            let of_run = format!("{}/fathom_{tag}_", layers::MOUNTS);
            file.path.as_ref().is_some_and(|path| !path.starts_with(&of_run))
        }
        Identity::Disk(_) => true,
        Identity::Passing { .. } => false,
    }
}
