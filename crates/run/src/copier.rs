//! A `copy` stage: the blocks of a device go to the target in order, past the page cache, one write at a time.
//!
//! No flush comes before the end, since a flush empties VDO's packer; the settle steps of the stack do that. One write of
//! 64 KiB is acknowledged by VDO before its blocks are packed, so that blocks of many writes are under way all the same.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use host::Place;
use plan::{CopyPlan, StagePlan};
use results::model::LoadSummary;
use rustix::fs::OFlags;
use sys::interrupt::Level;
use units::{Bytes, Seed};

use crate::Event;
use crate::error::Cause;
use crate::scene::CellContext;

/// Alignment of buffers for direct I/O, bytes.
const PAGE: usize = 4096;
/// Number of writes between two reports of progress.
const REPORT: u64 = 256;

/// Copies the stage's range from its source to its target.
pub(crate) fn copy(
    scene: &CellContext,
    cell: usize,
    stage: &StagePlan,
    plan: &CopyPlan,
    [from, target]: &[Place; 2],
) -> Result<LoadSummary, Cause> {
    let start = scene.clock.now().0;
    let open = |place: &Place, write: bool| {
        let direct = |flags| {
            OpenOptions::new().read(!write).write(write).custom_flags(flags).open(&place.way)
        };
        let opened = match direct(OFlags::DIRECT.bits().cast_signed()) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => direct(0),
            other => other,
        };
        let right = opened.and_then(|file| match place.meant {
            Some(meant) if !meant.is(&file.metadata()?) => {
                Err(io::Error::other("it is no longer the device that was meant"))
            }
            _ => Ok(file),
        });
        right.map_err(|error| format!("cannot open {}: {error}", place.name.display()))
    };
    let (source, sink) = (open(from, false)?, open(target, true)?);
    let to = plan.to.0;
    let mut room = vec![0u8; plan.block.0 as usize + PAGE];
    let aligned = room.as_ptr().align_offset(PAGE);
    let room = &mut room[aligned..aligned + plan.block.0 as usize];
    let (mut done, mut number) = (0u64, 0u64);
    let mut ended_by = "bytes";
    while done < plan.bytes.0 {
        if scene.interrupt.level() != Level::None {
            ended_by = "interrupted";
            break;
        }
        let past = scene.clock.now().0.saturating_sub(start);
        if let Some(deadline) = stage.deadline.filter(|deadline| past > deadline.0) {
            return Err(format!(
                "{} of {} are copied at its deadline of {deadline}: give it more time, or less to copy",
                Bytes(done),
                plan.bytes
            )
            .into());
        }
        let part = (plan.bytes.0 - done).min(plan.block.0) as usize;
        move_part(&source, &sink, &mut room[..part], [plan.offset.0 + done, to + done]).map_err(
            |error| {
                format!(
                    "{} to {} at byte {done}: {error}",
                    from.name.display(),
                    target.name.display()
                )
            },
        )?;
        done += part as u64;
        number += 1;
        if number.is_multiple_of(REPORT) {
            let elapsed_ns = scene.clock.now().0.saturating_sub(start);
            let fraction = done as f64 / plan.bytes.0 as f64;
            scene.recorder.event(Event::Progress {
                cell,
                stage: stage.name.clone(),
                elapsed_ns,
                remaining_ns: Some((elapsed_ns as f64 * (1.0 / fraction - 1.0)) as u64),
                fraction: Some(fraction),
                operations: Vec::new(),
            });
        }
    }
    Ok(LoadSummary {
        duration_ns: scene.clock.now().0.saturating_sub(start),
        ended_by: ended_by.into(),
        notices: vec![format!("{} of {} copied from {}", Bytes(done), plan.bytes, plan.role)],
        ..LoadSummary::empty(Seed(0))
    })
}

/// Copies one part; `at` is its offset in the source and in the target.
fn move_part(source: &File, sink: &File, room: &mut [u8], at: [u64; 2]) -> io::Result<()> {
    source.read_exact_at(room, at[0])?;
    sink.write_all_at(room, at[1])
}
