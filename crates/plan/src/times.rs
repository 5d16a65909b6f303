//! Times that a plan takes, by the estimates of its cells.

use units::Nanos;

use crate::Plan;

impl Plan {
    /// Tells whether any stage is a command, whose duration is not known beforehand.
    pub fn has_commands(&self) -> bool {
        self.cells.iter().flat_map(|cell| &cell.stages).any(|stage| stage.command().is_some())
    }

    /// Returns roughly the least and the most time that it takes: a run with `--repeat auto` may end after the first look at its results.
    pub fn takes(&self) -> (Nanos, Nanos) {
        let until = |last: u32| -> u64 {
            let cells = self.cells.iter().filter(|cell| cell.repeat <= last);
            cells.map(|cell| cell.about.0).sum()
        };
        let (all, sequential) = (until(u32::MAX), self.facts.sequential.as_ref());
        let first = sequential.and_then(|s| s.looks.first()).map_or(all, |look| until(*look));
        let time = sequential.and_then(|s| s.time).map_or(u64::MAX, |time| time.0);
        (Nanos(first.min(time)), Nanos(all.min(time)))
    }

    /// Returns why no verdict can be expected of a run with `--repeat auto:TIME`: its time ends before the first look. `None` where it does not.
    pub fn no_verdict(&self) -> Option<String> {
        let sequential = self.facts.sequential.as_ref()?;
        let (first, time) = (*sequential.looks.first()?, sequential.time?);
        let until = self.cells.iter().filter(|cell| cell.repeat <= first);
        let needed = Nanos(until.map(|cell| cell.about.0).sum());
        (needed > time).then(|| {
            format!(
                "{first} repeats take about {needed}, and fewer give no verdict: {time} is hardly enough; use --repeat auto, or auto:TIME with more"
            )
        })
    }
}
