//! A device with a volatile cache, whose operations end in any order, and whose power can be cut.

use units::SplitMix64;

use crate::block::{Block, Data, Pbn};
use crate::core::{Operation, OperationId, Task};
use crate::device::{Device, DeviceError};

struct Write {
    number: u64,
    pbn: Pbn,
    data: Data,
    done: bool,
}

struct UnderWay {
    id: OperationId,
    task: Task,
    /// The number of a write; for a flush, `covers` has the numbers of the writes that it makes durable.
    number: u64,
    covers: Vec<u64>,
}

pub(super) struct Disk {
    pub medium: Vec<Block>,
    volatile: Vec<Write>,
    under_way: Vec<UnderWay>,
    written: u64,
    /// Operations of recovery that are left before the power is cut.
    pub budget: Option<u64>,
    /// Two operations on one block at the same time, one of them a write, if that happened.
    pub violation: Option<String>,
    /// Number of the next writes that fail.
    pub failing_writes: u64,
    /// Number of the next flushes that fail.
    pub failing_flushes: u64,
    /// A block to watch, and whether a write of it without FUA has ended.
    pub watched: (Option<Pbn>, bool),
}

impl Disk {
    pub fn new(medium: Vec<Block>) -> Self {
        Self {
            medium,
            volatile: Vec::new(),
            under_way: Vec::new(),
            written: 0,
            budget: None,
            violation: None,
            failing_writes: 0,
            failing_flushes: 0,
            watched: (None, false),
        }
    }

    pub fn begin(&mut self, operation: Operation) {
        let Operation { id, task } = operation;
        let writes = |task: &Task| matches!(task, Task::Write { .. });
        let place = |task: &Task| match task {
            Task::Read { pbn } | Task::Write { pbn, .. } => Some(*pbn),
            Task::Flush => None,
        };
        let met = self.under_way.iter().find(|other| {
            place(&task).is_some()
                && place(&other.task) == place(&task)
                && (writes(&task) || writes(&other.task))
        });
        if let Some(other) = met {
            self.violation = Some(format!("{:?} while {:?}", place(&task), place(&other.task)));
        }
        let (mut number, mut covers) = (0, Vec::new());
        match &task {
            Task::Write { pbn, data, .. } => {
                self.written += 1;
                number = self.written;
                self.volatile.push(Write { number, pbn: *pbn, data: data.clone(), done: false });
            }
            Task::Flush => {
                covers = self.volatile.iter().filter(|w| w.done).map(|w| w.number).collect();
            }
            Task::Read { .. } => {}
        }
        self.under_way.push(UnderWay { id, task, number, covers });
    }

    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Ends one operation, any.
    pub fn end(&mut self, random: &mut SplitMix64) -> (OperationId, Option<Option<Box<Block>>>) {
        let at = random.below(self.under_way.len() as u64) as usize;
        let UnderWay { id, task, number, covers } = self.under_way.swap_remove(at);
        match task {
            Task::Read { pbn } => (id, Some(Some(Box::new(self.newest(pbn))))),
            Task::Write { pbn, data, fua } => {
                if self.failing_writes > 0 {
                    self.failing_writes -= 1;
                    return (id, None);
                }
                if fua {
                    self.volatile.retain(|w| w.pbn != pbn || w.number > number);
                    self.medium[pbn as usize] = Block::clone(&data);
                } else if let Some(write) = self.volatile.iter_mut().find(|w| w.number == number) {
                    write.done = true;
                    self.watched.1 |= self.watched.0 == Some(pbn);
                }
                (id, Some(None))
            }
            Task::Flush => {
                if self.failing_flushes > 0 {
                    self.failing_flushes -= 1;
                    return (id, None);
                }
                let medium = &mut self.medium;
                self.volatile.retain(|w| {
                    let covered = covers.binary_search(&w.number).is_ok();
                    if covered {
                        medium[w.pbn as usize] = Block::clone(&w.data);
                    }
                    !covered
                });
                (id, Some(None))
            }
        }
    }

    fn newest(&self, pbn: Pbn) -> Block {
        let last = self.volatile.iter().rev().find(|w| w.pbn == pbn);
        last.map_or_else(|| self.medium[pbn as usize].clone(), |w| Block::clone(&w.data))
    }

    /// Cuts the power: of the data not yet on the medium, each sector, or each write, is kept or lost at random.
    pub fn cut(&mut self, random: &mut SplitMix64) {
        self.under_way.clear();
        (self.budget, self.watched) = (None, (None, false));
        let keep = [0.0, 1.0, 0.5, random.unit()][random.below(4) as usize];
        let whole = random.below(2) == 0;
        for write in self.volatile.drain(..) {
            let all = random.unit() < keep;
            let sectors = write.data.0.chunks(512).enumerate();
            for (n, sector) in sectors {
                let kept = if whole { all } else { random.unit() < keep };
                if kept {
                    self.medium[write.pbn as usize].0[n * 512..][..512].copy_from_slice(sector);
                }
            }
        }
    }

    fn spend(&mut self, pbn: Pbn) -> Result<(), DeviceError> {
        match &mut self.budget {
            Some(0) => Err(DeviceError { pbn, reason: "cut".into() }),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Device for Disk {
    fn read(&mut self, pbn: Pbn, block: &mut Block) -> Result<(), DeviceError> {
        *block = self.newest(pbn);
        Ok(())
    }

    fn write(&mut self, pbn: Pbn, block: &Block) -> Result<(), DeviceError> {
        self.spend(pbn)?;
        self.written += 1;
        let (number, data) = (self.written, Data::new(block.clone()));
        self.volatile.push(Write { number, pbn, data, done: true });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        self.spend(0)?;
        for write in self.volatile.drain(..) {
            self.medium[write.pbn as usize] = Block::clone(&write.data);
        }
        Ok(())
    }
}
