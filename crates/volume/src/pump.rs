//! The loop of every shell.

use crate::core::{Operation, Reply, Volume};

/// Hands out all that a volume has to do and to say, until nothing comes: only then may a shell sleep. `operation` may complete at
/// once by what it is given.
///
/// A shell that sleeps while the volume still has output hangs, so all shells use this one loop.
pub fn pump(
    volume: &mut Volume,
    operation: &mut impl FnMut(&mut Volume, Operation),
    reply: &mut impl FnMut(&mut Volume, Reply),
) {
    loop {
        let mut any = false;
        while let Some(next) = volume.next_operation() {
            any = true;
            operation(volume, next);
        }
        while let Some(next) = volume.next_reply() {
            any = true;
            reply(volume, next);
        }
        if !any {
            return;
        }
    }
}
