//! The open targets of a load, as backends see them.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

use crate::error::{EngineError, Kind};

/// One open target.
#[derive(Debug)]
pub(crate) struct TargetFile {
    pub file: File,
    /// A block device, not a file.
    pub block: bool,
}

/// The open targets of a load, in its order.
#[derive(Debug)]
pub(crate) struct Files(Vec<TargetFile>);

impl Files {
    pub(crate) fn new(files: Vec<TargetFile>) -> Self {
        Self(files)
    }

    /// The same targets for another worker.
    pub(crate) fn try_clone(&self) -> Result<Self, EngineError> {
        let clone = |f: &TargetFile| Ok(TargetFile { file: f.file.try_clone()?, block: f.block });
        self.0.iter().map(clone).collect::<std::io::Result<_>>().map(Self).map_err(|e| {
            let help = "raise the limit of open files (ulimit -n)";
            EngineError::new(Kind::Environment, "The target cannot be opened again", help)
                .because(e)
        })
    }

    #[inline]
    pub(crate) fn fd(&self, target: u16) -> RawFd {
        self.0[usize::from(target)].file.as_raw_fd()
    }

    #[inline]
    pub(crate) fn is_block(&self, target: u16) -> bool {
        self.0[usize::from(target)].block
    }

    #[cfg(test)]
    pub(crate) fn file(&self, target: u16) -> &File {
        &self.0[usize::from(target)].file
    }

    pub(crate) fn fds(&self) -> Vec<RawFd> {
        self.0.iter().map(|f| f.file.as_raw_fd()).collect()
    }
}
