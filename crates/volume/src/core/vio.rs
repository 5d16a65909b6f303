//! A request under way: it travels from zone to zone, and is in one place at a time.

use reduce::Fingerprint;

use crate::block::{Block, Data, Lbn, Pbn};
use crate::core::request::Failure;
use crate::format::Mapping;

/// The kind of a request under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Discard,
}

/// A request for one block under way; a discard walks from block to block.
#[derive(Debug)]
pub(crate) struct Vio {
    /// Its number in the order of admission.
    pub id: u64,
    /// The client's number for it.
    pub request: u64,
    pub kind: Kind,
    pub lbn: Lbn,
    /// Blocks of a discard that are left, this one included.
    pub left: u64,
    pub fua: bool,
    pub data: Data,
    /// New bytes for a part of the block, with the place of the first.
    pub patch: Option<(usize, Vec<u8>)>,
    /// Tells if it is a block of a discard that goes on by itself.
    pub batched: bool,
    /// Tells if zeros are written.
    pub zero: bool,
    pub acked: bool,
    /// Tells if it was given to deduplication and compression.
    pub reduced: bool,
    /// Under sync, the place where the data is durable already, before it is reduced in a second round.
    pub home: Option<Mapping>,
    /// Tells if it represents its fingerprint in the hash zone. Its pin outlives its commit.
    pub agent: bool,
    /// The block that it has pinned.
    pub pin: Option<Pbn>,
    /// A second pinned block, with which its data is compared.
    pub candidate: Option<Mapping>,
    /// The mapping that the block had before.
    pub old: Mapping,
    /// The mapping that the block is going to have.
    pub new: Mapping,
    pub print: Fingerprint,
    /// The compressed block.
    pub fragment: Vec<u8>,
    pub failed: Option<Failure>,
}

impl Vio {
    /// A request that has just been admitted.
    pub fn new(id: u64, request: u64, kind: Kind, lbn: Lbn, data: Data) -> Self {
        Self {
            id,
            request,
            kind,
            lbn,
            left: 1,
            fua: false,
            zero: kind == Kind::Write && reduce::is_zero(&data.0),
            data,
            patch: None,
            batched: false,
            acked: false,
            reduced: false,
            home: None,
            agent: false,
            pin: None,
            candidate: None,
            old: Mapping::UNMAPPED,
            new: Mapping::UNMAPPED,
            print: Fingerprint(0),
            fragment: Vec::new(),
            failed: None,
        }
    }

    /// Puts its part over the bytes that the block `held`, which makes it a write of a whole block.
    pub fn merge(&mut self, held: &Data) {
        if let Some((at, bytes)) = self.patch.take() {
            let mut block = Block::clone(held);
            block.0[at..at + bytes.len()].copy_from_slice(&bytes);
            self.zero = reduce::is_zero(&block.0);
            self.data = Data::new(block);
        }
    }
}
