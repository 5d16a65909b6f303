//! The guest's kernel and root: a handful of files from Debian packages, built once, then taken from the cache.

mod apt;
mod archive;
mod assemble;
mod build;
mod elf;
mod emulator;
mod manifest;
mod mirror;
mod modules;
mod ready;
mod spec;
mod stored;
mod supplies;
mod vmlinux;

pub(crate) use archive::Archive;
pub(crate) use assemble::MODULE_LIST;
pub(crate) use elf::loadable_part;
pub use manifest::{Manifest, Package};
pub use spec::{ImageSpec, SUITE};
pub use stored::Image;
