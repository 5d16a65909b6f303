//! Wishes in bytes to requests for blocks, and their replies back together.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::Sender;

use volume::{BLOCK, Block, Data, Failure, Reply, Request, Verb};

use crate::wish::{Answer, Asked, Refusal, Wish};

/// Units of a discard that are under way at a time.
const WINDOW: u64 = 1024;

/// A wish under way.
struct Open {
    cookie: u64,
    memory: u64,
    reply: Sender<Answer>,
    /// Requests that have not ended.
    left: u64,
    result: Result<Vec<u8>, Refusal>,
    /// Blocks that are still to be discarded.
    rest: Range<u64>,
    /// A flush comes last.
    flush: bool,
}

/// A request for a block, of a wish.
struct Piece {
    wish: u64,
    /// The bytes of the block that are read, and their place among those of the wish.
    read: Option<(Range<usize>, usize)>,
}

/// Wishes under way.
pub struct Requests {
    bytes: u64,
    unit: u64,
    next: u64,
    wishes: HashMap<u64, Open>,
    pieces: HashMap<u64, Piece>,
    made: Vec<Request>,
}

impl Requests {
    /// None yet, of a volume of so many bytes, whose discards are taken in units of so many blocks.
    pub fn new(bytes: u64, unit: u64) -> Self {
        let (wishes, pieces) = (HashMap::new(), HashMap::new());
        Self { bytes, unit: unit.max(1), next: 1, wishes, pieces, made: Vec::new() }
    }

    /// Tells if no wish is under way.
    pub fn is_empty(&self) -> bool {
        self.wishes.is_empty()
    }

    /// Takes a wish; gives the requests for the volume.
    pub fn begin(&mut self, asked: Asked) -> Vec<Request> {
        if let Some(failure) = self.refusal(&asked.wish) {
            asked.refuse(Refusal::Volume(failure));
            return Vec::new();
        }
        let Asked { cookie, wish, memory, reply } = asked;
        let id = self.name();
        let (result, rest) = (Ok(Vec::new()), 0..0);
        let mut open = Open { cookie, memory, reply, left: 0, result, rest, flush: false };
        match wish {
            Wish::Read { at, length } => {
                open.result = Ok(vec![0; length as usize]);
                for (lbn, part, to) in parts(at, length) {
                    self.piece(id, &mut open, Verb::Read { lbn }, Some((part, to)));
                }
            }
            Wish::Write { at, bytes, fua } => {
                for (lbn, part, from) in parts(at, bytes.len() as u64) {
                    let bytes = &bytes[from..from + part.len()];
                    let verb = write(lbn, part.start, bytes, fua);
                    self.piece(id, &mut open, verb, None);
                }
            }
            Wish::Discard { at, length, fua } => {
                (open.rest, open.flush) = (whole(at, length), fua);
            }
            Wish::Zero { at, length, fua } => {
                (open.rest, open.flush) = (whole(at, length), fua);
                let edges = parts(at, length).filter(|(_, part, _)| part.len() < BLOCK);
                for (lbn, part, _) in edges {
                    let verb = write(lbn, part.start, &vec![0; part.len()], fua);
                    self.piece(id, &mut open, verb, None);
                }
            }
            Wish::Flush => open.flush = true,
        }
        self.go_on(id, open);
        std::mem::take(&mut self.made)
    }

    /// Takes a reply of the volume; gives the requests that follow.
    pub fn ended(&mut self, reply: Reply) -> Vec<Request> {
        let Some(piece) = self.pieces.remove(&reply.id) else { return Vec::new() };
        let Some(mut open) = self.wishes.remove(&piece.wish) else { return Vec::new() };
        open.left -= 1;
        match (reply.result, &mut open.result) {
            (Ok(Some(data)), Ok(bytes)) => {
                if let Some((part, to)) = piece.read {
                    bytes[to..to + part.len()].copy_from_slice(&data.0[part]);
                }
            }
            (Err(failure), result @ Ok(_)) => *result = Err(Refusal::Volume(failure)),
            _ => {}
        }
        self.go_on(piece.wish, open);
        std::mem::take(&mut self.made)
    }

    /// Makes the next requests of a wish, or answers it.
    fn go_on(&mut self, id: u64, mut open: Open) {
        if open.result.is_err() {
            (open.rest, open.flush) = (0..0, false);
        }
        while !open.rest.is_empty() && open.left < WINDOW {
            let lbn = open.rest.start;
            let blocks = self.unit.min(open.rest.end - lbn);
            open.rest.start += blocks;
            self.piece(id, &mut open, Verb::Discard { lbn, blocks }, None);
        }
        if open.left == 0 && open.flush {
            open.flush = false;
            self.piece(id, &mut open, Verb::Flush, None);
        }
        if open.left > 0 {
            self.wishes.insert(id, open);
        } else {
            let Open { cookie, memory, result, reply, .. } = open;
            let _ = reply.send(Answer { cookie, memory, result });
        }
    }

    fn piece(
        &mut self,
        wish: u64,
        open: &mut Open,
        verb: Verb,
        read: Option<(Range<usize>, usize)>,
    ) {
        let id = self.name();
        open.left += 1;
        self.pieces.insert(id, Piece { wish, read });
        self.made.push(Request { id, verb });
    }

    fn name(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn refusal(&self, wish: &Wish) -> Option<Failure> {
        let (at, length) = match wish {
            Wish::Read { at, length }
            | Wish::Discard { at, length, .. }
            | Wish::Zero { at, length, .. } => (*at, *length),
            Wish::Write { at, bytes, .. } => (*at, bytes.len() as u64),
            Wish::Flush => (0, 0),
        };
        let inside = at.checked_add(length).is_some_and(|end| end <= self.bytes);
        (!inside).then_some(Failure::Beyond)
    }
}

fn write(lbn: u64, at: usize, bytes: &[u8], fua: bool) -> Verb {
    match <[u8; BLOCK]>::try_from(bytes) {
        Ok(block) => Verb::Write { lbn, data: Data::new(Block(block)), fua },
        Err(_) => Verb::Patch { lbn, at, bytes: bytes.to_vec(), fua },
    }
}

/// The blocks that a range touches: each with the range in it, and the place of that in the whole range.
fn parts(at: u64, length: u64) -> impl Iterator<Item = (u64, Range<usize>, usize)> {
    let (block, end) = (BLOCK as u64, at + length);
    let blocks = at / block..if length == 0 { at / block } else { end.div_ceil(block) };
    blocks.map(move |lbn| {
        let from = at.max(lbn * block);
        let upto = end.min((lbn + 1) * block);
        let first = (from % block) as usize;
        (lbn, first..first + (upto - from) as usize, (from - at) as usize)
    })
}

/// The blocks that lie wholly in a range.
fn whole(at: u64, length: u64) -> Range<u64> {
    let (block, end) = (BLOCK as u64, at + length);
    let first = at.div_ceil(block);
    first..(end / block).max(first)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn asked(wish: Wish) -> (Requests, Vec<Request>, std::sync::mpsc::Receiver<Answer>) {
        let (reply, answers) = channel();
        let mut requests = Requests::new(100 * 4096, 2);
        let made = requests.begin(Asked { cookie: 7, wish, memory: 1, reply });
        (requests, made, answers)
    }

    fn end(requests: &mut Requests, made: Vec<Request>) -> Vec<Request> {
        let done = |request: Request| Reply { id: request.id, result: Ok(None) };
        made.into_iter().flat_map(|request| requests.ended(done(request))).collect()
    }

    #[test]
    fn a_write_across_blocks_is_a_part_whole_blocks_and_a_part() {
        let bytes = (0..10_000).map(|n| n as u8).collect::<Vec<_>>();
        let wish = Wish::Write { at: 4000, bytes, fua: true };
        let (mut requests, made, answers) = asked(wish);
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
        let (mut requests, made, answers) = asked(Wish::Read { at: 4090, length: 10 });
        for request in made.into_iter().rev() {
            let Verb::Read { lbn } = request.verb else { panic!() };
            let mut block = Block::default();
            block.0.fill(lbn as u8 + 1);
            let result = Ok(Some(Data::new(block)));
            assert!(requests.ended(Reply { id: request.id, result }).is_empty());
        }
        assert_eq!(answers.try_recv().unwrap().result.unwrap(), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn a_discard_is_units_of_whole_blocks_and_zeros_are_exact() {
        let (mut requests, made, answers) =
            asked(Wish::Discard { at: 100, length: 6 * 4096, fua: true });
        let units = made.iter().map(|request| match request.verb {
            Verb::Discard { lbn, blocks } => (lbn, blocks),
            _ => panic!(),
        });
        assert_eq!(units.collect::<Vec<_>>(), [(1, 2), (3, 2), (5, 1)]);
        let flush = end(&mut requests, made);
        assert!(matches!(flush[..], [Request { verb: Verb::Flush, .. }]));
        assert!(end(&mut requests, flush).is_empty() && answers.try_recv().is_ok());
        let (_, made, _) = asked(Wish::Zero { at: 100, length: 6 * 4096, fua: false });
        let edges = made.iter().filter(|request| matches!(request.verb, Verb::Patch { .. }));
        assert_eq!((edges.count(), made.len()), (2, 5));
    }

    #[test]
    fn a_very_long_discard_is_not_under_way_all_at_once() {
        let (reply, answers) = channel();
        let mut requests = Requests::new(1 << 40, 1);
        let wish = Wish::Discard { at: 0, length: 3000 * 4096, fua: false };
        let mut made = requests.begin(Asked { cookie: 1, wish, memory: 1, reply });
        assert_eq!(made.len() as u64, WINDOW);
        let mut ended = 0;
        while !made.is_empty() {
            ended += made.len();
            made = end(&mut requests, made);
        }
        assert_eq!(ended, 3000);
        assert!(answers.try_recv().is_ok());
    }

    #[test]
    fn a_failed_request_fails_its_wish_and_what_goes_beyond_the_end_is_refused() {
        let (mut requests, made, answers) =
            asked(Wish::Write { at: 0, bytes: vec![1; 8192], fua: false });
        for (request, result) in made.into_iter().zip([Err(Failure::NoSpace), Ok(None)]) {
            requests.ended(Reply { id: request.id, result });
        }
        assert_eq!(answers.try_recv().unwrap().result, Err(Refusal::Volume(Failure::NoSpace)));
        let (_, made, answers) = asked(Wish::Read { at: 99 * 4096 + 1, length: 4096 });
        assert!(made.is_empty());
        assert_eq!(answers.try_recv().unwrap().result, Err(Refusal::Volume(Failure::Beyond)));
    }
}
