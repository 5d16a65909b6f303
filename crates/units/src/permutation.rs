//! Permutations that are computed instead of stored, and their inverses.

use crate::Seed;

/// A permutation of 0..n, each entry computed without the others: a bijection of the next power of two (xorshifts and odd
/// multipliers, each invertible), applied again while it leaves the range (cycle walking; fewer than two steps on average).
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    add: u64,
    multiply: [u64; ROUNDS],
    divide: [u64; ROUNDS],
}

/// Number of mixing rounds. With three, short ranges show structure (the tests below find it).
const ROUNDS: usize = 4;

/// The multiplicative inverse of an odd number modulo 2^64 (Newton; five correct bits double four times).
fn inverse(odd: u64) -> u64 {
    let first = odd.wrapping_mul(3) ^ 2;
    (0..4).fold(first, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

impl Permutation {
    /// The permutation of 0..`n` that belongs to `seed`; of 0..1 when `n` is 0.
    #[inline]
    pub fn new(n: u64, seed: Seed) -> Self {
        let n = n.max(1);
        let bits = u64::BITS - (n - 1).leading_zeros();
        let mut rng = seed.generator();
        let add = rng.next_u64();
        // Multipliers are 5 modulo 8, so that the low bits, which depend on low bits only, run through a full cycle.
        let multiply = std::array::from_fn(|_| rng.next_u64() & !7 | 5);
        Self {
            n,
            mask: if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) },
            // With a shift by at least half of the bits the xorshift is its own inverse.
            shift: bits.div_ceil(2).max(1),
            add,
            multiply,
            divide: multiply.map(inverse),
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Returns `false`: there is at least one entry.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    #[inline]
    fn step(&self, x: u64) -> u64 {
        let mut x = x.wrapping_add(self.add) & self.mask;
        for multiply in self.multiply {
            x ^= x >> self.shift;
            x = x.wrapping_mul(multiply) & self.mask;
        }
        x ^ x >> self.shift
    }

    #[inline]
    fn back(&self, x: u64) -> u64 {
        let mut x = x ^ x >> self.shift;
        for divide in self.divide.into_iter().rev() {
            x = x.wrapping_mul(divide) & self.mask;
            x ^= x >> self.shift;
        }
        x.wrapping_sub(self.add) & self.mask
    }

    /// Returns entry `i`; every value below n is the entry of exactly one `i` below n.
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        let mut x = self.step(i);
        while x >= self.n {
            x = self.step(x);
        }
        x
    }

    /// Returns which entry `value` is: `index_of(at(i))` is `i`.
    #[inline]
    pub fn index_of(&self, value: u64) -> u64 {
        let mut x = self.back(value);
        while x >= self.n {
            x = self.back(x);
        }
        x
    }

    /// Replaces each index in `entries` (at most 256 of them, all below n) by the entry at that index.
    #[inline]
    pub fn apply<const N: usize>(&self, entries: &mut [u64; N]) {
        const { assert!(N <= 1 << u8::BITS) };
        // Values outside the range are gathered and stepped together, which avoids mispredicted branches.
        let mut outside = [0u8; N];
        let mut count = 0;
        for (i, entry) in entries.iter_mut().enumerate() {
            *entry = self.step(*entry);
            outside[count] = i as u8;
            count += usize::from(*entry >= self.n);
        }
        while count > 0 {
            let mut still = 0;
            for k in 0..count {
                let i = outside[k];
                let entry = &mut entries[usize::from(i) % N];
                *entry = self.step(*entry);
                outside[still] = i;
                still += usize::from(*entry >= self.n);
            }
            count = still;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: usize = 64;

    /// Tells whether every value comes once; all ways to compute it agree.
    fn is_bijection(n: u64, seed: u64) -> bool {
        let permutation = Permutation::new(n, Seed(seed));
        let mut seen = vec![0u64; (n as usize).div_ceil(64)];
        for begin in (0..n).step_by(BATCH) {
            let numbers: [u64; BATCH] = std::array::from_fn(|i| (begin + i as u64) % n);
            let mut batch = numbers;
            permutation.apply(&mut batch);
            for (&i, &x) in numbers.iter().zip(&batch).take((n - begin) as usize) {
                if x >= n || seen[x as usize / 64] >> (x % 64) & 1 == 1 {
                    return false;
                }
                seen[x as usize / 64] |= 1 << (x % 64);
                if permutation.index_of(x) != i || permutation.at(i) != x {
                    return false;
                }
            }
        }
        true
    }

    #[test]
    fn every_value_comes_once_at_any_size_and_is_traced_back() {
        for n in (1..300).chain([4096, 4097, 65_537, 244_140, 262_143]) {
            for seed in 0..3 {
                assert!(is_bijection(n, seed), "n {n}, seed {seed}");
            }
        }
    }

    #[test]
    fn every_value_comes_once_at_a_prime_above_16_million() {
        assert!(is_bijection(16_777_259, 1));
    }

    #[test]
    fn entries_of_the_largest_ranges_are_traced_back() {
        for n in [(1 << 40) + 15, u64::MAX, u64::MAX / 3, 1 << 63] {
            let permutation = Permutation::new(n, Seed(n));
            for i in (0..1000).map(|i| i * (n / 1000)) {
                assert_eq!(permutation.index_of(permutation.at(i)), i);
            }
        }
    }

    #[test]
    fn the_order_looks_random() {
        // Value deciles within each decile of the order, and steps from one and from 16 entries before.
        let chi = |counts: &[u64], n: u64| {
            let mean = n as f64 / counts.len() as f64;
            counts.iter().map(|&c| (c as f64 - mean).powi(2) / mean).sum::<f64>()
        };
        for n in [1000u64, 4096, 65_536, 244_140, 1_000_003] {
            for seed in 0..10 {
                let order = Permutation::new(n, Seed(seed));
                let values: Vec<_> = (0..n).map(|i| order.at(i)).collect();
                let mut cells = vec![0u64; 100];
                for (i, x) in values.iter().enumerate() {
                    cells[(i as u64 * 10 / n * 10 + x * 10 / n) as usize] += 1;
                }
                // 81 degrees of freedom: 99.99 % lie below 138.
                assert!(chi(&cells, n) < 138.0, "{n} {seed}: {}", chi(&cells, n));
                for lag in [1, 2, 16] {
                    let mut steps = vec![0u64; 10];
                    for pair in values.windows(lag + 1) {
                        steps[((pair[lag] + n - pair[0]) % n * 10 / n) as usize] += 1;
                    }
                    // 9 degrees of freedom: 99.99 % lie below 33.7.
                    assert!(chi(&steps, n - lag as u64) < 33.7, "{n} {seed} {lag}: {steps:?}");
                }
            }
        }
    }

    #[test]
    fn seeds_give_other_orders() {
        let order =
            |seed| (0..50).map(|i| Permutation::new(50, Seed(seed)).at(i)).collect::<Vec<_>>();
        let orders: std::collections::HashSet<_> = (0..100).map(order).collect();
        assert_eq!(orders.len(), 100);
    }
}
