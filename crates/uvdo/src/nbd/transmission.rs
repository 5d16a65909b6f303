//! Requests and simple replies.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use volume::Failure;

use crate::nbd::budget::Budget;
use crate::nbd::wire::{self, MOST, broken};
use crate::wish::{Answer, Asked, Refusal, Wish};

const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;

/// The flag of a request whose effect is durable when it is answered. The export offers it, so every request may carry it.
const FUA: u16 = 1;
/// The flag of zeros that are to take space, which every export that offers zeros must accept. Here zeros never take space.
const NO_HOLE: u16 = 1 << 1;

/// Errors as the protocol numbers them.
const EPERM: u32 = 1;
const EIO: u32 = 5;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const ESHUTDOWN: u32 = 108;

/// Most bytes of one client's requests that are in memory at a time.
const BUDGET: u64 = 2 * MOST as u64;
/// Bytes that a request takes besides its data.
const REQUEST_OVERHEAD_BYTES: u64 = 512;

/// Takes requests until the client goes away, and answers them in the order in which they end.
pub fn run(
    mut from: impl Read,
    to: impl Write + Send,
    client: u64,
    ask: impl Fn(Asked) -> bool,
) -> io::Result<()> {
    let budget = &Budget::new(BUDGET);
    let (reply, answers) = channel();
    thread::scope(|scope| {
        let writer = scope.spawn(move || answer_all(to, &answers, budget));
        let read = read_all(&mut from, client, &ask, &reply, budget);
        drop(reply);
        // The writer sees all answers, because every request that was taken keeps a sender until it is answered.
        let written = writer.join().unwrap_or(Ok(()));
        read.and(written)
    })
}

fn read_all(
    from: &mut impl Read,
    client: u64,
    ask: &impl Fn(Asked) -> bool,
    reply: &Sender<Answer>,
    budget: &Budget,
) -> io::Result<()> {
    loop {
        match wire::u32(from) {
            Ok(REQUEST) => {}
            Ok(_) => return Err(broken("something other than a request")),
            // The client left without a disconnect, which is not an error here.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let (flags, kind) = (wire::u16(from)?, wire::u16(from)?);
        let (cookie, at, length) = (wire::u64(from)?, wire::u64(from)?, wire::u32(from)?);
        let fua = flags & FUA != 0;
        let long = u64::from(length);
        let data = if kind == READ || kind == WRITE { u64::from(length) } else { 0 };
        if length > MOST && kind == WRITE {
            return Err(broken("more bytes than a request may have"));
        }
        let memory = REQUEST_OVERHEAD_BYTES + data.min(u64::from(MOST));
        budget.take(memory);
        let wish = match kind {
            DISCONNECT => return Ok(()),
            READ => Some(Wish::Read { at, length: long }),
            WRITE => {
                let mut bytes = vec![0; length as usize];
                from.read_exact(&mut bytes)?;
                Some(Wish::Write { at, bytes, fua })
            }
            FLUSH => Some(Wish::Flush),
            TRIM => Some(Wish::Discard { at, length: long, fua }),
            WRITE_ZEROES => Some(Wish::Zero { at, length: long, fua }),
            _ => None,
        };
        let refusal = match wish.filter(|_| is_valid(flags, kind, at, length)) {
            Some(wish) => {
                if ask(Asked { client, cookie, wish, memory, reply: reply.clone() }) {
                    continue;
                }
                Refusal::Stopping
            }
            None => Refusal::Invalid,
        };
        let _ = reply.send(Answer { cookie, memory, result: Err(refusal) });
    }
}

/// Tells if a request is valid in the protocol, with the features that the export offers.
fn is_valid(flags: u16, kind: u16, at: u64, length: u32) -> bool {
    let offered = if kind == WRITE_ZEROES { FUA | NO_HOLE } else { FUA };
    let fits = match kind {
        READ => length <= MOST,
        FLUSH => (at, length) == (0, 0),
        _ => true,
    };
    fits && flags & !offered == 0
}

fn answer_all(mut to: impl Write, answers: &Receiver<Answer>, budget: &Budget) -> io::Result<()> {
    let mut result = Ok(());
    loop {
        let answer = match answers.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Disconnected) => return result.and_then(|()| to.flush()),
            Err(TryRecvError::Empty) => {
                result = result.and_then(|()| to.flush());
                let Ok(answer) = answers.recv() else { return result };
                answer
            }
        };
        budget.give(answer.memory);
        // Even if the client is gone, its requests are ended.
        result = result.and_then(|()| write(&mut to, &answer));
    }
}

fn write(to: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let error = match &answer.result {
        Ok(_) => 0,
        Err(Refusal::Volume(Failure::NoSpace)) => ENOSPC,
        Err(Refusal::Volume(Failure::Io)) => EIO,
        Err(Refusal::Volume(Failure::ReadOnly)) => EPERM,
        Err(Refusal::Volume(Failure::Beyond | Failure::Growth(_)) | Refusal::Invalid) => EINVAL,
        Err(Refusal::Stopping) => ESHUTDOWN,
    };
    to.write_all(&REPLY.to_be_bytes())?;
    to.write_all(&error.to_be_bytes())?;
    to.write_all(&answer.cookie.to_be_bytes())?;
    answer.result.as_ref().map_or(Ok(()), |bytes| to.write_all(bytes))
}
