//! Shares that are kept by counting: after any number of turns, each count is within one of what was asked.

/// Parts that make a whole: shares are kept to 10^-7 percent.
const WHOLE: u64 = 1_000_000_000;

/// A share below one, as a fraction of 2^64 (rounded up, so that ten times a tenth is one).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share(u64);

impl Share {
    /// `fraction` of all turns, kept to 10^-9.
    pub fn of(fraction: f64) -> Self {
        Self::ratio((fraction.clamp(0.0, 1.0) * WHOLE as f64).round() as u64, WHOLE)
    }

    /// `parts` of every `whole` turns; all but one in 2^64 when it is all.
    pub fn ratio(parts: u64, whole: u64) -> Self {
        let scaled = (u128::from(parts) << 64).div_ceil(u128::from(whole.max(1)));
        Self(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// The share as a number from 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0 as f64 / 2f64.powi(64)
    }

    /// Returns how many of the first `n` turns it takes.
    #[inline]
    pub fn before(self, n: u64) -> u64 {
        ((u128::from(n) * u128::from(self.0)) >> 64) as u64
    }

    /// Tells whether it takes turn `n`, counted from 0. Never the first one.
    #[inline]
    pub fn takes(self, n: u64) -> bool {
        n.wrapping_mul(self.0).checked_add(self.0).is_none()
    }

    /// Its turns from `n` on, one after the other, without a multiplication for each.
    #[inline]
    pub fn turns_from(self, n: u64) -> Turns {
        Turns { share: self.0, fraction: n.wrapping_mul(self.0) }
    }

    /// The `k`th turn that it does not take, counted from 0.
    #[inline]
    pub fn left(self, k: u64) -> u64 {
        ((u128::from(k) << 64) / ((1 << 64) - u128::from(self.0))) as u64
    }

    /// The `k`th turn that it takes, counted from 0; 2^63 when there is none.
    pub fn turn(self, k: u64) -> u64 {
        let turns = ((u128::from(k) + 1) << 64).checked_div(u128::from(self.0));
        let ceil =
            turns.map(|t| t + u128::from((t * u128::from(self.0)) >> 64 < u128::from(k) + 1));
        ceil.and_then(|t| u64::try_from(t).ok())
            .map_or(1 << 63, |t| t.min(1 << 63).saturating_sub(1))
    }
}

/// Turns of a share, asked one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    share: u64,
    /// The part of a turn that has been saved up, as a fraction of 2^64.
    fraction: u64,
}

impl Turns {
    /// Tells whether the share takes the next turn.
    #[inline]
    pub fn takes_next(&mut self) -> bool {
        let taken;
        (self.fraction, taken) = self.fraction.overflowing_add(self.share);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_as_often_as_asked_at_every_length() {
        for (parts, whole) in [(0, 1), (1, 10), (333, 1000), (1, 2), (9, 10), (999, 1000)] {
            let share = Share::ratio(parts, whole);
            let (mut taken, mut left) = (0, 0);
            for n in 0..10_000 {
                assert_eq!(share.before(n), taken);
                assert_eq!(taken, n * parts / whole, "{parts}/{whole} at {n}");
                if share.takes(n) {
                    assert_eq!(share.turn(taken), n, "{parts}/{whole}");
                    taken += 1;
                } else {
                    assert_eq!(share.left(left), n, "{parts}/{whole}");
                    left += 1;
                }
            }
        }
        assert_eq!(Share::of(0.0).turn(5), 1 << 63);
    }
}
