//! A change of a volume that is not running.

use crate::core::{Failure, Request, Settings, Verb};
use crate::device::Device;
use crate::format::Geometry;
use crate::pump::pump;
use crate::recover::RecoveryError;
use crate::start::start;

/// The reason that a change of a volume that is not running failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// It cannot be started.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// It does not take the change, or cannot be stopped.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// Starts a volume, submits one request, and stops it. Returns the places of everything on the device afterwards.
pub fn change(device: &mut dyn Device, verb: Verb) -> Result<Geometry, ChangeError> {
    // Nothing is written but what recovery finds.
    let settings = Settings { cache_pages: 2, index_records: 0, ..Settings::default() };
    let (mut volume, _) = start(device, &settings)?;
    for verb in [verb, Verb::Stop] {
        volume.submit(Request { id: 0, verb });
    }
    let mut result = Ok(());
    pump(
        &mut volume,
        &mut |volume, operation| {
            let done = device.perform(&operation.task);
            volume.complete(operation.id, done);
        },
        &mut |_, reply| {
            if result.is_ok() {
                result = reply.result.map(drop);
            }
        },
    );
    result?;
    Ok(*volume.geometry())
}
