//! The check of a machine's description: whether it can be started as described.

use std::time::Duration;

use crate::disk::check_all;
use crate::needs::LEAST_MEMORY;
use crate::spec::VmSpec;
use crate::{Error, Result};

impl VmSpec {
    /// Checks before anything is started that the machine is possible, that its disks make sense, and that there is room for what will be written.
    pub fn check(&self) -> Result<()> {
        let bad = |what: String, help: String| Error::BadSpec { what, help };
        if self.memory < LEAST_MEMORY {
            return Err(bad(
                format!("{} of memory are too little for a guest", self.memory),
                format!("give it at least {LEAST_MEMORY}"),
            ));
        }
        if self.cpus == 0 {
            let what = "a guest cannot have 0 processors".into();
            return Err(bad(what, "give it at least one".into()));
        }
        if self.deadline < Duration::from_secs(1) {
            let what = "a guest's deadline cannot be below one second".into();
            return Err(bad(what, "give it more time".into()));
        }
        check_all(self).map(|_| ())
    }
}
