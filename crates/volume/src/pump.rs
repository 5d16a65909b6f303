//! The loop of every shell.

use crate::core::{Operation, Reply, Volume};

/// Hands out the operations and replies of a volume until none come: only then may a shell sleep. `operation` may complete its operation
/// at once, through the volume that it is given.
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

/// Makes one turn of [`pump`]: the volume handles at most `messages` messages, and the operations and replies that result are handed out.
/// Tells if something is left to do: then another turn has to follow, before which the shell may attend to its other work.
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
