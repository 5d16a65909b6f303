//! The reasons that an estimate cannot be made at all. Troubles that only make it incomplete are counted in the answer.

use std::io;
use std::path::PathBuf;

/// An estimate that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path that was named cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A path that is neither a file, a directory nor a block device.
    #[error("{} is neither a file, a directory nor a block device", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
    },
    /// File systems that the kernel makes as they are read.
    #[error("{} is on {kind}, which holds no stored data: the kernel makes it as it is read", path.display())]
    Kernel {
        /// The path.
        path: PathBuf,
        /// The type of the file system.
        kind: String,
    },
    /// An image that cannot be read as its format says.
    #[error("{}: {what}", path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// The fault in it.
        what: String,
        /// The remedy.
        help: String,
    },
    /// The file that an image rests on is not there.
    #[error("{}: its backing file {} cannot be read", path.display(), backing.display())]
    Backing {
        /// The image.
        path: PathBuf,
        /// The backing file.
        backing: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Sizes that no volume can have.
    #[error("{what}")]
    Size {
        /// The fault.
        what: String,
    },
    /// The kernel gives no thread.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

impl Error {
    /// Returns what to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run it as a user who may read it: devices belong to root and the group disk".into()
            }
            Self::Unreadable { .. } => {
                "name files, directories, block devices, images, or - for standard input".into()
            }
            Self::Kind { .. } => "pipe it in: fathom estimate - < FILE".into(),
            Self::Kernel { .. } => "name a directory that holds data".into(),
            Self::Image { help, .. } => help.clone(),
            Self::Backing { .. } => {
                "put the backing file back, or name it with qemu-img rebase -u -b FILE IMAGE".into()
            }
            Self::Size { .. } => {
                "VDO takes at most 256 TiB of physical and 4 PiB of logical size".into()
            }
            Self::Thread(_) => "see ulimit -u".into(),
        }
    }

    /// Tells whether the request is wrong, and not the environment.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Kind { .. } | Self::Kernel { .. } | Self::Size { .. })
            || matches!(self, Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
