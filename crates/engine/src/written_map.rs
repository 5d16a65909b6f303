//! The blocks of a simulated device that were written, and those that were overwritten. A model keeps no data, but the amount of data that its layers
//! store depends on this.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use units::Bytes;

/// The blocks of a simulated device over all loads on it; clones refer to the same device.
#[derive(Debug, Clone)]
pub struct WrittenMap(Arc<Mutex<Blocks>>);

/// Numbers of blocks written since the last call of [`WrittenMap::take`], in blocks of 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrittenSince {
    /// Number of blocks, each counted as often as it was written.
    pub written: u64,
    /// Number of these that nobody had written before.
    pub fresh: u64,
    /// Number of these that held what a load of zeros had written.
    pub over_zeros: u64,
}

#[derive(Debug)]
struct Blocks {
    /// A bit for each block that was written.
    mapped: Vec<u64>,
    /// A bit for each block that holds more than zeros.
    data: Vec<u64>,
    /// Tells whether the current load writes nothing but zeros.
    zeros: bool,
    touched: WrittenSince,
}

impl WrittenMap {
    /// A device of this size that nobody has written to.
    pub fn new(bytes: Bytes) -> Self {
        let words = bytes.0.div_ceil(64 * reduce::BLOCK as u64) as usize;
        let (mapped, data) = (vec![0; words], vec![0; words]);
        Self(Arc::new(Mutex::new(Blocks {
            mapped,
            data,
            zeros: false,
            touched: WrittenSince::default(),
        })))
    }

    /// Sets whether loads write nothing but zeros from now on.
    pub fn writes_zeros(&self, zeros: bool) {
        self.blocks().zeros = zeros;
    }

    /// Returns what was written since the last call.
    pub fn take(&self) -> WrittenSince {
        std::mem::take(&mut self.blocks().touched)
    }

    /// Notes that an I/O has written `length` bytes at `offset`.
    pub(crate) fn write(&self, offset: u64, length: u32) {
        let block = reduce::BLOCK as u64;
        let mut blocks = self.blocks();
        for at in offset / block..(offset + u64::from(length)).div_ceil(block) {
            blocks.write(at);
        }
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks {
    fn write(&mut self, at: u64) {
        let (word, bit) = ((at / 64) as usize, 1 << (at % 64));
        let (Some(mapped), Some(data)) = (self.mapped.get_mut(word), self.data.get_mut(word))
        else {
            return;
        };
        self.touched.written += 1;
        self.touched.fresh += u64::from(*mapped & bit == 0);
        self.touched.over_zeros += u64::from(*mapped & !*data & bit != 0);
        *mapped |= bit;
        *data = if self.zeros { *data & !bit } else { *data | bit };
    }
}

/// Two maps are equal when they describe the same device.
impl PartialEq for WrittenMap {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_blocks_overwritten_zeros_and_overwritten_data_are_told_apart() {
        let surface = WrittenMap::new(Bytes(1 << 20));
        surface.writes_zeros(true);
        surface.write(0, 8192);
        assert_eq!(surface.take(), WrittenSince { written: 2, fresh: 2, over_zeros: 0 });
        surface.writes_zeros(false);
        surface.write(4096, 8192);
        surface.write(4096, 512);
        assert_eq!(surface.take(), WrittenSince { written: 3, fresh: 1, over_zeros: 1 });
        assert_eq!(surface.take(), WrittenSince::default());
        surface.write(1 << 20, 4096);
        assert_eq!(surface.take(), WrittenSince::default(), "beyond its end there is nothing");
    }
}
