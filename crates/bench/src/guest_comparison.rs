//! A comparison that one machine has another one make: its description is sent there, and the outcome comes back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::BenchError;
use crate::case::cases_named;
use crate::contest::Programs;
use crate::fathom_contestant::Fathom;
use crate::fio::Fio;
use crate::suite::{Pace, Suite};
use crate::target::Target;

/// Path of null_blk's device once its module is loaded.
const NULL_BLOCK: &str = "/dev/nullb0";
/// The target that needs no stack: its name, which is also that of the module that makes it.
pub const NULL: &str = "null_blk";
/// The package and the program that Fathom is compared with.
pub const PEER: &str = "fio";
/// Memory for the peer and its libraries, in addition to what layers take.
pub const MEMORY: Bytes = Bytes(512 * Bytes::MIB);
/// Time after which a machine that compares is taken to hang.
pub const DEADLINE: Duration = Duration::from_secs(3600);
/// Bytes of the target that are used.
const SIZE: u64 = 256 << 20;

/// The comparison to be made on a stack that is up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestComparison {
    /// Name of the target in tables; [`NULL`] for the null block device.
    pub layer: String,
    /// Lengths and number of the runs.
    pub pace: Pace,
    /// Only these depths; empty: all.
    pub depths: Vec<u32>,
    /// Only cases whose name holds this.
    pub case: Option<String>,
    /// Tells whether every run is reported.
    pub verbose: bool,
}

impl GuestComparison {
    /// The comparison of this program with this machine's fio on `top`, the top of the stack.
    pub fn suite(&self, top: &str) -> Result<Suite, BenchError> {
        let path = if self.layer == NULL { NULL_BLOCK } else { top };
        let target = Target::lent(&self.layer, path, SIZE);
        let targets = vec![target];
        let cases = cases_named(&targets, true, &self.depths, self.case.as_deref());
        Ok(Suite {
            programs: Programs { fathom: Fathom::this_program()?, fio: Fio::find(None)? },
            targets,
            cases,
            pace: self.pace,
            backends: Vec::new(),
            left_out: Vec::new(),
        })
    }
}
