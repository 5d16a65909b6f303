//! Events of the lab's progress, handed up by closure; the program renders them.

use std::time::Duration;

use units::Bytes;

/// A piece of progress to show to a waiting person.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A guest image that fits is in the cache; nothing is built.
    ImageFound {
        /// The image's id.
        id: String,
    },
    /// Another process builds an image; this one waits for it.
    WaitingForBuild,
    /// Package lists are being fetched.
    FetchingLists {
        /// The Debian suite.
        suite: String,
    },
    /// Packages are being downloaded, or taken from the cache.
    FetchingPackages {
        /// Number of packages.
        packages: usize,
    },
    /// Packages are being unpacked.
    Unpacking {
        /// Number of packages.
        packages: usize,
    },
    /// The kernel, its modules and the tools are being put together.
    Assembling {
        /// The kernel's release.
        kernel: String,
    },
    /// A new image is in the cache.
    ImageBuilt {
        /// The image's id.
        id: String,
        /// Its size on disk.
        size: Bytes,
        /// The time that the build took.
        took: Duration,
    },
    /// The QEMU of a suite is being fetched and unpacked.
    FetchingQemu {
        /// The Debian suite.
        suite: String,
    },
    /// An image with packages or directories for commands is being made.
    BuildingSupply {
        /// Its content, in words.
        what: String,
    },
    /// That image is in the cache.
    SupplyBuilt {
        /// Its content, in words.
        what: String,
        /// Its size, compressed.
        size: Bytes,
        /// The time that it took.
        took: Duration,
    },
    /// A boot of the guest under KVM is being tried.
    ProbingKvm {
        /// The longest time that it may take.
        deadline: Duration,
    },
    /// The accelerator is chosen.
    Accelerator {
        /// `kvm` or `tcg`.
        name: &'static str,
        /// The reason for the choice, in words.
        reason: String,
    },
}

/// The receiver of events.
pub type Events<'a> = &'a mut dyn FnMut(Event);
