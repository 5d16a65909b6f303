//! A `fill` stage: its load is driven in short rounds, and the layer is read after each, until it is as full as was asked.

use plan::FillPlan;
use results::model::{FillFigures, LoadSummary};
use units::Nanos;

use crate::error::Cause;
use crate::stop::{Stop, judge};
use crate::turn::Round;

/// Shortest last round, nanoseconds: a round without time would do nothing.
const MIN_LAST_ROUND_NS: u64 = 100_000_000;
/// Number of rounds without any value after which a layer is taken never to report one.
const SILENT: u32 = 3;

/// The stage of a fill, as its loop of rounds sees it: drives a round, reads the layer.
pub(crate) trait FillStage {
    /// Nanoseconds since some moment.
    fn now(&self) -> u64;
    /// Drives one round; the error says why it could not run at all.
    fn round(&mut self, round: Round) -> Result<LoadSummary, Cause>;
    /// Reads the figure that is to be reached.
    fn read(&mut self) -> Option<f64>;
    /// Waits until the layers have finished all that was written.
    fn settle(&mut self) -> Result<(), Stop>;
    /// Tells whether the layer has reached the state that the stage is for, by the last reading.
    fn in_state(&self) -> bool;
    /// Tells whether the layers are simulated, so that nothing is ever filled.
    fn is_simulated(&self) -> bool;
}

/// Drives rounds until the figure is reached; returns why the cell stops if it is not reached.
pub(crate) fn until(
    fill: &FillPlan,
    deadline: Nanos,
    ground: &mut dyn FillStage,
) -> (FillFigures, Option<Stop>) {
    let start = ground.now();
    let before = ground.read();
    let mut figures = FillFigures {
        layer: fill.layer.clone(),
        metric: fill.metric.clone(),
        at_least: fill.at_least,
        before,
        value: before,
        ..FillFigures::default()
    };
    let mut settled = false;
    loop {
        // A simulated layer only repeats recorded readings, which prove nothing.
        let simulated = ground.is_simulated();
        let filled = figures.value.is_some_and(|value| value >= fill.at_least);
        figures.reached = !simulated && filled && ground.in_state();
        if figures.reached || simulated && figures.rounds > 0 {
            return (figures, None);
        }
        let past = ground.now().saturating_sub(start);
        let silent = figures.value.is_none() && figures.rounds >= SILENT;
        let done = fill.most_rounds().is_some_and(|most| figures.rounds >= most);
        if done && !silent && !settled {
            // A layer may acknowledge writes before it counts them.
            settled = true;
            if let Err(stop) = ground.settle() {
                return (figures, Some(stop));
            }
            figures.value = ground.read();
            continue;
        }
        if past >= deadline.0 || silent || done {
            let reason = if done && !silent {
                emptied(fill, &figures)
            } else {
                missed(fill, &figures, Nanos(past))
            };
            return (figures, Some(Stop::NotReached(reason)));
        }
        let left = (deadline.0 - past).max(MIN_LAST_ROUND_NS);
        let round = Round { number: figures.rounds + 1, at_most: Nanos(left), past: Nanos(past) };
        let load = match ground.round(round).map_err(|cause| crate::chain(&*cause)) {
            Ok(load) => load,
            Err(reason) if reason.contains(NO_SPACE) => {
                let reason = full(fill, &figures, &reason);
                return (figures, Some(Stop::NotReached(reason)));
            }
            Err(reason) => return (figures, Some(Stop::Failed(reason))),
        };
        figures.rounds += 1;
        count(&mut figures, &load);
        if let Some(stop) = judge(&load) {
            return (figures, Some(stop));
        }
        figures.value = ground.read();
    }
}

/// Adds the bytes that a round read and wrote.
fn count(figures: &mut FillFigures, load: &LoadSummary) {
    for (operation, summary) in &load.operations {
        // `write` and `randwrite`, not `writezeroes`.
        if operation.ends_with("write") {
            figures.bytes_written += summary.bytes;
        } else if operation.ends_with("read") {
            figures.bytes_read += summary.bytes;
        }
    }
}

/// Message of the kernel when a file system takes no more.
const NO_SPACE: &str = "No space left on device";

/// Returns the message for a file system that was full before the figure was reached.
fn full(fill: &FillPlan, figures: &FillFigures, reason: &str) -> String {
    let FillPlan { layer, metric, at_least, .. } = fill;
    let reached = figures.value.map_or("unknown".into(), |value| shown(metric, value));
    format!(
        "nothing more fits, and {metric} of {layer} is {reached} after {}, not at least {}; ask for less ({reason})",
        rounds(figures.rounds),
        shown(metric, *at_least)
    )
}

/// Returns the message for a figure that was not reached in time, with what to do.
fn missed(fill: &FillPlan, figures: &FillFigures, past: Nanos) -> String {
    let FillPlan { layer, metric, at_least, .. } = fill;
    let rounds = rounds(figures.rounds);
    match figures.value {
        None => format!(
            "{layer} reports no {metric} after {rounds}; choose a metric that such a load moves (fathom layers shows them)"
        ),
        Some(value) => format!(
            "{metric} of {layer} is {} after {past} and {rounds}, not at least {}; give it more time (deadline), a load that fills \
             more (by), or ask for less",
            shown(metric, value),
            shown(metric, *at_least)
        ),
    }
}

/// Returns the message for a range that was written completely without reaching the figure.
fn emptied(fill: &FillPlan, figures: &FillFigures) -> String {
    let FillPlan { layer, metric, at_least, .. } = fill;
    let reached = figures.value.map_or("unknown".into(), |value| shown(metric, value));
    format!(
        "all of the load's range is written, and {metric} of {layer} is {reached}, not at least {}; write a larger range or content \
         that takes more room (by), or ask for less",
        shown(metric, *at_least)
    )
}

fn rounds(count: u32) -> String {
    if count == 1 { "1 round".into() } else { format!("{count} rounds") }
}

fn shown(metric: &str, value: f64) -> String {
    layers::metric(metric).map_or_else(|| value.to_string(), |metric| metric.unit.show(value))
}

/// The proof in a sentence, for people.
pub(crate) fn proof(stage: &str, figures: &FillFigures, simulated: bool) -> Option<String> {
    if simulated {
        return Some(format!(
            "stage {stage}: nothing was filled, since the layers of a simulated machine hold nothing"
        ));
    }
    let FillFigures { metric, layer, .. } = figures;
    let value = figures.value.filter(|_| figures.reached)?;
    Some(format!(
        "stage {stage}: {metric} of {layer} is {} (asked: {}) after {}, {} written and {} read",
        shown(metric, value),
        shown(metric, figures.at_least),
        rounds(figures.rounds),
        units::Bytes(figures.bytes_written),
        units::Bytes(figures.bytes_read)
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plan::Rounds;
    use results::model::OperationSummary;
    use units::Seed;

    use super::*;

    /// A layer whose fill level after each round is given.
    struct Filling {
        values: Vec<Option<f64>>,
        rounds: Vec<Round>,
        ended_by: &'static str,
        simulated: bool,
        /// The value once the layers have settled, if that changes it.
        settled: Option<f64>,
    }

    fn filling(values: &[Option<f64>]) -> Filling {
        let values = values.iter().rev().copied().collect();
        Filling {
            values,
            rounds: Vec::new(),
            ended_by: "duration",
            simulated: false,
            settled: None,
        }
    }

    impl FillStage for Filling {
        fn now(&self) -> u64 {
            3_000_000_000 * self.rounds.len() as u64
        }

        fn round(&mut self, round: Round) -> Result<LoadSummary, Cause> {
            self.rounds.push(round);
            let of = |bytes| OperationSummary { bytes, ..Default::default() };
            let operations =
                [("randwrite", of(4096)), ("writezeroes", of(512)), ("randread", of(8192))]
                    .map(|(name, summary)| (name.to_owned(), summary));
            let operations = BTreeMap::from(operations);
            let ended_by = self.ended_by.into();
            Ok(LoadSummary { ended_by, operations, ..LoadSummary::empty(Seed(1)) })
        }

        fn read(&mut self) -> Option<f64> {
            if self.values.len() > 1 { self.values.pop()? } else { self.values[0] }
        }

        fn settle(&mut self) -> Result<(), Stop> {
            self.values = self.settled.map_or(std::mem::take(&mut self.values), |v| vec![Some(v)]);
            Ok(())
        }

        fn in_state(&self) -> bool {
            true
        }

        fn is_simulated(&self) -> bool {
            self.simulated
        }
    }

    fn fill(at_least: f64) -> FillPlan {
        FillPlan {
            layer: "cache".into(),
            metric: "used_percent".into(),
            at_least,
            by: Box::default(),
            rounds: Rounds::Time(Nanos::from_secs(3)),
        }
    }

    fn reason(stop: Option<Stop>) -> String {
        match stop {
            Some(Stop::Failed(reason) | Stop::NotReached(reason)) => reason,
            Some(Stop::Interrupted) => "interrupted".into(),
            None => String::new(),
        }
    }

    #[test]
    fn a_fill_ends_with_the_round_after_which_the_value_is_reached() {
        let mut ground = filling(&[Some(1.0), Some(60.0), Some(99.5), Some(100.0)]);
        let (figures, stop) = until(&fill(99.0), Nanos::from_secs(60), &mut ground);
        assert_eq!(reason(stop), "");
        assert_eq!((figures.before, figures.value), (Some(1.0), Some(99.5)));
        assert_eq!((figures.reached, figures.rounds), (true, 2));
        assert_eq!((figures.bytes_written, figures.bytes_read), (8192, 16384));
        let proof = proof("junk", &figures, false).unwrap();
        assert!(proof.contains("used_percent of cache is 99.5 % (asked: 99"), "{proof}");
        assert!(proof.contains("after 2 rounds, 8 KiB written and 16 KiB read"), "{proof}");
    }

    #[test]
    fn a_layer_that_is_full_already_takes_no_round() {
        let mut ground = filling(&[Some(99.0)]);
        let (figures, stop) = until(&fill(99.0), Nanos::from_secs(60), &mut ground);
        assert!(stop.is_none() && figures.reached && ground.rounds.is_empty());
    }

    #[test]
    fn past_its_deadline_a_fill_fails_with_the_value_and_what_to_do() {
        let mut ground = filling(&[Some(10.0)]);
        let (figures, stop) = until(&fill(99.0), Nanos::from_secs(10), &mut ground);
        let reason = reason(stop);
        assert!(reason.contains("used_percent of cache is 10 % after"), "{reason}");
        assert!(reason.contains("4 rounds") && reason.contains("deadline"), "{reason}");
        assert_eq!((figures.reached, figures.rounds), (false, 4));
        let left: Vec<u64> = ground.rounds.iter().map(|r| r.at_most.0 / 1_000_000_000).collect();
        assert_eq!(left, [10, 7, 4, 1], "no round is longer than what is left");
        assert_eq!(ground.rounds[3].number, 4);
        assert_eq!(proof("junk", &figures, false), None);
    }

    #[test]
    fn a_fill_in_order_ends_with_its_range() {
        let mut ground = filling(&[Some(10.0)]);
        let rounds = Rounds::Parts { bytes: units::Bytes(1 << 20), count: 2 };
        let fill = FillPlan { rounds, ..fill(99.0) };
        let (figures, stop) = until(&fill, Nanos::from_secs(60), &mut ground);
        let reason = reason(stop);
        assert!(
            reason.contains("all of the load's range is written") && reason.contains("10 %"),
            "{reason}"
        );
        assert_eq!(figures.rounds, 2);
    }

    #[test]
    fn a_layer_that_counts_writes_late_is_read_again_once_it_has_settled() {
        let mut ground = Filling { settled: Some(100.0), ..filling(&[Some(0.0), Some(97.0)]) };
        let rounds = Rounds::Parts { bytes: units::Bytes(1 << 20), count: 2 };
        let fill = FillPlan { rounds, ..fill(100.0) };
        let (figures, stop) = until(&fill, Nanos::from_secs(60), &mut ground);
        assert_eq!(reason(stop), "");
        assert_eq!((figures.reached, figures.rounds, figures.value), (true, 2, Some(100.0)));
    }

    #[test]
    fn a_layer_that_tells_no_value_fails_the_fill_soon() {
        let mut ground = filling(&[None]);
        let (figures, stop) = until(&fill(99.0), Nanos::from_secs(3600), &mut ground);
        assert!(reason(stop).contains("reports no used_percent after 3 rounds"));
        assert_eq!((figures.value, figures.rounds), (None, 3));
    }

    #[test]
    fn a_round_that_fails_or_is_interrupted_ends_the_fill() {
        for (ended_by, phrase) in [("interrupted", "interrupted"), ("errors", "the load failed")] {
            let mut ground = Filling { ended_by, ..filling(&[Some(1.0)]) };
            let (figures, stop) = until(&fill(99.0), Nanos::from_secs(60), &mut ground);
            assert!(reason(stop).starts_with(phrase));
            assert_eq!(figures.rounds, 1);
        }
    }

    #[test]
    fn on_a_simulated_machine_one_round_is_driven_and_nothing_was_filled() {
        let mut ground = Filling { simulated: true, ..filling(&[Some(100.0)]) };
        let (figures, stop) = until(&fill(99.0), Nanos::from_secs(60), &mut ground);
        assert!(stop.is_none());
        assert_eq!((figures.reached, figures.rounds), (false, 1));
        assert!(proof("junk", &figures, true).unwrap().contains("nothing was filled"));
    }
}
