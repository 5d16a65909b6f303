//! Permutations without memory.

use units::Seed;

/// A permutation of 0..n, each entry computed by itself: a bijection of the next power of two, applied again while
/// it leaves the range (cycle walking; fewer than two steps on average).
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    add: u64,
    multiply: [u64; 4],
}

impl Permutation {
    /// The permutation of 0..`n` that belongs to `seed`; of 0..1 when `n` is 0.
    pub fn new(n: u64, seed: Seed) -> Self {
        let n = n.max(1);
        let bits = u64::BITS - (n - 1).leading_zeros();
        let mut rng = seed.generator();
        Self {
            n,
            mask: if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) },
            shift: bits.div_ceil(2).max(1),
            add: rng.next_u64(),
            // 5 modulo 8: the low bits, which only depend on low bits, run through a full cycle.
            multiply: std::array::from_fn(|_| rng.next_u64() & !7 | 5),
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Never: there is at least one entry.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Entry `i`; every value below n for exactly one `i` below n.
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        let mut x = i;
        loop {
            x = x.wrapping_add(self.add) & self.mask;
            for multiply in self.multiply {
                x ^= x >> self.shift;
                x = x.wrapping_mul(multiply) & self.mask;
            }
            x ^= x >> self.shift;
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_bijection(n: u64, seed: u64) -> bool {
        let permutation = Permutation::new(n, Seed(seed));
        let mut seen = vec![0u64; (n as usize).div_ceil(64)];
        for i in 0..n {
            let x = permutation.at(i);
            if x >= n || seen[x as usize / 64] >> (x % 64) & 1 == 1 {
                return false;
            }
            seen[x as usize / 64] |= 1 << (x % 64);
        }
        true
    }

    #[test]
    fn every_value_comes_once_at_any_size() {
        for n in (1..300).chain([4096, 65_537, 244_140]) {
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
    fn the_order_looks_random() {
        // Value deciles within each decile of the order, and steps from one and from 16 entries before.
        let chi = |counts: &[u64], n: u64| {
            let mean = n as f64 / counts.len() as f64;
            counts.iter().map(|&c| (c as f64 - mean).powi(2) / mean).sum::<f64>()
        };
        for n in [1000u64, 4096, 65_536, 244_140, 1_000_003] {
            for seed in 0..10 {
                let permutation = Permutation::new(n, Seed(seed));
                let values: Vec<_> = (0..n).map(|i| permutation.at(i)).collect();
                let (mut cells, mut steps) = ([0; 100], [[0; 10]; 2]);
                for (i, &x) in (0..n).zip(&values) {
                    cells[(i * 10 / n * 10 + x * 10 / n) as usize] += 1;
                    for (steps, back) in steps.iter_mut().zip([1, 16]) {
                        let before = values[((i + n - back) % n) as usize];
                        steps[((x + n - before) % n * 10 / n) as usize] += 1;
                    }
                }
                // Limits that random orders stay under 9999 times in 10,000; there are 150 comparisons, all fixed.
                assert!(chi(&cells, n) < 145.0, "n {n}, seed {seed}: {}", chi(&cells, n));
                for steps in steps {
                    assert!(chi(&steps, n) < 34.0, "n {n}, seed {seed}: {}", chi(&steps, n));
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
