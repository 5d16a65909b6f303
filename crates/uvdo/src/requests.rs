//! Splits wishes, which count in bytes, into requests for blocks, and puts their replies together again.
//!
//! Wishes send their requests to the volume in turns, so that others go on during a wish of any length.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::Sender;

use volume::{BLOCK, Block, Data, Failure, Reply, Request, Verb};

use crate::turns::Turns;
use crate::wish::{Answer, Asked, Refusal, Wish};

/// Most requests that a wish makes in one turn.
const TURN: usize = 16;

/// A range of bytes in a block, and the place of the first one among the bytes of the wish.
type Part = (Range<usize>, usize);

/// A wish under way.
struct Open {
    client: u64,
    cookie: u64,
    memory: u64,
    reply: Sender<Answer>,
    wish: Wish,
    /// Requests that have not ended.
    left: u64,
    result: Result<Vec<u8>, Refusal>,
    /// Requests besides those for the rest: zeros for parts of blocks, or an empty discard that asks if the volume may be changed.
    edges: Vec<Verb>,
    /// Blocks for which requests are still to be made.
    rest: Range<u64>,
    /// Tells if a flush comes last.
    flush: bool,
    /// Tells if it waits for a turn.
    waits: bool,
}

/// A request that belongs to a wish.
struct Piece {
    wish: u64,
    lane: usize,
    /// The part that is read.
    read: Option<Part>,
}

/// Wishes that wait for their turn, and the room for their requests.
#[derive(Default)]
struct Lane {
    turns: Turns,
    room: usize,
}

/// The lane of wishes that end soon, and that of zeros and discards, which may be as long as the volume.
const SHORT: usize = 0;
const LONG: usize = 1;

/// Wishes under way.
pub struct Requests {
    bytes: u64,
    unit: u64,
    next: u64,
    wishes: HashMap<u64, Open>,
    pieces: HashMap<u64, Piece>,
    lanes: [Lane; 2],
}

impl Requests {
    /// Creates an empty set for a volume of `bytes` bytes that takes discards in units of `unit` blocks and `permits` requests at a time:
    /// half of these may belong to long wishes.
    pub fn new(bytes: u64, unit: u64, permits: usize) -> Self {
        let (wishes, pieces) = (HashMap::new(), HashMap::new());
        let lane = || Lane { room: (permits / 2).max(1), ..Lane::default() };
        let lanes = [lane(), lane()];
        Self { bytes, unit: unit.max(1), next: 1, wishes, pieces, lanes }
    }

    /// Sets the size of the volume from here on, bytes.
    pub fn resize(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Tells if no wish is under way.
    pub fn is_empty(&self) -> bool {
        self.wishes.is_empty()
    }

    /// Takes a wish.
    pub fn begin(&mut self, request: Asked) {
        if let Some(refusal) = self.refusal(&request.wish) {
            return request.refuse(refusal);
        }
        let Asked { client, cookie, wish, memory, reply } = request;
        let (mut result, mut edges, mut rest, mut flush) = (Vec::new(), Vec::new(), 0..0, false);
        match &wish {
            Wish::Read { at, length } => {
                result = vec![0; *length as usize];
                rest = touched(*at, *length);
            }
            Wish::Write { at, bytes, .. } => rest = touched(*at, bytes.len() as u64),
            Wish::Discard { at, length, fua } => (rest, flush) = (whole_blocks(*at, *length), *fua),
            Wish::Zero { at, length, fua } => {
                (rest, flush) = (whole_blocks(*at, *length), *fua);
                let all = touched(*at, *length);
                // The first block and the last, where they are not whole.
                let mut ends = vec![all.start, all.end.max(1) - 1];
                ends.dedup();
                ends.retain(|lbn| all.contains(lbn) && !rest.contains(lbn));
                let zeros = |lbn| {
                    let (part, _) = part(*at, *length, lbn);
                    write(lbn, part.start, &vec![0; part.len()], *fua)
                };
                edges = ends.into_iter().map(zeros).collect();
            }
            Wish::Flush => flush = true,
        }
        if wish.changes() && edges.is_empty() && rest.is_empty() {
            // It changes nothing, but has to be refused when the volume is read-only.
            edges.push(Verb::Discard { lbn: 0, blocks: 0 });
        }
        let (left, result, waits) = (0, Ok(result), false);
        let open =
            Open { client, cookie, memory, reply, wish, left, result, edges, rest, flush, waits };
        let id = self.name();
        self.queue_or_answer(id, open);
    }

    /// Makes as many requests as the volume has room for.
    pub fn made(&mut self) -> Vec<Request> {
        let mut made = Vec::new();
        let Self { unit, next, wishes, pieces, lanes, .. } = self;
        for (number, Lane { turns, room }) in lanes.iter_mut().enumerate() {
            while *room > 0 && !turns.is_empty() {
                turns.give(|wish| {
                    // The wish may have failed since.
                    let Some(open) = wishes.get_mut(&wish) else { return false };
                    for _ in 0..TURN.min(*room) {
                        let Some((verb, read)) = open.next(*unit) else { break };
                        (open.left, *room, *next) = (open.left + 1, *room - 1, *next + 1);
                        pieces.insert(*next, Piece { wish, lane: number, read });
                        made.push(Request { id: *next, verb });
                    }
                    open.waits = open.has_more();
                    open.waits
                });
            }
        }
        made
    }

    /// Tells if requests can be made at once.
    pub fn has_room_for_more(&self) -> bool {
        self.lanes.iter().any(|lane| lane.room > 0 && !lane.turns.is_empty())
    }

    /// Takes a reply of the volume.
    pub fn ended(&mut self, reply: Reply) {
        let Some(piece) = self.pieces.remove(&reply.id) else { return };
        self.lanes[piece.lane].room += 1;
        let Some(mut open) = self.wishes.remove(&piece.wish) else { return };
        open.left -= 1;
        match (reply.result, &mut open.result) {
            (Ok(Some(data)), Ok(bytes)) => {
                if let Some((part, to)) = piece.read {
                    bytes[to..to + part.len()].copy_from_slice(&data.0[part]);
                }
            }
            (Err(failure), Ok(_)) => open.give_up(Refusal::Volume(failure)),
            _ => {}
        }
        match open.left {
            0 => self.queue_or_answer(piece.wish, open),
            _ => drop(self.wishes.insert(piece.wish, open)),
        }
    }

    /// Gives up the rest of zeros and discards, which may be long, so that a stop need not wait for them.
    pub fn cut_short(&mut self) {
        let long = self.wishes.values_mut().filter(|open| open.lane() == LONG);
        long.for_each(|open| open.give_up(Refusal::Stopping));
        let idle = self.wishes.iter().filter(|(_, open)| open.left == 0 && !open.has_more());
        for id in idle.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.wishes.remove(&id).into_iter().for_each(|open| self.queue_or_answer(id, open));
        }
    }

    /// Lets a wish that has no request under way wait for its turn if it has more to do, and answers it otherwise.
    fn queue_or_answer(&mut self, id: u64, mut open: Open) {
        if open.has_more() {
            if !std::mem::replace(&mut open.waits, true) {
                self.lanes[open.lane()].turns.join(open.client, id);
            }
            self.wishes.insert(id, open);
            return;
        }
        let Open { cookie, memory, reply, result, .. } = open;
        // The client may be gone.
        let _ = reply.send(Answer { cookie, memory, result });
    }

    fn name(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The refusal of a wish that goes beyond the end; the protocol has another error for writes than for other wishes.
    fn refusal(&self, wish: &Wish) -> Option<Refusal> {
        let (at, length, failure) = match wish {
            Wish::Read { at, length } | Wish::Discard { at, length, .. } => {
                (*at, *length, Failure::Beyond)
            }
            Wish::Zero { at, length, .. } => (*at, *length, Failure::NoSpace),
            Wish::Write { at, bytes, .. } => (*at, bytes.len() as u64, Failure::NoSpace),
            Wish::Flush => return None,
        };
        let inside = at.checked_add(length).is_some_and(|end| end <= self.bytes);
        (!inside).then_some(Refusal::Volume(failure))
    }
}

impl Open {
    fn lane(&self) -> usize {
        match self.wish {
            Wish::Discard { .. } | Wish::Zero { .. } => LONG,
            Wish::Read { .. } | Wish::Write { .. } | Wish::Flush => SHORT,
        }
    }

    /// Tells if a request can be made now.
    fn has_more(&self) -> bool {
        !self.edges.is_empty() || !self.rest.is_empty() || (self.flush && self.left == 0)
    }

    /// The next request, and the part that it reads.
    fn next(&mut self, unit: u64) -> Option<(Verb, Option<Part>)> {
        if let Some(verb) = self.edges.pop() {
            return Some((verb, None));
        }
        let lbn = self.rest.start;
        match &self.wish {
            _ if self.rest.is_empty() => {
                let last = self.flush && self.left == 0;
                self.flush &= !last;
                last.then_some((Verb::Flush, None))
            }
            Wish::Read { at, length } => {
                self.rest.start += 1;
                Some((Verb::Read { lbn }, Some(part(*at, *length, lbn))))
            }
            Wish::Write { at, bytes, fua } => {
                self.rest.start += 1;
                let (part, from) = part(*at, bytes.len() as u64, lbn);
                let bytes = &bytes[from..from + part.len()];
                Some((write(lbn, part.start, bytes, *fua), None))
            }
            Wish::Discard { .. } | Wish::Zero { .. } => {
                let blocks = unit.min(self.rest.end - lbn);
                self.rest.start += blocks;
                Some((Verb::Discard { lbn, blocks }, None))
            }
            Wish::Flush => None,
        }
    }

    /// Makes no more requests: when those under way have ended, the answer is this refusal.
    fn give_up(&mut self, refusal: Refusal) {
        self.edges.clear();
        (self.rest, self.flush, self.result) = (0..0, false, Err(refusal));
    }
}

fn write(lbn: u64, at: usize, bytes: &[u8], fua: bool) -> Verb {
    match <[u8; BLOCK]>::try_from(bytes) {
        Ok(block) => Verb::Write { lbn, data: Data::new(Block(block)), fua },
        Err(_) => Verb::Patch { lbn, at, bytes: bytes.to_vec(), fua },
    }
}

/// The blocks that a range touches.
fn touched(at: u64, length: u64) -> Range<u64> {
    let block = BLOCK as u64;
    at / block..if length == 0 { at / block } else { (at + length).div_ceil(block) }
}

/// The part of a block that lies in a range.
fn part(at: u64, length: u64, lbn: u64) -> Part {
    let block = BLOCK as u64;
    let from = at.max(lbn * block);
    let upto = (at + length).min((lbn + 1) * block);
    let first = (from % block) as usize;
    (first..first + (upto - from) as usize, (from - at) as usize)
}

/// The blocks that lie wholly in a range.
fn whole_blocks(at: u64, length: u64) -> Range<u64> {
    let (block, end) = (BLOCK as u64, at + length);
    let first = at.div_ceil(block);
    first..(end / block).max(first)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn submitted(wish: Wish) -> (Requests, Vec<Request>, std::sync::mpsc::Receiver<Answer>) {
        let (reply, answers) = channel();
        let mut requests = Requests::new(100 * 4096, 2, 2048);
        requests.begin(Asked { client: 1, cookie: 7, wish, memory: 1, reply });
        let made = requests.made();
        (requests, made, answers)
    }

    fn end(requests: &mut Requests, made: Vec<Request>) -> Vec<Request> {
        made.into_iter()
            .for_each(|Request { id, .. }| requests.ended(Reply { id, result: Ok(None) }));
        requests.made()
    }

    #[test]
    fn a_write_across_blocks_is_a_part_whole_blocks_and_a_part() {
        let bytes = (0..10_000).map(|n| n as u8).collect::<Vec<_>>();
        let wish = Wish::Write { at: 4000, bytes, fua: true };
        let (mut requests, made, answers) = submitted(wish);
        assert_eq!(made.len(), 4);
        let Verb::Patch { lbn: 0, at: 4000, bytes, fua: true } = &made[0].verb else { panic!() };
        assert_eq!(bytes.len(), 96);
        let Verb::Write { lbn: 1, data, .. } = &made[1].verb else { panic!() };
        assert_eq!(data.0[0], 96);
        let Verb::Patch { lbn: 3, at: 0, bytes, .. } = &made[3].verb else { panic!() };
        assert_eq!(bytes.len(), 10_000 - 96 - 2 * 4096);
        assert!(answers.try_recv().is_err());
        assert!(end(&mut requests, made).is_empty());
        assert!(answers.try_recv().unwrap().result.is_ok() && requests.is_empty());
    }

    #[test]
    fn a_read_puts_parts_of_blocks_together() {
        let (mut requests, made, answers) = submitted(Wish::Read { at: 4090, length: 10 });
        for request in made.into_iter().rev() {
            let Verb::Read { lbn } = request.verb else { panic!() };
            let mut block = Block::default();
            block.0.fill(lbn as u8 + 1);
            let result = Ok(Some(Data::new(block)));
            requests.ended(Reply { id: request.id, result });
        }
        assert_eq!(answers.try_recv().unwrap().result.unwrap(), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn a_discard_is_units_of_whole_blocks_and_zeros_are_exact() {
        let (mut requests, made, answers) =
            submitted(Wish::Discard { at: 100, length: 6 * 4096, fua: true });
        let units = made.iter().map(|request| match request.verb {
            Verb::Discard { lbn, blocks } => (lbn, blocks),
            _ => panic!(),
        });
        assert_eq!(units.collect::<Vec<_>>(), [(1, 2), (3, 2), (5, 1)]);
        let flush = end(&mut requests, made);
        assert!(matches!(flush[..], [Request { verb: Verb::Flush, .. }]));
        assert!(end(&mut requests, flush).is_empty() && answers.try_recv().is_ok());
        let (_, made, _) = submitted(Wish::Zero { at: 100, length: 6 * 4096, fua: false });
        let edges = made.iter().filter(|request| matches!(request.verb, Verb::Patch { .. }));
        assert_eq!((edges.count(), made.len()), (2, 5));
    }

    #[test]
    fn however_many_long_discards_there_are_others_find_room_and_clients_take_turns() {
        let (reply, answers) = channel();
        let mut requests = Requests::new(1 << 40, 1, 64);
        let ask =
            |client, wish| Asked { client, cookie: client, wish, memory: 1, reply: reply.clone() };
        let discard = || Wish::Discard { at: 0, length: 3000 * 4096, fua: true };
        for _ in 0..8 {
            requests.begin(ask(1, discard()));
        }
        let mut made = requests.made();
        assert_eq!(made.len(), 32, "half of the room is theirs");
        requests.begin(ask(2, discard()));
        requests.begin(ask(3, Wish::Write { at: 0, bytes: vec![1; 100 * 4096], fua: false }));
        requests.begin(ask(4, Wish::Read { at: 0, length: 4096 }));
        let short = requests.made();
        let reads = short.iter().filter(|request| matches!(request.verb, Verb::Read { .. }));
        assert_eq!((short.len(), reads.count()), (32, 1), "a read during a long write");
        made.extend(end(&mut requests, short));
        let (mut ended, mut order) = (0, Vec::new());
        while !made.is_empty() {
            ended += made.iter().filter(|made| matches!(made.verb, Verb::Discard { .. })).count();
            made = end(&mut requests, made);
            order.extend(answers.try_iter().map(|answer| (answer.cookie, answer.result.is_ok())));
        }
        assert!(requests.is_empty() && ended == 9 * 3000, "{ended}");
        // Who came later with one is not behind eight of another client.
        assert_eq!(order[..3], [(4, true), (3, true), (2, true)]);
        assert_eq!(order.len(), 11);
    }

    #[test]
    fn what_is_left_of_long_wishes_is_left_undone_at_the_end() {
        let (mut requests, made, answers) =
            submitted(Wish::Zero { at: 1, length: 90 * 4096, fua: true });
        let (reply, others) = channel();
        let wish = Wish::Write { at: 0, bytes: vec![1; 8192], fua: false };
        requests.begin(Asked { client: 2, cookie: 1, wish, memory: 1, reply });
        requests.cut_short();
        assert!(answers.try_recv().is_err(), "what is under way ends first");
        let write = end(&mut requests, made);
        assert_eq!(answers.try_recv().unwrap().result, Err(Refusal::Stopping));
        assert_eq!((write.len(), others.try_recv().is_err()), (2, true));
        end(&mut requests, write);
        assert!(others.try_recv().unwrap().result.is_ok() && requests.is_empty());
    }

    #[test]
    fn a_failed_request_fails_its_wish_and_what_goes_beyond_the_end_is_refused() {
        let (mut requests, made, answers) =
            submitted(Wish::Write { at: 0, bytes: vec![1; 8192], fua: false });
        for (request, result) in made.into_iter().zip([Err(Failure::NoSpace), Ok(None)]) {
            requests.ended(Reply { id: request.id, result });
        }
        assert_eq!(answers.try_recv().unwrap().result, Err(Refusal::Volume(Failure::NoSpace)));
        let (_, made, answers) = submitted(Wish::Read { at: 99 * 4096 + 1, length: 4096 });
        assert!(made.is_empty());
        assert_eq!(answers.try_recv().unwrap().result, Err(Refusal::Volume(Failure::Beyond)));
    }
}
