//! Saving of VDO's packer, solved for the LZ4 sizes and shares that blocks have to have.
//!
//! Blocks whose LZ4 size lies in (4060/(k+1), 4060/k] share a physical block by k. Written once, that saves 1 - 1/k
//! of them. Under random overwrites a shared block stays until its last fragment is dead: k fragments with independent
//! lives end after H_k = 1 + 1/2 + ... + 1/k mean lives, so that the saving falls to 1 - H_k / k.

use reduce::{BLOCK, PAYLOAD, SLOTS};

/// Blocks of one size among blocks that LZ4 cannot compress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mixture {
    /// LZ4 size of the compressible blocks, bytes.
    pub lz4_bytes: usize,
    /// Their share.
    pub share: f64,
}

/// Returns what k blocks that share a physical one save, as a fraction: written once, or live under random overwrites.
pub(crate) fn of_sharing(k: usize, live: bool) -> f64 {
    let harmonic: f64 = (1..=k).map(|i| 1.0 / i as f64).sum();
    1.0 - if live { harmonic } else { 1.0 } / k.max(1) as f64
}

/// The most that can be saved, as a fraction.
pub(crate) fn most(live: bool) -> f64 {
    of_sharing(SLOTS, live)
}

/// The blocks that save `ask`, a fraction, with as few sharing as can be; `None` beyond the most.
pub(crate) fn solve(ask: f64, live: bool) -> Option<Mixture> {
    if ask <= 0.0 {
        return Some(Mixture { lz4_bytes: BLOCK, share: 0.0 });
    }
    let k = (2..=SLOTS).find(|&k| of_sharing(k, live) >= ask - 1e-9)?;
    // The upper third of the sizes that k blocks share: room for the few bytes that sizes vary, no more gain than need be.
    let (over, most) = (PAYLOAD / (k + 1), PAYLOAD / k);
    let lz4_bytes = most - ((most - over) / 3).min(100);
    Some(Mixture { lz4_bytes, share: (ask / of_sharing(k, live)).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reduce::fragments_per_block;

    #[test]
    fn every_ask_up_to_the_most_is_solved() {
        for ask in (0..=928).map(|n| f64::from(n) / 1000.0) {
            let mixture = solve(ask, false).unwrap();
            let k = f64::from(fragments_per_block(mixture.lz4_bytes));
            assert!((mixture.share * (1.0 - 1.0 / k) - ask).abs() < 1e-9, "{ask}: {mixture:?}");
        }
        assert_eq!(solve(0.93, false), None);
        assert_eq!(solve(0.77, true), None);
    }

    #[test]
    fn the_live_figures_are_those_that_were_measured() {
        for (k, live) in [(2, 25.0), (3, 38.9), (14, 76.8)] {
            assert!((100.0 * of_sharing(k, true) - live).abs() < 0.1, "{k}");
        }
    }
}
