//! The facts about a lab in a result that was made in it.

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::supply::SupplyFacts;

/// The machine that a result was made in, and the times from its start to its first step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabFacts {
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// The reason for that one, in words.
    pub accelerator_reason: String,
    /// The first line of `qemu-system-x86_64 --version`.
    pub qemu_version: String,
    /// QEMU's whole argument list, its own name first.
    pub qemu_argv: Vec<String>,
    /// The guest kernel's release, as the guest says; empty until the guest is up.
    pub kernel: String,
    /// The guest kernel's command line.
    pub command_line: String,
    /// Tells whether that is the tuned one, whose switches change measured performance.
    pub tuned_command_line: bool,
    /// The virtual disks.
    pub disks: Vec<DiskFacts>,
    /// The guest's memory in bytes.
    pub memory: Bytes,
    /// The guest's processors.
    pub cpus: u32,
    /// The guest image's id (a hash of its content).
    pub image: String,
    /// The rate of the guest's clock against the host's, from `Up` to `Done`: 1 is right; `None` until the guest is done. Every duration and rate
    /// that was measured in the guest is wrong by this factor.
    #[serde(default)]
    pub guest_clock_rate: Option<f64>,
    /// The Debian packages the image was made of, as `name version`.
    pub packages: Vec<String>,
    /// The supplies that commands had in addition to the root.
    #[serde(default)]
    pub supplies: Vec<SupplyFacts>,
    /// The times until the first step.
    pub timings: Timings,
}

/// One virtual disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFacts {
    /// Its role in the experiment; also the disk's serial number in the guest.
    pub role: String,
    /// Its size as the guest sees it, in bytes.
    pub size: Bytes,
    /// QEMU's options for it: `cache=none,aio=io_uring,discard=unmap`.
    pub options: String,
    /// The reason for options other than the usual ones; `None` for the usual ones.
    pub note: Option<String>,
    /// The properties that it had to report about itself, and its limits.
    #[serde(default, skip_serializing_if = "::disk::Attributes::is_usual")]
    pub attributes: ::disk::Attributes,
    /// Its model; `None`: it was a file, as fast as the host.
    #[serde(default)]
    pub model: Option<ModelFacts>,
}

/// The model of a virtual disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The profile of the model, with other values for some parameters: `hdd, rpm 5400`.
    pub like: String,
    /// Every parameter of the model, as people read it.
    pub parameters: std::collections::BTreeMap<String, String>,
    /// Its faults, as they were asked for.
    pub faults: Vec<serde_json::Value>,
    /// The delays of its replies; `None` until its machine has ended.
    pub served: Option<::disk::front::ServingStats>,
    /// The reason why `served` is not known.
    pub note: Option<String>,
}

/// Milliseconds from [`crate::Vm::start`] (or, where given, from the command) to each moment; `None` when it never came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Time from the start of this process to [`crate::Vm::start`]: the command itself, image, accelerator.
    pub prepared_ms: Option<f64>,
    /// Time until QEMU ran: disks, initial memory file, fork.
    pub qemu_started_ms: Option<f64>,
    /// Time until process 1 of the guest said that it is up.
    pub up_ms: Option<f64>,
    /// The part of `up_ms` until process 1 of the guest began, as the guest's kernel counts.
    pub guest_kernel_ms: Option<f64>,
    /// The part of `up_ms` in which file systems were mounted and modules loaded, as the guest counts.
    pub guest_setup_ms: Option<f64>,
    /// Time until the session began its first step.
    pub first_step_ms: Option<f64>,
}
