//! The zipf law over 1..=n for any exponent, without tables of n: rejection-inversion (W. Hörmann and G. Derflinger,
//! "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6 (3), 1996).
//!
//! With h(x) = x^-theta and H its integral, a point is drawn uniformly between H(1.5) - 1 and H(n + 1/2) and mapped back through the inverse of H; it
//! falls to the nearest rank k and is accepted where it lies in the last k^-theta of the interval of k. So each rank has a probability exactly
//! proportional to k^-theta. Instead of H itself its power x^(1-theta) is drawn, which keeps the tail precise for exponents above 1; close to 1,
//! where that power is nearly constant, H is drawn.

use std::f64::consts::LOG2_E;

use units::SplitMix64;

use crate::BATCH;
use crate::math::{exp2, log1p_over, log2, nearest, open_unit};

/// Number of ranks whose bound is stored; beyond them, one common bound on the distance from the rank is enough.
const STORED_BOUNDS: u64 = 1024;
/// Rank from which on every point is accepted.
const SURE: u64 = 1 << 26;
/// Exponents that are nearer to 1 than this are treated as 1.
const NEAR_ONE: f64 = 1e-3;
/// Number of points drawn at a time to replace those that were rejected.
const REDRAWN_POINTS: usize = 4;

/// A zipf law.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: u64,
    theta: f64,
    /// 1 - theta.
    q: f64,
    /// Coordinates grow with the rank; they are drawn between `top` (beyond the last rank) and `top - span`.
    top: f64,
    span: f64,
    /// The smallest accepted coordinate for ranks 1, 2, ..., followed by one that no point reaches.
    least: Box<[f64]>,
    /// Beyond the stored ranks, a point that lies at most this far below its rank is accepted, whatever the rank.
    close: f64,
}

impl Zipf {
    /// The law over 1..=`n` with the exponent `theta` (above 0).
    pub fn new(n: u64, theta: f64) -> Self {
        let n = n.max(1);
        let mut distribution = Self {
            n,
            theta,
            q: 1.0 - theta,
            top: 0.0,
            span: 0.0,
            least: Box::new([]),
            // The interval of k is longer than k^-theta by about k^-theta * theta (theta + 1) / (24 k^2); this allows for four times that.
            close: 0.5 - theta * (theta + 1.0) / (6.0 * (STORED_BOUNDS * STORED_BOUNDS) as f64),
        };
        distribution.top = distribution.coordinate(n as f64 + 0.5, 0.0);
        // The interval of rank 1 is cut to its probability from the start.
        distribution.span = distribution.top - distribution.coordinate(1.5, 1.0);
        let kept = (1..=STORED_BOUNDS).map(|k| distribution.bound(k as f64));
        distribution.least = kept.chain([f64::INFINITY]).collect();
        distribution
    }

    fn is_near_one(&self) -> bool {
        self.q.abs() < NEAR_ONE
    }

    /// The coordinate of H(x) - `less`.
    fn coordinate(&self, x: f64, less: f64) -> f64 {
        if self.is_near_one() {
            // H(x) = (x^q - 1) / q = ln(x) (1 + z/2 + z^2/6 + ...) with z = q ln(x).
            let z = self.q * x.ln();
            let series = (1..12).rev().fold(1.0, |sum, k| 1.0 + sum * z / f64::from(k + 1));
            x.ln() * series - less
        } else {
            self.q.signum() * (x.powf(self.q) - self.q * less)
        }
    }

    /// The smallest coordinate at which rank `k` is accepted.
    fn bound(&self, k: f64) -> f64 {
        self.coordinate(k + 0.5, k.powf(-self.theta))
    }

    /// Draws points between the two ends of the coordinates; returns them, and where they lie among the ranks.
    #[inline]
    fn points<const N: usize>(&self, rng: &mut SplitMix64) -> ([f64; N], [f64; N]) {
        let mut at = [0.0; N];
        for at in &mut at {
            *at = open_unit(rng.next_u64());
        }
        for at in &mut at {
            *at = self.top - *at * self.span;
        }
        let mut x = [0.0; N];
        if self.q == 0.0 {
            for (x, at) in x.iter_mut().zip(&at) {
                *x = exp2(at * LOG2_E);
            }
        } else if self.is_near_one() {
            for (x, at) in x.iter_mut().zip(&at) {
                *x = exp2(at * log1p_over(self.q * at) * LOG2_E);
            }
        } else {
            let (sign, inverse) = (self.q.signum(), 1.0 / self.q);
            for (x, at) in x.iter_mut().zip(&at) {
                *x = exp2(log2(sign * at) * inverse);
            }
        }
        (at, x)
    }

    /// Draws up to `N` ranks, counted from 0; returns them and the number that were accepted.
    #[inline]
    fn round<const N: usize>(&self, rng: &mut SplitMix64) -> ([u64; N], usize) {
        let (at, x) = self.points::<N>(rng);
        let (mut ranks, mut below) = ([0; N], [0.0; N]);
        for ((rank, below), x) in ranks.iter_mut().zip(&mut below).zip(&x) {
            let (whole, rounded) = nearest(*x);
            *rank = whole.clamp(1, self.n);
            *below = rounded - x;
        }
        let mut count = 0;
        for i in 0..N {
            let k = ranks[i];
            // For stored ranks the distance bound is disabled (-1), for the others the coordinate bound is one that no point reaches: this avoids a
            // branch, which the processor would often mispredict.
            let least = self.least[k.min(STORED_BOUNDS + 1) as usize - 1];
            let close = if k <= STORED_BOUNDS { -1.0 } else { self.close };
            let mut accepted = (at[i] >= least) | (below[i] <= close);
            if !accepted && k > STORED_BOUNDS {
                accepted = self.decide(k, at[i]);
            }
            ranks[count] = k - 1;
            count += usize::from(accepted);
        }
        (ranks, count)
    }

    /// Decides for a point beyond the stored ranks. Far out, fewer than one point in 10^13 has to be rejected, and doubles are too coarse to tell
    /// which.
    #[cold]
    fn decide(&self, k: u64, at: f64) -> bool {
        k > SURE || at >= self.bound(k as f64)
    }

    /// Draws one rank, counted from 0.
    pub fn draw(&self, rng: &mut SplitMix64) -> u64 {
        loop {
            if let ([rank], 1) = self.round::<1>(rng) {
                return rank;
            }
        }
    }

    /// Fills `out` with ranks, counted from 0.
    pub(crate) fn batch(&self, rng: &mut SplitMix64, out: &mut [u64; BATCH]) {
        let (ranks, mut done) = self.round::<BATCH>(rng);
        *out = ranks;
        while done < BATCH {
            let (ranks, count) = self.round::<REDRAWN_POINTS>(rng);
            let count = count.min(BATCH - done);
            out[done..done + count].copy_from_slice(&ranks[..count]);
            done += count;
        }
    }
}
