//! The bio zone: operations of the device, and the receivers of their completions.

use rustc_hash::FxHashMap;

use crate::block::Block;
use crate::core::message::{
    Post, Then, ToBio, ToCpu, ToDoor, ToHash, ToJournal, ToLogical, ToPhysical, Zone,
};
use crate::core::physical::io_failure;
use crate::core::request::{Failure, Operation, OperationId, Task};
use crate::core::stats::{DeviceStats, Traffic};
use crate::core::vio::Vio;

/// The bio zone.
#[derive(Default)]
pub(crate) struct Bio {
    next: u64,
    under_way: FxHashMap<OperationId, (Then, Traffic)>,
    pub begun: DeviceStats,
    pub ended: DeviceStats,
}

impl Bio {
    pub fn take(&mut self, message: ToBio, post: &mut Post) {
        match message {
            ToBio::Begin(task, then) => {
                let one = traffic(&task);
                add(&mut self.begun, &then, one);
                self.next += 1;
                let id = OperationId(self.next);
                self.under_way.insert(id, (then, one));
                post.operations.push(Operation { id, task });
            }
            ToBio::Done(id, result) => {
                if let Some((then, one)) = self.under_way.remove(&id) {
                    add(&mut self.ended, &then, one);
                    done(then, result, post);
                }
            }
        }
    }

    /// Tells if the device has something to do.
    pub fn is_busy(&self) -> bool {
        !self.under_way.is_empty()
    }
}

fn traffic(task: &Task) -> Traffic {
    let none = Traffic::default();
    match task {
        Task::Read { .. } => Traffic { reads: 1, ..none },
        Task::Write { fua, .. } => Traffic { writes: 1, fua: u64::from(*fua), ..none },
        Task::Flush => Traffic { flushes: 1, ..none },
    }
}

/// Counts an operation by what it is for.
fn add(stats: &mut DeviceStats, then: &Then, one: Traffic) {
    let of = match then {
        Then::Stored(_) | Then::Packed(_) | Then::Data(_) | Then::Compare(_) => &mut stats.data,
        Then::Leaf(_) | Then::Formatted(_) | Then::Saver(Zone::Logical) => &mut stats.map,
        Then::Saver(_) => &mut stats.counts,
        Then::JournalFlush | Then::JournalBlock => &mut stats.journal,
        Then::Chapter => &mut stats.index,
        Then::Durable(_) | Then::Flush(_) | Then::Quiet | Then::Superblock => &mut stats.other,
    };
    *of = *of + one;
}

/// Passes the result of an operation to its receiver: `None` for a failure, else the block that was read.
fn done(then: Then, result: Option<Option<Box<Block>>>, post: &mut Post) {
    let ok = result.is_some();
    let block = result.flatten();
    match then {
        Then::Stored(vio) if ok => stored(vio, post),
        Then::Stored(vio) => io_failure(vio, post),
        Then::Packed(vios) if ok => vios.into_iter().for_each(|vio| stored(vio, post)),
        Then::Packed(vios) => vios.into_iter().for_each(|vio| io_failure(vio, post)),
        Then::Data(vio) => match block {
            Some(block) => post.cpu(ToCpu::Unpack(vio, block)),
            None => post.logical(ToLogical::ReadDone(vio, None)),
        },
        Then::Compare(vio) => match block {
            Some(block) => post.cpu(ToCpu::Compare(vio, block)),
            None => post.physical(ToPhysical::Compared(vio, false)),
        },
        Then::Leaf(leaf) => post.logical(ToLogical::Loaded { leaf, block }),
        Then::Formatted(root) => post.logical(ToLogical::PageFormatted { root, ok }),
        Then::Saver(Zone::Physical) => post.physical(ToPhysical::SaverIo(ok)),
        Then::Saver(_) => post.logical(ToLogical::SaverIo(ok)),
        Then::JournalFlush => post.journal(ToJournal::FlushDone(ok)),
        Then::JournalBlock => post.journal(ToJournal::BlockDone(ok)),
        Then::Durable(vio) => post.logical(ToLogical::Flushed(vio, ok)),
        Then::Flush(request) => {
            if !ok {
                post.journal(ToJournal::Fail);
            }
            post.reply(request, if ok { Ok(None) } else { Err(Failure::Io) });
            post.door(ToDoor::Left);
        }
        Then::Quiet => post.door(ToDoor::QuietFlushed(ok)),
        Then::Chapter => post.hash(ToHash::ChapterWritten),
        Then::Superblock => post.door(ToDoor::SuperblockWritten(ok)),
    }
}

/// Continues a request whose data is on the device: an agent offers it to duplicates first, others map their address to it.
fn stored(vio: Box<Vio>, post: &mut Post) {
    match vio.agent {
        true => post.hash(ToHash::Located(vio)),
        false => post.logical(ToLogical::Locate(vio)),
    }
}
