//! A client in a closed loop, on a device in memory.

use std::sync::Arc;

use units::Seed;
use volume::{
    Block, Device, Failure, Geometry, Memory, Reply, Request, Settings, Sizes, Stats, Verb, Volume,
    create, pump, start,
};

/// A volume with VDO's journal.
pub struct Client {
    pub volume: Volume,
    pub device: Memory,
    next: u64,
    open: usize,
    /// The last replies.
    replies: Vec<Reply>,
}

impl Client {
    pub fn new(slabs: u64, slab: u64, logical: u64, settings: &Settings) -> Self {
        Self::with_index(slabs, slab, logical, 0, settings)
    }

    /// A volume that keeps its index in so many blocks.
    pub fn with_index(
        slabs: u64,
        slab: u64,
        logical: u64,
        index: u64,
        settings: &Settings,
    ) -> Self {
        let device = 2 + index + 60 + slabs * slab + 32_832;
        let sizes = Sizes { device, logical, slab, journal: 32_768, index, reserved: 64 };
        let mut device = Memory::new(sizes.device);
        create(&mut device, Geometry::new(sizes).unwrap(), [5; 16]).unwrap();
        Self::on(device, settings)
    }

    /// The same device, started again.
    pub fn again(self, settings: &Settings) -> Self {
        Self::on(self.device, settings)
    }

    /// The volume on a device.
    pub fn on(mut device: Memory, settings: &Settings) -> Self {
        let (volume, _) = start(&mut device, settings).unwrap();
        Self { volume, device, next: 0, open: 0, replies: Vec::new() }
    }

    pub fn submit(&mut self, verb: Verb) {
        self.next += 1;
        self.open += 1;
        self.volume.submit(Request { id: self.next, verb });
    }

    /// Lets the device do what there is to do.
    pub fn turn(&mut self) {
        self.replies.clear();
        self.pump();
        assert!(self.replies.iter().all(|reply| reply.result.is_ok()), "{:?}", self.replies);
    }

    /// The bytes of a block, when everything else has ended.
    pub fn read(&mut self, lbn: u64) -> Arc<Block> {
        self.submit(Verb::Read { lbn });
        self.turn();
        self.replies.pop().unwrap().result.unwrap().unwrap()
    }

    /// Why a request is refused.
    pub fn refused(&mut self, verb: Verb) -> Failure {
        self.submit(verb);
        self.replies.clear();
        self.pump();
        self.replies.pop().unwrap().result.unwrap_err()
    }

    fn pump(&mut self) {
        let (device, open, replies) = (&mut self.device, &mut self.open, &mut self.replies);
        pump(
            &mut self.volume,
            &mut |volume, operation| {
                let result = device.perform(&operation.task);
                volume.complete(operation.id, result);
            },
            &mut |_, reply| {
                *open -= 1;
                replies.push(reply);
            },
        );
    }

    /// Submits requests, `depth` at a time.
    pub fn run(&mut self, depth: usize, verbs: impl Iterator<Item = Verb>) {
        for verb in verbs {
            self.submit(verb);
            if self.open >= depth {
                self.turn();
            }
        }
        self.turn();
        assert_eq!(self.open, 0);
    }

    pub fn stats(&self) -> Stats {
        self.volume.stats()
    }
}

/// A block that no other id gives; `random` bytes of it do not compress.
pub fn block(id: u64, random: usize) -> Arc<Block> {
    let mut block = Block::default();
    let mut generator = Seed(id).generator();
    for word in block.0[..random].chunks_exact_mut(8) {
        word.copy_from_slice(&generator.next_u64().to_le_bytes());
    }
    Arc::new(block)
}

/// A write of such a block.
pub fn write(lbn: u64, id: u64, random: usize) -> Verb {
    Verb::Write { lbn, data: block(id, random), fua: false }
}
