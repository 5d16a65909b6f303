//! The page cache between a load and its targets: its dirty pages are written to the targets, and then dropped.
//!
//! A write through the page cache ends before its target has seen it, and a read of it afterwards returns what is in memory. Only `fsync` reports
//! whether the data reached the target, and only a read without these pages shows what the target holds.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use results::model::LoadSummary;
use sys::interrupt::{Interrupt, Level};
use units::show::grouped;

use crate::backend::Files;
use crate::load::Load;

/// Time between two checks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time that the flushes still get after an interrupt.
const GRACE: Duration = Duration::from_secs(2);

/// The fate of pages once they are on the targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// They stay in memory.
    Keep,
    /// The next reads come from the targets.
    Drop,
}

/// Writes what the page cache and the targets' own caches hold of `files` to stable storage. Returns a sentence for each target, named by `names`,
/// whose flush failed or was interrupted.
pub(crate) fn bring_down(
    files: &Files,
    names: &[String],
    then: Then,
    interrupt: &Interrupt,
) -> Vec<String> {
    let copy = match files.try_clone() {
        Ok(copy) => copy,
        Err(error) => return vec![sys::causes::chain(&error)],
    };
    let (sender, answers) = channel();
    // In a separate thread: a flush that hangs in the kernel must not hang the program.
    let work = move || {
        for (file, result) in copy.flushed() {
            if then == Then::Drop {
                sys::block::drop_cached(file);
            }
            let _ = sender.send(result);
        }
    };
    let thread = match std::thread::Builder::new().name("flush".into()).spawn(work) {
        Ok(thread) => thread,
        Err(error) => return vec![format!("The targets could not be flushed: {error}")],
    };
    let (mut failed, mut next, mut interrupted) = (Vec::new(), names.iter(), None);
    loop {
        match answers.recv_timeout(POLL_INTERVAL) {
            Ok(result) => failed.extend(next.next().and_then(|name| lost(name, &result.err()?))),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if interrupt.level() == Level::None => {}
            Err(RecvTimeoutError::Timeout) => {
                if interrupted.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    failed.extend(next.map(|name| {
                        format!("Interrupted while {name} was flushed: it may not hold all that was written to it")
                    }));
                    return failed;
                }
            }
        }
    }
    drop(thread.join());
    failed
}

/// Returns the sentence for a flush that failed; `None` where the target does not support flushes.
fn lost(name: &str, error: &io::Error) -> Option<String> {
    let unknown = matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP));
    (!unknown).then(|| {
        format!(
            "{name} could not be flushed ({error}): it does not hold all that was written to it, whatever is read from the page cache"
        )
    })
}

/// Returns the sentence for failed flushes of the load itself, where its writes depend on them: writes through the page cache, and all that are
/// verified. The kernel reports each loss only once, so that a later flush would not show it.
pub(crate) fn own_flushes(load: &Load, direct: bool, summary: &LoadSummary) -> Option<String> {
    let errors = summary.operations.get("flush").map(|flush| &flush.errors)?;
    let failed: u64 = errors.values().sum();
    let kinds: Vec<_> = errors.keys().map(String::as_str).collect();
    let rests = !direct || load.spec.verify != workload::Verify::Off;
    (failed > 0 && rests).then(|| {
        format!(
            "{} flushes of this load failed ({}): the target may not hold all that was written to it",
            grouped(failed),
            kinds.join(", ")
        )
    })
}
