//! The one room that touches the machine: claims and safety, executing steps and their undo with a transcript, probes
//! at a cadence, facts and abilities of the machine. It knows no layer by name: what it does is data from `layers`.
#![forbid(unsafe_code)]

mod apart;
mod backing;
mod capabilities;
mod child;
mod claim;
mod error;
mod executor;
mod facts;
mod held;
mod identity;
mod leftovers;
mod lines;
mod machine;
mod measured;
mod mounts;
mod names;
mod needs;
mod node;
mod opened;
mod others;
mod outputs;
mod packages;
mod process;
mod run_lock;
mod samplers;
mod signatures;
mod simulated;
mod sources;
mod standing;
mod trace;
mod usage;

pub use apart::{Overlap, apart};
pub use backing::BackingChain;
pub use capabilities::{Capability, CapabilityState, capabilities};
pub use child::CommandOutput;
pub use claim::{Claim, ClaimError, ClaimKind, TargetPermit, claim, claim_target};
pub use error::StepError;
pub use executor::{Executor, ExecutorState, Place};
pub use facts::facts;
pub use leftovers::Removal;
pub use lines::{LONGEST_LINE, Listener, PrintedLine, Stream};
pub use machine::{Machine, RealMachine};
pub use measured::{CommandOutcome, MeasuredCommand};
pub use needs::missing;
pub use node::ClaimedDevice;
pub use others::{Meter, Others};
pub use packages::install;
pub use run_lock::{RunLock, RunLockError};
pub use samplers::{Samplers, TickedSamplers};
pub use simulated::{PlacedTwin, SimulatedMachine};
pub use sources::{Reader, SourceReader};
pub use standing::{PathError, TargetPresence, standing};
