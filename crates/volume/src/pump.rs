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

/// One turn of [`pump`]: the volume handles so many messages at the most, and hands out what came of it. Tells if something is left to
/// do: then another turn follows, and before it the shell may look after what else waits for it.
pub fn turn(
    volume: &mut Volume,
    messages: usize,
    operation: &mut impl FnMut(Operation),
    reply: &mut impl FnMut(Reply),
) -> bool {
    let more = volume.work_a_turn(messages);
    volume.taken_operations().for_each(operation);
    volume.taken_replies().for_each(reply);
    more
}
