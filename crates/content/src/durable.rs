//! The cost of durable writes to the saving of VDO's packer.

use reduce::BLOCK;

use crate::spec::ContentSpec;
use crate::warning::Warning;

/// Least cost that is worth a warning, percentage points.
const POINTS: f64 = 0.1;

/// The way in which writes are made durable, as far as it matters to VDO's packer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// A flush follows after every `every_blocks` written blocks, zero blocks and duplicates included.
    Flush {
        /// Blocks of all jobs between two flushes.
        every_blocks: u64,
        /// Blocks in flight over all jobs.
        in_flight_blocks: u64,
    },
    /// One write in `every` is durable by itself, through FUA or O_DSYNC; with O_DSYNC `every` is 1.
    Fua {
        /// Number of writes for each durable one, itself included.
        every: u64,
    },
}

/// Blocks that VDO has under way before its packer, for each that the load has in flight: VDO acknowledges a write before it packs it. Measured
/// with fio and with Fathom on dm-vdo 9.1, 32 in flight, a flush after every 128, 32, 8 and 1 writes: 45, 15 to 19, 8 and 3 % were saved
/// of 66.7 %.
const UNDER_WAY: f64 = 1.4;

/// The share of new blocks that still gets to the packer between two flushes, `every` blocks apart. dm-vdo packs no block that was under
/// way when a flush came (packer.c: `flush_generation`). For a block placed uniformly between two flushes the probability is
/// 1 - m/n (1 - exp(-n/m)), with n = `every` and exponentially distributed times under way of m = `under_way` blocks on average.
fn packed_between_flushes(every: f64, under_way: f64) -> f64 {
    let lost = under_way / every;
    1.0 - lost * (1.0 - (-1.0 / lost).exp())
}

impl ContentSpec {
    /// Returns a warning about the saving that VDO's packer loses because writes are made durable; `None` where that is next to nothing.
    pub fn flush_warning(&self, durable: Durable) -> Option<Warning> {
        if self.unit() != BLOCK {
            return None;
        }
        let (again, zero) = self.shares();
        let new = |blocks: u64| (blocks as f64 * (1.0 - again - zero)).max(1.0);
        let sizes = self.sizes();
        let without_percent = sizes.packer_saving_percent();
        let (every_blocks, with_percent) = match durable {
            // What is written with FUA is never packed; the packer is not emptied by it.
            Durable::Fua { every } => {
                let packed = 1.0 - 1.0 / every.max(1) as f64;
                (every, without_percent * packed)
            }
            Durable::Flush { every_blocks, in_flight_blocks } => {
                let every = new(every_blocks).round();
                let left = packed_between_flushes(every, UNDER_WAY * new(in_flight_blocks));
                (every as u64, left * sizes.saving_with_flushes_percent(every as u64))
            }
        };
        (without_percent - with_percent > POINTS).then_some(Warning::FlushesCost {
            every_blocks,
            without_percent,
            with_percent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_leave_the_packer_about_what_they_did_on_the_module() {
        let content: ContentSpec = toml::from_str("compress = \"4x\"").unwrap();
        for (every_blocks, saved) in [(128, 44.0), (32, 17.0), (8, 8.0), (1, 3.0)] {
            let durable = Durable::Flush { every_blocks, in_flight_blocks: 32 };
            let Some(Warning::FlushesCost { with_percent, .. }) = content.flush_warning(durable)
            else {
                panic!("no warning with a flush after every {every_blocks}");
            };
            assert!((with_percent - saved).abs() < 4.0, "{every_blocks}: {with_percent}");
        }
        assert!(content.flush_warning(Durable::Fua { every: 1 }).is_some());
        let seldom = Durable::Flush { every_blocks: 1 << 20, in_flight_blocks: 32 };
        assert_eq!(content.flush_warning(seldom), None);
    }
}
