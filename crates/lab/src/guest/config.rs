//! Messages between host and guest when the guest comes up.

use serde::{Deserialize, Serialize};

use crate::spec::Purpose;
use crate::supply::Mount;

/// Path of the host's order to the guest, in the guest's root.
pub(crate) const ORDER: &str = "lab/order.json";
/// Path of the session's opaque bytes, in the guest's root.
pub(crate) const MISSION: &str = "lab/mission";
/// Set in the environment of the session by process 1: nanoseconds of the monotonic clock when process 1 began.
pub(super) const BEGAN: &str = "FATHOM_GUEST_BEGAN";

/// The configuration of a guest, which the host passes to process 1 and the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GuestConfig {
    /// The purpose of the machine.
    pub(crate) purpose: Purpose,
    /// Roles of the disks to wait for.
    pub(crate) roles: Vec<String>,
    /// Roles of the disks that the guest sets to rotational or not, since virtio cannot report it.
    pub(crate) rotational: Vec<(String, bool)>,
    /// Supplies that are mounted before the session starts.
    pub(crate) supplies: Vec<Mount>,
    /// Rows and columns of the host's terminal.
    pub(crate) terminal: (u16, u16),
}

/// The guest's message when it is up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Up {
    /// The kernel's release.
    pub(crate) kernel: String,
    /// Milliseconds of the guest's clock when process 1 began.
    pub(crate) kernel_ms: f64,
    /// Milliseconds from then to the moment this is sent.
    pub(crate) setup_ms: f64,
    /// Nanoseconds of the guest's monotonic clock when this is sent.
    pub(crate) clock_ns: u64,
}
