//! Messages between zones.

use crate::block::{Block, Data, Pbn};
use crate::core::request::{Failure, Operation, OperationId, Reply, Request, Task};
use crate::core::settings::Policy;
use crate::core::vio::Vio;
use crate::format::{Entry, Geometry, Mapping, PageKey, Superblock};

/// A zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    Door,
    Logical,
    Physical,
    Hash,
    Cpu,
    Packer,
    Journal,
    Bio,
    Ack,
}

impl Zone {
    pub const ALL: [Self; 9] = [
        Self::Door,
        Self::Logical,
        Self::Physical,
        Self::Cpu,
        Self::Hash,
        Self::Packer,
        Self::Journal,
        Self::Bio,
        Self::Ack,
    ];
}

/// An entry on its way through the journal, with the request or page that it belongs to.
#[derive(Debug)]
pub(crate) struct Item {
    pub entry: Entry,
    pub owner: Owner,
}

#[derive(Debug)]
pub(crate) enum Owner {
    Vio(Box<Vio>),
    Page(PageKey),
}

#[derive(Debug)]
pub(crate) enum ToDoor {
    Submit(Request),
    /// A request has left the volume.
    Left,
    /// Nothing is under way and nothing is in the journal.
    Quiet,
    QuietFlushed(bool),
    /// Counts of new slabs are going to be written; nothing else is under way.
    SlabsAdded,
    SuperblockWritten(bool),
    ReadOnly,
}

#[derive(Debug)]
pub(crate) enum ToLogical {
    Begin(Box<Vio>),
    /// A discard has come to its next block.
    Walk(Box<Vio>),
    /// A flush of all writes before this number.
    Flush {
        before: u64,
        request: u64,
    },
    Allocated(Box<Vio>),
    PagesAllocated {
        leaf: PageKey,
        pages: Option<Vec<(PageKey, Pbn)>>,
    },
    PageFormatted {
        root: u64,
        ok: bool,
    },
    Locate(Box<Vio>),
    Committed {
        seq: u64,
        items: Vec<Item>,
    },
    Loaded {
        leaf: PageKey,
        block: Option<Box<Block>>,
    },
    ReadDone(Box<Vio>, Option<Data>),
    Flushed(Box<Vio>, bool),
    Failed(Box<Vio>),
    Save(u64),
    SaverIo(bool),
    ReadOnly,
    Policy(Policy),
}

#[derive(Debug)]
pub(crate) enum ToPhysical {
    Allocate(Box<Vio>),
    AllocatePages {
        leaf: PageKey,
        keys: Vec<PageKey>,
    },
    /// A pin on a block that others refer to; it replaces the request's own allocation.
    Share(Box<Vio>, Mapping),
    /// A pin on the block that the index advised, to compare with.
    Verify(Box<Vio>, Mapping),
    Compared(Box<Vio>, bool),
    /// A pin on the block that is durable already.
    Hold(Box<Vio>),
    /// A block for what the packer has packed.
    Place(Vec<Box<Vio>>, Data),
    Unpin(Pbn),
    /// The request fails: its pins go.
    Drop(Box<Vio>),
    Apply {
        seq: u64,
        items: Vec<Item>,
    },
    #[cfg(test)]
    FreeEarly(Pbn),
    Save(u64),
    SaverIo(bool),
    Policy(Policy),
    /// More slabs.
    Grow(Geometry),
}

#[derive(Debug)]
pub(crate) enum ToHash {
    Enter(Box<Vio>),
    /// Its data is where `new` says.
    Located(Box<Vio>),
    /// No duplicate: it is stored.
    Anew(Box<Vio>),
    /// The block may not be shared any more.
    Refused(Box<Vio>),
    /// An agent that failed.
    Failed(Box<Vio>),
    /// An agent's entry is committed.
    Release(Box<Vio>),
    Policy(Policy),
    /// A part of a chapter is written, or lost.
    ChapterWritten,
    /// The volume stops: all chapters are written before the journal comes to rest.
    Close,
}

#[derive(Debug)]
pub(crate) enum ToCpu {
    Fingerprint(Box<Vio>),
    Compress(Box<Vio>),
    Compare(Box<Vio>, Box<Block>),
    Unpack(Box<Vio>, Box<Block>),
}

#[derive(Debug)]
pub(crate) enum ToPacker {
    Pack(Box<Vio>),
    /// Somebody waits for this request: it is not to be parked.
    Hurry(u64),
    /// Nobody waits for this request any more, or it has left.
    Forget(u64),
    HurryBefore(u64),
    Policy(Policy),
}

#[derive(Debug)]
pub(crate) enum ToJournal {
    Append(Item),
    /// A zone needs no block before this one.
    Oldest(Zone, u64),
    FlushDone(bool),
    BlockDone(bool),
    /// Something that the volume relies on failed.
    Fail,
    /// Tell the door when nothing is left.
    Quiesce,
    Policy(Policy),
    /// Another ring from here on, of another epoch.
    Ring(Superblock),
}

#[derive(Debug)]
pub(crate) enum ToBio {
    Begin(Task, Then),
    Done(OperationId, Option<Option<Box<Block>>>),
}

#[derive(Debug)]
pub(crate) enum ToAck {
    Reply(Reply),
}

/// The receiver of the completion of an operation.
#[derive(Debug)]
pub(crate) enum Then {
    Stored(Box<Vio>),
    Packed(Vec<Box<Vio>>),
    Data(Box<Vio>),
    Compare(Box<Vio>),
    Leaf(PageKey),
    Formatted(u64),
    Saver(Zone),
    JournalFlush,
    JournalBlock,
    Durable(Box<Vio>),
    Flush(u64),
    Quiet,
    Superblock,
    Chapter,
}

#[derive(Debug)]
pub(crate) enum Message {
    Door(ToDoor),
    Logical(ToLogical),
    Physical(ToPhysical),
    Hash(ToHash),
    Cpu(ToCpu),
    Packer(ToPacker),
    Journal(ToJournal),
    Bio(ToBio),
    Ack(ToAck),
}

/// Messages, operations and replies that a zone sends while it works.
#[derive(Debug, Default)]
pub(crate) struct Post {
    pub sent: Vec<Message>,
    pub operations: Vec<Operation>,
    pub replies: Vec<Reply>,
}

impl Post {
    pub fn door(&mut self, message: ToDoor) {
        self.sent.push(Message::Door(message));
    }

    pub fn logical(&mut self, message: ToLogical) {
        self.sent.push(Message::Logical(message));
    }

    pub fn physical(&mut self, message: ToPhysical) {
        self.sent.push(Message::Physical(message));
    }

    pub fn hash(&mut self, message: ToHash) {
        self.sent.push(Message::Hash(message));
    }

    pub fn cpu(&mut self, message: ToCpu) {
        self.sent.push(Message::Cpu(message));
    }

    pub fn packer(&mut self, message: ToPacker) {
        self.sent.push(Message::Packer(message));
    }

    pub fn journal(&mut self, message: ToJournal) {
        self.sent.push(Message::Journal(message));
    }

    /// Begins an operation of the device; its completion goes to `then`.
    pub fn bio(&mut self, task: Task, then: Then) {
        self.sent.push(Message::Bio(ToBio::Begin(task, then)));
    }

    /// Answers a request of the client, which ends it.
    pub fn reply(&mut self, id: u64, result: Result<Option<Data>, Failure>) {
        self.sent.push(Message::Ack(ToAck::Reply(Reply { id, result })));
    }

    /// Writes a superblock.
    pub fn superblock(&mut self, superblock: &Superblock, fua: bool) {
        let data = Data::new(superblock.sealed());
        let pbn = Geometry::superblock(superblock.generation);
        self.bio(Task::Write { pbn, data, fua }, Then::Superblock);
    }
}
