//! Checks that at least one I/O of a load can be measured: one that ends after the ramp and before the end of the load.

use units::{Bytes, Nanos};

use crate::exact_time::Cost;
use crate::{Arrival, LoadSpec, OpName, Rate, WorkloadError};

/// Shortest ramp for which the I/Os that start with the load are assumed to end within it.
const LONG_RAMP: Nanos = Nanos::from_secs(1);
/// Most I/Os, and most bytes of them, for which that is assumed.
const AT_ONCE: (u64, Bytes) = (64, Bytes(16 * Bytes::MIB));

impl LoadSpec {
    /// Refuses a pace at which only the I/Os that start with the load would be done before its end: they end within the ramp, so that nothing would
    /// count.
    pub(crate) fn validate_window(&self) -> Result<(), WorkloadError> {
        let (Some(ramp), Some(all)) = (self.ramp, self.duration) else { return Ok(()) };
        if ramp < LONG_RAMP {
            return Ok(());
        }
        let nothing = |key, value: String, help| {
            let why = "only the I/Os that start with the load would be done, and they end within the ramp";
            Err(WorkloadError::Senseless { key, value, why, help })
        };
        let is_short = self.largest_io() <= AT_ONCE.1;
        let due = |rate| !is_short || self.is_due_between(rate, (ramp, all));
        let help = "make duration longer, or allow a higher rate, or leave ramp out";
        if let Some(rate) = self.rate.filter(|rate| self.arrival == Arrival::Fixed && !due(*rate)) {
            return nothing("rate", rate.to_string(), help);
        }
        let limit = self.limit.unwrap_or_default();
        let caps = [limit.ios.map(Rate::Ios), limit.bytes.map(Rate::Bytes)];
        if let Some(cap) = caps.into_iter().flatten().find(|cap| !due(*cap)) {
            return nothing("limit", cap.to_string(), help);
        }
        let in_flight = u64::from(self.jobs) * u64::from(self.depth_ios());
        let bytes = in_flight.saturating_mul(self.largest_io().0);
        let is_over = in_flight <= AT_ONCE.0 && bytes <= AT_ONCE.1.0;
        match self.think {
            Some(think) if think.time >= all && think.every <= self.depth_ios() && is_over => {
                nothing(
                    "think",
                    think.to_string(),
                    "make duration longer than think, or leave ramp out",
                )
            }
            _ => Ok(()),
        }
    }

    /// Tells whether an I/O is due between `from` and `end`, counted from the start of the load; true where that is not known.
    fn is_due_between(&self, rate: Rate, (from, end): (Nanos, Nanos)) -> bool {
        let mut sizes = self.ops.names().map(|op: OpName| match op.has_place() {
            true => self.block_size_of(op).fixed(),
            // An operation without a place costs nothing in bytes.
            false => None,
        });
        let size = match rate {
            Rate::Ios(_) => Some(Bytes(0)),
            Rate::Bytes(_) => {
                sizes.next().flatten().filter(|size| sizes.all(|other| other == Some(*size)))
            }
        };
        let Some(length) = size.and_then(|size| u32::try_from(size.0).ok()) else { return true };
        let cost = Cost::new(rate, 1);
        let (gap, parts) = (cost.parts(length), u128::from(cost.denominator));
        // The first I/O is due at the start, and each later one a gap after the one before it.
        let first = (u128::from(from.0) * parts).div_ceil(gap.max(1)) * gap;
        first < u128::from(end.0) * parts
    }
}

#[cfg(test)]
mod tests {
    use crate::LoadSpec;

    fn refused(keys: &str) -> Option<String> {
        let text = format!("ops = {{ randread = 100 }}\n{keys}");
        let spec: LoadSpec = toml::from_str(&text).unwrap();
        spec.validate().err().map(|error| error.path())
    }

    #[test]
    fn a_pace_at_which_nothing_can_count_is_refused_at_its_key() {
        let window = "duration = \"2s\"\nramp = \"1s\"\n";
        for (pace, key) in [
            ("rate = \"0.4/s\"", "rate"),
            ("rate = \"2B/s\"", "rate"),
            ("limit = \"0.1/s\"", "limit"),
            ("limit = \"100000/s,50B/s\"", "limit"),
            ("think = \"2s\"", "think"),
            ("think = \"3s:5\"\ndepth = 8", "think"),
        ] {
            assert_eq!(refused(&format!("{window}{pace}")).as_deref(), Some(key), "{pace}");
        }
    }

    #[test]
    fn a_pace_at_which_something_may_count_is_not_refused() {
        for keys in [
            "duration = \"2s\"\nramp = \"1s\"\nrate = \"1/s\"",
            "duration = \"2s\"\nramp = \"1s\"\nrate = \"0.4/s\"\narrival = \"poisson\"",
            "duration = \"2s\"\nramp = \"1s\"\nrate = \"4096B/s\"",
            "duration = \"2s\"\nramp = \"1s\"\nlimit = \"0.6/s\"",
            "duration = \"2s\"\nramp = \"1s\"\nthink = \"1900ms\"",
            "duration = \"2s\"\nramp = \"1s\"\nthink = \"3s:500\"",
            "duration = \"2s\"\nramp = \"1s\"\nthink = \"3s\"\nblock_size = \"1M\"",
            "duration = \"2s\"\nramp = \"10ms\"\nrate = \"0.1/s\"",
            "duration = \"2s\"\nrate = \"0.1/s\"",
            "ios = 3\nramp = \"1s\"\nthink = \"3s\"",
        ] {
            assert_eq!(refused(keys), None, "{keys}");
        }
    }
}
