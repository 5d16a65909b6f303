//! Places in time, of which each is taken or not, and how many are taken up to one of them (the tree of Fenwick, 1994).

/// Counts taken places; they are numbered from 1.
#[derive(Debug, Clone)]
pub(crate) struct Fenwick {
    sums: Vec<u32>,
}

impl Fenwick {
    /// Creates `places` places of which the first `taken` are taken.
    pub(crate) fn new(places: usize, taken: usize) -> Self {
        let lowest = |place: usize| place & place.wrapping_neg();
        let sum = |place: usize| place.min(taken) - (place - lowest(place)).min(taken);
        Self { sums: (0..=places).map(|place| sum(place) as u32).collect() }
    }

    /// Returns how many places there are.
    pub(crate) fn places(&self) -> usize {
        self.sums.len() - 1
    }

    /// Takes a place.
    pub(crate) fn take(&mut self, mut place: usize) {
        while let Some(sum) = self.sums.get_mut(place) {
            *sum += 1;
            place += place & place.wrapping_neg();
        }
    }

    /// Leaves a place.
    pub(crate) fn leave(&mut self, mut place: usize) {
        while let Some(sum) = self.sums.get_mut(place) {
            *sum -= 1;
            place += place & place.wrapping_neg();
        }
    }

    /// Returns how many places up to this one are taken.
    pub(crate) fn up_to(&self, mut place: usize) -> u32 {
        let mut sum = 0;
        while place > 0 {
            sum += self.sums.get(place).copied().unwrap_or(0);
            place &= place - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_places_are_counted_as_one_by_one() {
        let mut tree = Fenwick::new(37, 5);
        let mut plain = [false; 38];
        plain[1..=5].fill(true);
        for (place, take) in [(3, false), (20, true), (37, true), (1, false), (3, true), (36, true)]
        {
            if take {
                tree.take(place);
            } else {
                tree.leave(place);
            }
            plain[place] = take;
            for end in 0..=37 {
                let counted = plain[..=end].iter().filter(|taken| **taken).count();
                assert_eq!(tree.up_to(end) as usize, counted);
            }
        }
    }
}
