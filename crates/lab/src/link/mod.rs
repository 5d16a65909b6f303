//! The link between host and guest: frames over a virtio-serial port.
//!
//! A frame is a kind, a length, and bytes that the lab does not read. Only the kind decides what happens.

mod frame;

pub use frame::{Frame, FrameKind};
pub(crate) use frame::{read_frame, write_frame};

/// The name of the virtio-serial port, as the guest sees it in `/sys/class/virtio-ports/*/name`.
pub(crate) const PORT: &str = "fathom.link";
