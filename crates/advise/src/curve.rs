//! The curve: how often a least-recently-used cache hits, by the number of chunks that it holds.

/// Parts into which each doubling of a distance is divided.
const PARTS: u64 = 128;

/// Distances between touches of the same chunk, counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Touches by the part of their distance.
    counted: Vec<f64>,
    /// All touches, the first ones of each chunk among them.
    touches: f64,
}

/// Returns the part that a distance is in: distances below [`PARTS`] have one each.
fn part(distance: u64) -> usize {
    if distance < PARTS {
        return distance as usize;
    }
    let doublings = u64::from(distance.ilog2() - PARTS.ilog2());
    (doublings * PARTS + (distance >> doublings)) as usize
}

/// Returns the first distance of a part.
fn first_of(part: usize) -> u64 {
    let part = part as u64;
    if part < 2 * PARTS {
        return part;
    }
    let doublings = part / PARTS - 1;
    (part - doublings * PARTS).checked_shl(doublings as u32).unwrap_or(u64::MAX)
}

impl Curve {
    /// Counts a touch that stands for `weight` touches; `distance` other chunks were touched since the last touch of its chunk.
    pub(crate) fn add(&mut self, distance: u64, weight: f64) {
        let part = part(distance);
        if self.counted.len() <= part {
            self.counted.resize(part + 1, 0.0);
        }
        self.counted[part] += weight;
    }

    /// Returns the curve with every count times `scale`.
    pub(crate) fn scaled(&self, scale: f64) -> Self {
        let counted = self.counted.iter().map(|count| count * scale).collect();
        Self { counted, touches: self.touches * scale }
    }

    /// Returns the curve with `touches` as the number of all touches; those without a distance are misses at any size.
    pub(crate) fn with_touches(self, touches: f64) -> Self {
        Self { touches, ..self }
    }

    /// Returns the curve of the touches of both curves.
    pub fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.touches += other.touches;
        both.counted.resize(self.counted.len().max(other.counted.len()), 0.0);
        both.counted.iter_mut().zip(&other.counted).for_each(|(sum, more)| *sum += more);
        both
    }

    /// Returns the share of the touches that hit a cache of `chunks` chunks, in percent; `None` without touches.
    pub fn hits_percent(&self, chunks: f64) -> Option<f64> {
        let mut hits = 0.0;
        for (part, count) in self.counted.iter().enumerate() {
            let (first, end) = (first_of(part) as f64, first_of(part + 1) as f64);
            if chunks <= first {
                break;
            }
            // Within a part touches are spread evenly.
            hits += count * ((chunks - first) / (end - first)).min(1.0);
        }
        (self.touches > 0.0).then(|| (100.0 * hits / self.touches).clamp(0.0, 100.0))
    }

    /// Returns the share of the touches that hit a cache with room for everything, in percent; `None` without touches.
    pub fn most_percent(&self) -> Option<f64> {
        self.hits_percent(f64::INFINITY)
    }

    /// Returns the fewest chunks with which a cache hits `percent` of the touches; `None` where none does.
    pub fn chunks_for(&self, percent: f64) -> Option<f64> {
        let mut hits = 0.0;
        let wanted = percent / 100.0 * self.touches;
        for (part, count) in self.counted.iter().enumerate() {
            if hits + count >= wanted && *count > 0.0 {
                let (first, end) = (first_of(part) as f64, first_of(part + 1) as f64);
                return Some(
                    (first + (end - first) * ((wanted - hits) / count).clamp(0.0, 1.0)).ceil(),
                );
            }
            hits += count;
        }
        None
    }

    /// Returns the touches that miss a cache of `chunks` chunks.
    pub fn misses(&self, chunks: f64) -> f64 {
        self.hits_percent(chunks).map_or(0.0, |hits| self.touches * (1.0 - hits / 100.0))
    }

    /// Returns the fewest chunks from which on no doubling of a cache brings `points` percentage points more hits.
    pub fn stops_at(&self, points: f64) -> f64 {
        // Hits of a cache with as many chunks as the first distance of each part.
        let mut hits = vec![0.0];
        for count in &self.counted {
            hits.push(hits.last().unwrap_or(&0.0) + count);
        }
        let at = |part: usize| hits.get(part).or(hits.last()).copied().unwrap_or(0.0);
        let brings = |step: usize| at(part(first_of(step).saturating_mul(2))) - at(step);
        let wanted = points / 100.0 * self.touches;
        let last = (1..hits.len()).rev().find(|step| brings(*step) >= wanted);
        last.map_or(1.0, |step| first_of(step + 1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_without_a_gap() {
        for at in 0..5000 {
            assert!(first_of(at) < first_of(at + 1), "{at}");
            assert_eq!((part(first_of(at)), part(first_of(at + 1) - 1)), (at, at));
        }
        assert!(first_of(part(u64::MAX)) > u64::MAX / 2);
    }

    #[test]
    fn hits_and_chunks_are_two_ways_to_read_one_curve() {
        let mut curve = Curve::default();
        (0..1000u64).for_each(|distance| curve.add(distance, 1.0));
        let curve = curve.with_touches(2000.0);
        for chunks in [1.0, 100.0, 512.0, 1000.0] {
            let percent = curve.hits_percent(chunks).unwrap();
            assert!((percent - chunks / 20.0).abs() < 0.05, "{chunks}: {percent}");
            assert!((curve.chunks_for(percent).unwrap() - chunks).abs() <= 1.0);
        }
        assert_eq!((curve.most_percent(), curve.chunks_for(51.0)), (Some(50.0), None));
        assert_eq!(Curve::default().most_percent(), None);
    }
}
