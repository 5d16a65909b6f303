//! Merges several streams of I/Os into one, ordered by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::file::Accesses;
use crate::access::Access;
use crate::error::Result;

/// I/Os held back for reordering: many tracers record an I/O when it ends, so an earlier one may follow a later one.
const REORDER_WINDOW: usize = 1 << 16;

/// Passes all I/Os of the streams to `take`, the earliest first; I/Os of the same instant keep the order of their streams. If a stream is out of
/// order by more than [`REORDER_WINDOW`] I/Os, some come late.
pub(super) fn merge(mut streams: Vec<Accesses>, mut take: impl FnMut(&Access)) -> Result<()> {
    let mut next = BinaryHeap::new();
    let mut heads: Vec<Option<Access>> = Vec::new();
    for (at, stream) in streams.iter_mut().enumerate() {
        let head = stream.next().transpose()?;
        next.extend(head.map(|head| Reverse((head.at_ns, at))));
        heads.push(head);
    }
    let mut kept = ReorderBuffer::default();
    while let Some(Reverse((_, at))) = next.pop() {
        let (Some(stream), Some(head)) = (streams.get_mut(at), heads.get_mut(at)) else { continue };
        let Some(access) = std::mem::replace(head, stream.next().transpose()?) else { continue };
        next.extend(head.map(|head| Reverse((head.at_ns, at))));
        if let Some(first) = kept.exchange(access) {
            take(&first);
        }
    }
    while let Some(first) = kept.pop_first() {
        take(&first);
    }
    Ok(())
}

/// I/Os that are held back, numbered so that those of the same instant stay in order.
#[derive(Default)]
struct ReorderBuffer {
    order: BinaryHeap<Reverse<(u64, u64, [u64; 3])>>,
    number: u64,
}

impl ReorderBuffer {
    /// Keeps an I/O, and returns the earliest one if more than [`REORDER_WINDOW`] are held.
    fn exchange(&mut self, access: Access) -> Option<Access> {
        self.number += 1;
        let op = disk::Op::ALL.iter().position(|op| *op == access.op).unwrap_or(0) as u64;
        let rest = [op, access.offset, access.bytes];
        self.order.push(Reverse((access.at_ns, self.number, rest)));
        (self.order.len() > REORDER_WINDOW).then(|| self.pop_first()).flatten()
    }

    fn pop_first(&mut self) -> Option<Access> {
        let Reverse((at_ns, _, [op, offset, bytes])) = self.order.pop()?;
        let op = *disk::Op::ALL.get(op as usize)?;
        Some(Access { at_ns, op, offset, bytes })
    }
}
