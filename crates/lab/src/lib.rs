//! The disposable virtual machine: guest image, kernel, disks, QEMU, both ends of the link.
//!
//! The lab knows no experiment and no result: it is given needs as names, carries opaque payload, and reads only the
//! kind of a frame. The same static program is the host's half and, as process 1, the guest's.
//!
//! ```no_run
//! use std::time::Duration;
//! use lab::{
//!     Accelerator, AcceleratorChoice, Cache, FrameKind, GuestSession, Image, ImageNeeds, ImageSpec, Received, Vm, VmSpec,
//! };
//! use units::Bytes;
//!
//! fn main() -> std::process::ExitCode {
//!     if lab::guest::is_guest() {
//!         // First of all: in the guest this program is process 1 and the session.
//!         return lab::guest::main(|session: &mut GuestSession, mission: &[u8]| {
//!             session.first_step()?;
//!             session.payload(mission)
//!         });
//!     }
//!     on_the_host().map_or(std::process::ExitCode::FAILURE, |()| std::process::ExitCode::SUCCESS)
//! }
//!
//! fn on_the_host() -> lab::Result<()> {
//!     let cache = Cache::open()?;
//!     let needs = ImageNeeds::new(&["lvm2", "vdo"], &["dm-vdo"], &["lvm", "dmsetup", "vdoformat"]);
//!     let events = &mut |event| drop(event);
//!     let image = Image::ready(&cache, &ImageSpec::new(needs), events)?;
//!     let accelerator = Accelerator::choose(&cache, &image, AcceleratorChoice::Best, events)?;
//!     let mut spec = VmSpec::new(&cache, image, accelerator).with_disk("data", Bytes(8 << 30));
//!     spec.mission = b"the plan".to_vec();
//!     spec.will_write = Bytes(2 << 30);
//!     let mut vm = Vm::start(&spec)?;
//!     loop {
//!         match vm.recv(Duration::from_secs(1)) {
//!             Received::Frame(frame) if frame.kind == FrameKind::Payload => drop(frame.payload),
//!             Received::Frame(_) | Received::Nothing => {}
//!             Received::Ended(end) => {
//!                 drop((end.ending, end.console_tail, vm.facts(), vm.kernel_log()));
//!                 return Ok(());
//!             }
//!         }
//!     }
//! }
//! ```
#![forbid(unsafe_code)]

pub mod accel;
pub mod bench;
pub mod cache;
mod check;
mod contents;
mod disk;
mod end;
mod error;
mod event;
mod facts;
mod files;
pub mod guest;
pub mod image;
mod initrd;
mod link;
pub mod machines;
mod memory;
mod modelled;
mod needs;
mod probe;
mod qemu;
pub mod shell;
mod spec;
pub mod supply;
mod vm;
mod watchdog;

pub use accel::{Accelerator, AcceleratorChoice};
pub use cache::{Cache, HeldCorpus};
pub use disk::Disks;
pub use end::{End, Ending};
pub use error::{Error, Result};
pub use event::{Event, Events};
pub use facts::{DiskFacts, LabFacts, ModelFacts, Timings};
pub use guest::{GuestSession, Sender};
pub use image::{
    Image, ImageSpec, Kernel, KernelChoice, KernelPackage, Kernels, Manifest, OwnKernel, Package,
    is_downloaded,
};
pub use link::{Frame, FrameKind};
pub use memory::memory;
pub use modelled::Trace;
pub use needs::{ImageNeeds, LEAST_MEMORY};
pub use qemu::Qemu;
pub use spec::{Aio, CommandLine, Disk, DiskHome, ModelledDisk, Purpose, VmSpec};
pub use supply::{Supply, SupplyFacts, SupplySpec};
pub use vm::{Received, Vm};
