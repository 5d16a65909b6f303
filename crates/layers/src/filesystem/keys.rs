//! Settings that several file systems have.

use crate::key::Key;
use crate::key::Values::{Switch, Told};

pub(crate) const DISCARD: Key = Key {
    name: "discard",
    values: Switch(false),
    help: "Whether freed space is discarded at once (mount option discard).",
};

pub(crate) const MOUNT_OPTIONS: Key = Key {
    name: "mount_options",
    values: Told([
        "",
        "options of a mount, joined with commas, none of which names a device or a path",
        "\"noatime\"",
    ]),
    help: "Further options of the mount.",
};

/// Further options of the program that makes a file system, of which `example` is one.
pub(crate) const fn mkfs_options(example: &'static str) -> Key {
    Key {
        name: "mkfs_options",
        values: Told([
            "",
            "flags of the program that the layer's manual lists, each with its value, parted by blanks",
            example,
        ]),
        help: "Further options of the program that makes the file system.",
    }
}

/// The oldest kernel that is to mount what is made: it is the same over all kernels of a comparison, whose oldest it is where it is not
/// written.
pub const FORMAT: Key = Key {
    name: "format",
    values: Told(["", "the version of a kernel", "\"5.10\""]),
    help: "The oldest kernel that can mount it; where it is not written the oldest of the experiment, and else any that its program is for.",
};
