//! Puts what workers found back into the order of reading, and through the model.

use std::collections::BTreeMap;

use reduce::{Figures, Model, Outcome, Policy};

use crate::worker::Done;

/// What one directory holds. Where contents are sampled, duplicates and unique blocks stand for all.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Held {
    /// All blocks.
    pub total: u64,
    /// Zero blocks.
    pub zero: u64,
    /// Duplicates.
    pub duplicate: f64,
    /// Unique blocks.
    pub unique: f64,
    /// Unique blocks whose size is known, by what they count for, and the bytes LZ4 makes of them.
    pub sized: (f64, f64),
}

/// The one place where order matters.
pub struct Order {
    model: Model,
    next: u64,
    waiting: BTreeMap<u64, Done>,
    /// Bytes that went through.
    pub bytes: u64,
    /// By directory.
    pub held: Vec<Held>,
}

impl Order {
    /// Nothing seen yet.
    pub fn new(policy: Policy) -> Self {
        Self {
            model: Model::new(policy),
            next: 0,
            waiting: BTreeMap::new(),
            bytes: 0,
            held: Vec::new(),
        }
    }

    /// Jobs that wait for one before them.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes what became of a job; everything that is complete in order goes through the model.
    pub fn take(&mut self, done: Done) {
        self.waiting.insert(done.number, done);
        while let Some(done) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.bytes += done.bytes;
            std::hint::black_box(self.model.touch(done.blocks.iter().map(|block| block.name)));
            let mut at = 0;
            for run in &done.runs {
                let blocks = &done.blocks[at..at + run.data as usize];
                at += blocks.len();
                let directory = run.directory as usize;
                if self.held.len() <= directory {
                    self.held.resize(directory + 1, Held::default());
                }
                let held = &mut self.held[directory];
                held.total += u64::from(run.zeros + run.data);
                held.zero += u64::from(run.zeros);
                self.model.zeros(u64::from(run.zeros));
                for &block in blocks {
                    let outcome = self.model.write(block);
                    let each = (1u64 << self.model.shift()) as f64;
                    match outcome {
                        Outcome::Passed => {}
                        Outcome::New => {
                            held.unique += each;
                            if let Some(size) = block.lz4_bytes {
                                let each = each * f64::from(1u32 << block.size_shift);
                                held.sized.0 += each;
                                held.sized.1 += each * f64::from(size);
                            }
                        }
                        Outcome::Duplicate | Outcome::Again => held.duplicate += each,
                    }
                }
            }
        }
    }

    /// What all came to.
    pub fn finish(self) -> (Figures, u32, u64, Vec<Held>) {
        let shift = self.model.shift();
        (self.model.finish(), shift, self.bytes, self.held)
    }
}
