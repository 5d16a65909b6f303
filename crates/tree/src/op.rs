//! Operations on a tree, by name.

/// An operation on a file tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TreeOp {
    /// Makes a file that must not be there, and writes it.
    Create,
    /// Reads a file from its start.
    Read,
    /// Reads a file at random.
    Randread,
    /// Writes a file from its start, and beyond its end if it is shorter.
    Write,
    /// Writes a file at random, never beyond its end.
    Randwrite,
    /// Writes at the end of a file.
    Append,
    /// Cuts a file to a random part of its size.
    Truncate,
    /// Removes a file, and the links that were made beside its name.
    Delete,
    /// Gives a file another name, replacing a file that has that name.
    Rename,
    /// Makes a soft link to a file, beside another name.
    Softlink,
    /// Makes a hard link to a file, beside another name.
    Hardlink,
    /// Makes a directory with a separate name.
    Mkdir,
    /// Removes such a directory.
    Rmdir,
    /// Reads the directory that a name is in.
    Readdir,
    /// Asks for the metadata of a file.
    Stat,
    /// Makes a file durable.
    Fsync,
    /// Makes the data of a file durable.
    Fdatasync,
    /// Reserves space beyond the end of a file, which grows by that amount.
    Fallocate,
    /// Punches a hole into a file.
    Punch,
    /// Makes a new file that shares all blocks of another one.
    Reflink,
    /// Makes a new file and has the kernel copy another one into it.
    CopyFileRange,
}

/// The operations in words.
const ALL_NAMES: &str = "create, read, randread, write, randwrite, append, truncate, delete, rename, softlink, hardlink, mkdir, rmdir, readdir, \
     stat, fsync, fdatasync, fallocate, punch, reflink or copy_file_range";

impl TreeOp {
    /// All operations.
    pub const ALL: [Self; 21] = [
        Self::Create,
        Self::Read,
        Self::Randread,
        Self::Write,
        Self::Randwrite,
        Self::Append,
        Self::Truncate,
        Self::Delete,
        Self::Rename,
        Self::Softlink,
        Self::Hardlink,
        Self::Mkdir,
        Self::Rmdir,
        Self::Readdir,
        Self::Stat,
        Self::Fsync,
        Self::Fdatasync,
        Self::Fallocate,
        Self::Punch,
        Self::Reflink,
        Self::CopyFileRange,
    ];

    /// The name in files, flags and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Randread => "randread",
            Self::Write => "write",
            Self::Randwrite => "randwrite",
            Self::Append => "append",
            Self::Truncate => "truncate",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Softlink => "softlink",
            Self::Hardlink => "hardlink",
            Self::Mkdir => "mkdir",
            Self::Rmdir => "rmdir",
            Self::Readdir => "readdir",
            Self::Stat => "stat",
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::Fallocate => "fallocate",
            Self::Punch => "punch",
            Self::Reflink => "reflink",
            Self::CopyFileRange => "copy_file_range",
        }
    }

    /// Tells whether it works on two names.
    pub const fn has_second(self) -> bool {
        self.copies() || matches!(self, Self::Rename | Self::Softlink | Self::Hardlink)
    }

    /// Tells whether it makes a copy of a file.
    pub const fn copies(self) -> bool {
        matches!(self, Self::Reflink | Self::CopyFileRange)
    }

    /// Tells whether it writes data, so that the file may be made durable after it, at random.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Write | Self::Randwrite | Self::Append)
    }

    /// Tells whether its requests go to random places of the file.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite)
    }
}

impl std::fmt::Display for TreeOp {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for TreeOp {
    type Err = units::QuantityError;

    /// Reads a name; the names of fs-drift are accepted, too.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = match text.trim() {
            "random_read" => "randread",
            "random_write" => "randwrite",
            // In the fork of fs-drift that came with the thesis.
            "link" => "softlink",
            name => name,
        };
        let found = Self::ALL.into_iter().find(|op| op.name() == name);
        found.ok_or_else(|| units::QuantityError {
            text: text.to_owned(),
            what: "operation on a tree",
            example: match name {
                "remount" => "an operation on files: a remount is an action of the layer",
                "random_discard" => "an operation on files: a load of a device has randdiscard",
                _ => ALL_NAMES,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_those_of_fs_drift_are_known() {
        for op in TreeOp::ALL {
            assert_eq!(op.to_string().parse(), Ok(op));
            assert!(ALL_NAMES.contains(op.name()), "{op}");
        }
        assert_eq!("random_read".parse(), Ok(TreeOp::Randread));
        assert_eq!(" random_write ".parse(), Ok(TreeOp::Randwrite));
        assert_eq!("link".parse(), Ok(TreeOp::Softlink));
        let error = |text: &str| text.parse::<TreeOp>().unwrap_err().to_string();
        assert!(error("remount").contains("action of the layer"));
        assert!(error("random_discard").contains("randdiscard"));
        assert!(error("chmod").contains("copy_file_range"));
    }
}
