//! Places in time, each with a weight, and the weights up to one of them (the tree of Fenwick, 1994).

/// Adds up the weights of places; they are numbered from 1.
#[derive(Debug, Clone)]
pub(crate) struct Fenwick {
    sums: Vec<u64>,
}

impl Fenwick {
    /// Creates `places` places: the first ones with these weights, the others with none.
    pub(crate) fn new(places: usize, weights: impl IntoIterator<Item = u64>) -> Self {
        let mut sums = vec![0; places + 1];
        sums.iter_mut().skip(1).zip(weights).for_each(|(sum, weight)| *sum = weight);
        for place in 1..=places {
            let (sum, above) = (sums[place], place + (place & place.wrapping_neg()));
            if let Some(more) = sums.get_mut(above) {
                *more += sum;
            }
        }
        Self { sums }
    }

    /// Returns how many places there are.
    pub(crate) fn places(&self) -> usize {
        self.sums.len() - 1
    }

    /// Gives an empty place a weight.
    pub(crate) fn take(&mut self, mut place: usize, weight: u64) {
        while let Some(sum) = self.sums.get_mut(place) {
            *sum += weight;
            place += place & place.wrapping_neg();
        }
    }

    /// Removes the weight of a place.
    pub(crate) fn leave(&mut self, mut place: usize, weight: u64) {
        while let Some(sum) = self.sums.get_mut(place) {
            *sum -= weight;
            place += place & place.wrapping_neg();
        }
    }

    /// Returns the weights up to this place.
    pub(crate) fn up_to(&self, mut place: usize) -> u64 {
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
    fn weights_are_added_up_as_one_by_one() {
        let mut tree = Fenwick::new(37, [1, 2, 3, 4, 5]);
        let mut plain = [0; 38];
        (1..=5).for_each(|place| plain[place] = place as u64);
        for (place, weight) in [(3, 0), (20, 8), (37, 1), (1, 0), (3, 16), (36, 2)] {
            tree.leave(place, plain[place]);
            tree.take(place, weight);
            plain[place] = weight;
            for end in 0..=37 {
                assert_eq!(tree.up_to(end), plain[..=end].iter().sum::<u64>());
            }
        }
    }
}
