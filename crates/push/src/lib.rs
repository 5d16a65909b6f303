//! Packed results in a store: a directory, a bucket of S3, or a server that takes HTTP PUT. A store has the whole of a result or none of it.
#![forbid(unsafe_code)]

mod client;
mod destination;
mod directory;
mod error;
mod event;
mod package;
mod put;
mod s3;

pub use destination::{AUTHORIZATION, Destination};
pub use error::{Kind, PushError};
pub use event::{Event, Outcome};
pub use package::Package;

/// Brings a packed result to a store. An object of the same name with other bytes is left alone unless `replace` is set. `on` is called with the
/// bytes that the store has of it so far, and with each note.
///
/// # Errors
/// When the store has another object of that name, cannot be reached, refuses, or is full, or when the package is changed meanwhile. The store
/// then has what it had before; parts of a large upload to S3 wait there for the next push of the same bytes.
pub fn push(
    to: &Destination,
    package: &Package,
    replace: bool,
    on: &mut dyn FnMut(Event),
) -> Result<Outcome, PushError> {
    match to {
        Destination::Directory(dir) => directory::store(dir, package, replace, on),
        Destination::S3(store) => s3::store(store, package, replace, on),
        Destination::Http(server) => put::store(server, package, replace, on),
    }
}
