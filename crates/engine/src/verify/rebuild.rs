//! Rebuilds a verifier's table from the writes of loads: the writes of a replay go through a worker verifier.

use std::sync::Arc;

use workload::OpKind;

use super::replay::{Change, Replay};
use super::verifier::Verifier;
use super::worker_verifier::WorkerVerifier;

/// Applies the writes of `replay` to `verifier`, which must have no I/O in flight; returns false in the same case as [`Replay::tell`].
pub(crate) fn apply(replay: &Replay, verifier: &Arc<Verifier>) -> bool {
    let largest =
        replay.target_loads().iter().map(|target_load| target_load.spec.largest_io().0).max();
    let mut worker_verifier =
        WorkerVerifier::new(Arc::clone(verifier), 1, largest.unwrap_or_default() as usize);
    let mut writing = false;
    replay.report_changes(&mut |target, change| match change {
        Change::Begins(offset, length, kind) => {
            writing = kind == OpKind::Write;
            match kind {
                OpKind::Write => worker_verifier.write(0, target, offset, length.into()),
                OpKind::Discard => worker_verifier.clear(0, target, offset, length.into(), false),
                OpKind::WriteZeroes => {
                    worker_verifier.clear(0, target, offset, length.into(), true);
                }
                OpKind::Read | OpKind::Flush => {}
            }
        }
        Change::Writes(at, length, id) => worker_verifier.writes(0, at, length, id),
        Change::Ends => {
            if writing {
                worker_verifier.begin(0);
            }
            worker_verifier.ended(0, true, &[], 0);
        }
    })
}
