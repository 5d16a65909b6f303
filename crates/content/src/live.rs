//! The live scope: shares of what the addresses hold, constant however often they are overwritten.
//!
//! Each address has its class for ever: zero, duplicate, or unique; classes are dealt out evenly over any stretch of
//! addresses. An address of duplicates holds one of a pool of contents, drawn anew at each write; a unique address
//! gets a new content at each write. The pool belongs to a group of neighbouring addresses. As one address of each
//! pool content counts as its original, there are as many more addresses of duplicates as there are pool contents.

use crate::ContentSpec;
use crate::share::Share;
use crate::strata::{STRATUM, Strata, mix};
use units::Seed;

/// Addresses in a group, about.
const GROUP: u64 = 8192;
/// Addresses that hold a content of the pool, on average; fewer where the packer puts many contents into a block.
const REFERENCES: u64 = 32;
/// References to a physical block that VDO can count.
const COUNTED: u64 = 254;

/// The content that an address is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveBlock {
    /// Zeros.
    Zero,
    /// A new content; the number is the quantile of its size, in 4096ths.
    New(u16),
    /// A content of the pool.
    Pool(u64),
}

/// The classes of addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Live {
    classes: Strata,
    sizes: Strata,
    seed: u64,
    only_zeros: bool,
    zero: Share,
    again: Share,
    /// Blocks of the target; 0 when unknown.
    blocks: u64,
    groups: u64,
    /// Contents in the pool of a group.
    pool: u64,
}

/// Contents in the pool of a group of `group` addresses, for shares `again` of duplicates and `zero` of zero blocks.
fn pool(again: f64, zero: f64, group: u64, most_sharing: u64) -> u64 {
    let references = (COUNTED / most_sharing.max(1)).clamp(4, REFERENCES) as f64;
    let wanted = (again * group as f64 / (references - 1.0)).round();
    // All addresses that are not zero may be duplicates, no more.
    let room = ((1.0 - zero - again) * group as f64).floor();
    if again > 0.0 { wanted.min(room).max(1.0) as u64 } else { 0 }
}

impl Live {
    /// Classes for a target of `blocks` blocks, 0 when that is not known.
    pub fn new(spec: &ContentSpec, blocks: u64, most_sharing: u64, seed: Seed) -> Self {
        let (again, zero) = spec.shares();
        let groups = if blocks == 0 { 1 } else { (blocks / GROUP).max(1) };
        let group = if blocks == 0 { GROUP } else { blocks / groups };
        let pool = pool(again, zero, group.max(1), most_sharing);
        let again = again + pool as f64 / group.max(1) as f64;
        Self {
            classes: Strata::new(seed.derive("classes")),
            sizes: Strata::new(seed.derive("sizes of addresses")),
            seed: seed.derive("pool").0,
            only_zeros: zero >= 1.0,
            zero: Share::of(zero),
            again: Share::of(again.min(1.0 - zero)),
            blocks,
            groups,
            pool,
        }
    }

    /// Addresses that hold each content of the pool, on average.
    pub fn references(&self, spec: &ContentSpec) -> f64 {
        let group = if self.blocks == 0 { GROUP } else { self.blocks / self.groups };
        let (again, _) = spec.shares();
        (again * group as f64 + self.pool as f64) / self.pool.max(1) as f64
    }

    /// Returns what a write to `address` is to leave there; `write` is a number that no other write has.
    #[inline]
    pub fn at(&self, address: u64, write: u64) -> LiveBlock {
        if self.only_zeros {
            return LiveBlock::Zero;
        }
        let stratum = address / STRATUM;
        let within = |share: Share, n: u64| {
            let before = share.before(n * STRATUM);
            (before, share.before((n + 1) * STRATUM) - before)
        };
        let at = self.classes.at(address);
        let ((zeros_before, zeros), (again_before, again)) =
            (within(self.zero, stratum), within(self.again, stratum));
        if at < zeros {
            return LiveBlock::Zero;
        }
        if at < zeros + again {
            let group = if self.blocks == 0 {
                address / GROUP
            } else {
                (u128::from(address.min(self.blocks - 1)) * u128::from(self.groups)
                    / u128::from(self.blocks)) as u64
            };
            let draw = mix(self.seed ^ mix(write));
            let content = ((u128::from(draw) * u128::from(self.pool)) >> 64) as u64;
            return LiveBlock::Pool(group * self.pool + content);
        }
        let unique = stratum * STRATUM - zeros_before - again_before + (at - zeros - again);
        LiveBlock::New(self.sizes.at(unique) as u16)
    }
}

impl ContentSpec {
    /// The share that unique blocks have among all distinct ones in the live scope; all of them in the written one.
    pub(crate) fn new_among_distinct(&self) -> f64 {
        let (again, zero) = (self.dedupe.fraction(), self.zero.fraction());
        if self.scope != crate::Scope::Live || again <= 0.0 {
            return 1.0;
        }
        // Pool contents are not packed with others.
        let pool = pool(again, zero, GROUP, 1) as f64 / GROUP as f64;
        let distinct = (1.0 - zero - again).max(f64::MIN_POSITIVE);
        ((distinct - pool) / distinct).max(0.0)
    }
}
