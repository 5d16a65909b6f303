//! Settings that several file systems have.

use crate::key::Key;
use crate::key::Values::{Described, Switch};

pub(crate) const DISCARD: Key = Key {
    name: "discard",
    values: Switch(false),
    help: "Whether freed space is discarded at once (mount option discard).",
};

pub(crate) const MOUNT_OPTIONS: Key = Key {
    name: "mount_options",
    values: Described([
        "",
        "options of a mount, joined with commas; none may name a device or a path",
        "\"noatime\"",
    ]),
    help: "Further options of the mount.",
};

/// Further options of the program that makes a file system, with `example` as an example.
pub(crate) const fn mkfs_options(example: &'static str) -> Key {
    Key {
        name: "mkfs_options",
        values: Described([
            "",
            "flags of the program that the layer's manual lists, each with its value, separated by blanks",
            example,
        ]),
        help: "Further options of the program that makes the file system.",
    }
}

/// The oldest kernel that must be able to mount the file system, the same for all kernels of a comparison: the oldest of them, unless the
/// experiment says otherwise.
pub const FORMAT: Key = Key {
    name: "format",
    values: Described(["", "the version of a kernel", "\"5.10\""]),
    help: "The oldest kernel that must be able to mount it; by default the oldest that the experiment names; if it names none, the mkfs program keeps its own defaults.",
};
