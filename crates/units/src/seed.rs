//! Seeds: everything random in a run is derived from one seed, by name.

/// The seed of a run, or of a named part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the part called `name`: equal for equal parents and names, unrelated otherwise.
    pub fn derive(self, name: &str) -> Self {
        // FNV-1a over the name, then the finaliser of SplitMix64 over both.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(mix(self.0 ^ mix(hash)))
    }

    /// Returns the seed of a repeat, from this seed of the run: all variants share it.
    pub fn of_repeat(self, repeat: u32) -> Self {
        self.derive(&format!("repeat {repeat}"))
    }

    /// A generator started from this seed.
    pub fn generator(self) -> SplitMix64 {
        SplitMix64(self.0)
    }
}

/// The generator of Steele, Lea and Flood (2014): 64 bits of state, every value once per period.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `n`, each equally likely (multiply-shift; bias below 2^-32 for n < 2^32). Zero for `n = 0`.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// The finaliser of SplitMix64, a bijection of 64 bits.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl std::fmt::Display for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl std::str::FromStr for Seed {
    type Err = crate::QuantityError;

    /// Reads a decimal number or 0x and hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, crate::QuantityError> {
        match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => text.parse(),
        }
        .map(Self)
        .map_err(|_| crate::QuantityError {
            text: text.to_owned(),
            what: "seed",
            example: "a whole number below 2^64, as in 42 or 0x2a",
        })
    }
}

// JSON readers that use doubles would round a number of 64 bits, so it is text.
crate::as_text!(Seed, "a seed such as 42 or \"0x2a\"");

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn a_seed_is_read_back_from_what_it_prints() {
        for n in [0, 42, u64::MAX] {
            assert_eq!(Seed(n).to_string().parse(), Ok(Seed(n)));
        }
    }

    #[test]
    fn parts_with_other_names_get_other_seeds() {
        let seeds: std::collections::HashSet<_> =
            (0..1000).map(|i| Seed(7).derive(&format!("part {i}"))).collect();
        assert_eq!(seeds.len(), 1000);
        assert_eq!(Seed(7).derive("a"), Seed(7).derive("a"));
    }

    #[test]
    fn numbers_below_n_are_spread_evenly() {
        let mut rng = Seed(1).generator();
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|_| counts[rng.below(10) as usize] += 1);
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
    }
}
