//! Rounds of a fill.

use units::{Bytes, Nanos};
use workload::{LoadSpec, Portion};

use crate::task::{FillPlan, Rounds};

impl FillPlan {
    /// The load of the first round.
    pub fn first_round(&self) -> LoadSpec {
        self.round(1, Nanos(u64::MAX))
    }

    /// Returns the load of round `number` (from 1), which takes at most `at_most`.
    pub fn round(&self, number: u32, at_most: Nanos) -> LoadSpec {
        let mut spec = LoadSpec::clone(&self.by);
        match self.rounds {
            Rounds::Time(time) => spec.duration = Some(time.min(at_most)),
            Rounds::Files(_) => {
                spec.passes = Some(1);
                spec.duration = (at_most.0 < u64::MAX).then_some(at_most);
            }
            Rounds::Parts { bytes, .. } => {
                let past = u64::from(number.saturating_sub(1)).saturating_mul(bytes.0);
                let written = |portion: Option<Portion>| portion.and_then(Portion::bytes);
                let left = written(self.by.size).map(|size| Bytes(size.0.saturating_sub(past)));
                let start = written(self.by.offset).unwrap_or_default();
                spec.offset = Some(Bytes(start.0 + past).into());
                spec.size = Some(left.map_or(bytes, |left| left.min(bytes)).into());
                spec.passes = Some(1);
                spec.duration = (at_most.0 < u64::MAX).then_some(at_most);
            }
        }
        spec
    }

    /// Returns how many rounds there can be; `None`: nothing but the deadline ends them.
    pub fn most_rounds(&self) -> Option<u32> {
        match self.rounds {
            Rounds::Parts { count, .. } => Some(count),
            Rounds::Time(_) | Rounds::Files(_) => None,
        }
    }
}
