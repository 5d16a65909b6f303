//! Checks that a block is never free while the lock of a sleeping hash zone still offers it to duplicates.

use crate::block::{Block, Data, Pbn};
use crate::core::{Policy, Request, Rule, Rules, Settings, Task, Verb, Volume, Zone};
use crate::device::Device;
use crate::format::{Geometry, Sizes};
use crate::harness::content;
use crate::harness::run::rules_without;
use crate::memory::Memory;
use crate::start::{create, start};

struct Bench {
    volume: Volume,
    memory: Memory,
    /// Operations that the device has not ended.
    held: Vec<crate::core::Operation>,
    written: Vec<Pbn>,
}

impl Bench {
    fn submit(&mut self, lbn: u64, value: u64) {
        let data: Data = Data::new(Block::clone(&content::block(value)));
        self.volume.submit(Request { id: value, verb: Verb::Write { lbn, data, fua: false } });
    }

    /// Lets all zones but one work, and the device end everything but journal blocks, if these are to wait.
    fn turn(&mut self, asleep: Option<Zone>, journal_waits: bool) {
        let journal = self.volume.geometry().journal_at;
        loop {
            let mut ready = self.volume.turn_without(asleep);
            if !journal_waits {
                ready.append(&mut self.held);
            }
            if ready.is_empty() {
                return;
            }
            for operation in ready {
                match operation.task {
                    Task::Write { pbn, .. } if pbn >= journal && journal_waits => {
                        self.held.push(operation);
                        continue;
                    }
                    Task::Write { pbn, .. } => self.written.push(pbn),
                    _ => {}
                }
                let result = self.memory.perform(&operation.task);
                self.volume.complete(operation.id, result);
            }
        }
    }
}

/// Tells if the block of an agent is free after its address was overwritten, while a duplicate waits for the hash zone.
fn freed(rules: Rules) -> bool {
    let sizes =
        Sizes { device: 500, logical: 10_000, slab: 128, journal: 16, index: 0, reserved: 0 };
    let mut memory = Memory::new(sizes.device);
    create(&mut memory, Geometry::new(sizes).unwrap(), [7; 16]).unwrap();
    let settings =
        Settings { policy: Policy::Async, compression: false, rules, ..Settings::default() };
    let (volume, _) = start(&mut memory, &settings).unwrap();
    let mut bench = Bench { volume, memory, held: Vec::new(), written: Vec::new() };
    // The leaf is there from here on.
    bench.submit(9, 0);
    bench.turn(None, false);
    bench.written.clear();
    bench.submit(1, 43);
    bench.turn(None, true);
    let block = bench.written[0];
    // The duplicate reaches the hash zone, which sleeps, before the agent's release does.
    bench.submit(2, 43);
    bench.submit(1, 0);
    bench.turn(Some(Zone::Hash), false);
    let free = bench.volume.is_free(block);
    bench.turn(None, false);
    free
}

#[test]
fn an_agents_block_is_not_free_before_its_fingerprint_is_released() {
    assert!(!freed(Rules::default()));
}

#[test]
fn an_agent_that_gives_its_pin_up_at_its_commit_is_found() {
    assert!(freed(rules_without(Rule::AgentPinned)));
}
