//! Random places: each is drawn from a distribution, independently of those before it.

use units::SplitMix64;

use crate::math::{exp2, log2, open_unit};
use crate::normal::Ziggurat;
use crate::zipf::Zipf;
use crate::{BATCH, Pattern};

/// A distribution of places from 0 on.
#[derive(Debug, Clone)]
pub(crate) enum Distribution {
    /// All places are equally likely.
    Uniform { places: u64 },
    /// Place k - 1 with a probability proportional to k^-theta.
    Zipf(Box<Zipf>),
    /// Place floor(n u^power): the share h of the places gets the share 1 - h of the draws (J. Gray et al., "Quickly generating billion-record
    /// synthetic databases", SIGMOD 1994, "self-similar").
    Pareto { places: u64, power: f64 },
    /// Normal distribution around `centre`; draws outside the range are repeated.
    Normal { places: u64, centre: f64, sigma: f64, ziggurat: Ziggurat },
    /// Zones: the upper bounds of their shares of the draws (in parts of 2^64, without the last zone), and the first place and length of each.
    Zones { bounds: Box<[u64]>, zones: Box<[(u64, u64)]> },
}

impl Distribution {
    /// The distribution of `pattern` over `places` places of `align` bytes each; uniform for patterns that are not a distribution.
    pub(crate) fn new(pattern: &Pattern, places: u64, align: u64) -> Self {
        match pattern {
            Pattern::Zipf { theta } => Self::Zipf(Box::new(Zipf::new(places, *theta))),
            Pattern::Pareto { h } => Self::Pareto { places, power: h.ln() / (-h).ln_1p() },
            Pattern::Normal { sigma_percent, centre_percent } => Self::Normal {
                places,
                centre: places as f64 * centre_percent / 100.0,
                sigma: places as f64 * sigma_percent / 100.0,
                ziggurat: Ziggurat::new(),
            },
            Pattern::Zones(written) => {
                let sizes = written.sizes(places.saturating_mul(align)).unwrap_or_default();
                if sizes.len() != written.zones().len() {
                    return Self::Uniform { places };
                }
                let (mut bytes, mut first, mut zones) = (0u64, 0, Vec::new());
                for size in sizes {
                    bytes += size;
                    let end = (bytes + align / 2) / align;
                    zones.push((first, end - first));
                    first = end;
                }
                let (mut percent, mut bounds) = (0.0, Vec::new());
                for zone in &written.zones()[..zones.len() - 1] {
                    percent += zone.ios_percent;
                    bounds.push((percent / 100.0 * 2f64.powi(64)) as u64);
                }
                Self::Zones { bounds: bounds.into(), zones: zones.into() }
            }
            _ => Self::Uniform { places },
        }
    }

    /// Fills `out` with places.
    #[inline]
    pub(crate) fn batch(&self, rng: &mut SplitMix64, out: &mut [u64; BATCH]) {
        match self {
            Self::Uniform { places } => out.fill_with(|| rng.below(*places)),
            Self::Zipf(zipf) => zipf.batch(rng, out),
            Self::Pareto { places, power } => {
                let mut u = [0.0; BATCH];
                u.fill_with(|| open_unit(rng.next_u64()));
                for u in &mut u {
                    *u = exp2(log2(*u) * power) * *places as f64;
                }
                for (place, u) in out.iter_mut().zip(u) {
                    *place = (u as i64 as u64).min(places - 1);
                }
            }
            Self::Normal { places, centre, sigma, ziggurat } => {
                for place in out {
                    *place = loop {
                        let at = centre + sigma * ziggurat.draw(rng);
                        if at >= 0.0 && at < *places as f64 {
                            break (at as i64 as u64).min(places - 1);
                        }
                    };
                }
            }
            Self::Zones { bounds, zones } => {
                for place in out {
                    let drawn = rng.next_u64();
                    let zone =
                        bounds.iter().map(|bound| usize::from(drawn >= *bound)).sum::<usize>();
                    let (first, length) = zones[zone];
                    *place = first + rng.below(length);
                }
            }
        }
    }
}
