//! The guest's kernel and root: a handful of files from Debian packages, built once, then taken from the cache.

mod apt;
mod archive;
mod assemble;
mod build;
mod elf;
mod emulator;
mod kernel;
mod kernels;
mod listing;
mod manifest;
mod mirror;
mod modules;
mod own_kernel;
mod ready;
mod spec;
mod stored;
mod suites;
mod supplies;
mod unpack;
mod userland;
mod vmlinux;

pub(crate) use archive::Archive;
pub(crate) use assemble::MODULE_LIST;
pub(crate) use elf::loadable_part;
pub use kernels::{Kernel, KernelPackage, Kernels};
pub use manifest::{Manifest, Package};
pub use own_kernel::OwnKernel;
pub use spec::{ImageSpec, KernelChoice, SUITE};
pub use stored::Image;
pub use suites::{KERNEL_SUITES, is_downloaded};
