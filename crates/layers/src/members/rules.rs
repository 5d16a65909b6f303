//! The doctor's rules about members: one that is slower than the others, one that gets more of the I/Os, one that failed.

use results::model::Severity;
use units::Unit;

use crate::machine::DISKSTATS;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Span, Threshold, ThresholdTest, figure,
};

/// Fewest I/Os of a member for which its mean latency is meaningful.
const FEWEST: f64 = 50.0;
/// Smallest difference of two mean latencies that matters, milliseconds; the kernel counts whole ones.
const LEAST_MS: f64 = 0.2;

pub(crate) const SLOW: LayerRule = LayerRule {
    id: "slow_member",
    text: "One member took far longer for an I/O than the others, and the whole set waits for it.",
    reads: "time of the reads, and of the writes, that each member completed while a measured load ran, the slowest against the median of the others",
    threshold: Threshold::above(3.0, Unit::Ratio),
    remedy: "Look at that device (errors, temperature, other users); take it out of the set, or measure it alone.",
    source: "VMware 2016, testing of deduplication: one disk at 3 to 6 ms, the others at 0.1 to 0.15 ms",
    check: Check::Stage(slow),
};

pub(crate) const CROWDED: LayerRule = LayerRule {
    id: "crowded_member",
    text: "One member got far more of the I/Os than the others: the set is no faster than that one device.",
    reads: "I/Os that each member completed while a measured load ran, the most against the median of the others",
    threshold: Threshold::above(3.0, Unit::Ratio),
    remedy: "Spread the load over more of the volume, or take a smaller chunk_size; where a layer above stores duplicates only once, the member that holds them does the work: measure with other content.",
    source: "VMware 2016, testing of deduplication: reads of zeros that deduplicate to one block go to one device",
    check: Check::Stage(crowded),
};

pub(crate) const FAILED_MEMBER: LayerRule = LayerRule {
    id: "failed_member",
    text: "A member failed: the figures are not those of the set that was asked for.",
    reads: "letters of health in the status line, at the end of measured stages",
    threshold: Threshold::above(0.0, Unit::Count),
    remedy: "Look for the member's I/O errors in the kernel's log, and replace it.",
    source: "the kernel's admin-guide/device-mapper/dm-raid",
    check: Check::Stage(failed),
};

/// One member while a load ran.
struct Member<'a> {
    name: &'a str,
    reads: f64,
    read_ms: f64,
    writes: f64,
    write_ms: f64,
    busy_percent: f64,
}

impl Member<'_> {
    fn ios(&self) -> f64 {
        self.reads + self.writes
    }
}

/// Returns the members of the layer; `None` where there are fewer than two, or the counters of one are not known.
fn members<'a>(facts: &RuleFacts<'a>, stage: &MeasuredStage<'a>) -> Option<Vec<Member<'a>>> {
    let span: Span = stage.load_span(DISKSTATS)?;
    let layer = facts.layer_facts()?;
    let member = |name: &'a String| {
        let grew = |field: &str| span.counted(&format!("{name}.{field}"));
        Some(Member {
            name,
            reads: grew("reads")?,
            read_ms: grew("read_ms")?,
            writes: grew("writes")?,
            write_ms: grew("write_ms")?,
            busy_percent: (grew("busy_ms")? / 10.0 / span.seconds()).min(100.0),
        })
    };
    let members: Vec<Member> = layer.on.values().map(member).collect::<Option<_>>()?;
    (members.len() > 1).then_some(members)
}

/// Returns the member with the largest of these values, its value, and the median of the others.
fn apart<'a>(mut values: Vec<(&'a Member<'a>, f64)>) -> Option<(&'a Member<'a>, f64, f64)> {
    values.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (member, most) = values.pop()?;
    let (half, odd) = (values.len() / 2, values.len() % 2 == 1);
    let upper = values.get(half)?.1;
    let median = if odd { upper } else { f64::midpoint(values.get(half - 1)?.1, upper) };
    Some((member, most, median))
}

fn slow(facts: &RuleFacts, stage: &MeasuredStage, threshold: ThresholdTest) -> Option<Observation> {
    let members = members(facts, stage)?;
    let of = |word: &'static str, value: fn(&Member) -> (f64, f64)| {
        let measured = members.iter().filter(|member| value(member).0 >= FEWEST);
        let latency = |member| {
            let (ios, ms) = value(member);
            (member, ms / ios)
        };
        let (member, slowest, others) = apart(measured.map(latency).collect())?;
        let ratio = threshold.passed(slowest / others.max(1e-3))?;
        (slowest - others >= LEAST_MS).then_some((word, member, slowest, others, ratio))
    };
    let found = [of("read", |m| (m.reads, m.read_ms)), of("write", |m| (m.writes, m.write_ms))];
    let worst = found.into_iter().flatten().max_by(|one, other| one.4.total_cmp(&other.4));
    let (word, member, slowest, others, ratio) = worst?;
    let nanos = |ms: f64| ms * 1e6;
    Some(Observation {
        message: Some(format!(
            "In stage {} a {word} took '{}' far longer than the other members of '{}', and the whole set waits for it.",
            stage.stage.name, member.name, facts.layer
        )),
        figures: vec![
            threshold.figure(format!("{word} latency of {} over the others'", member.name), ratio),
            figure(format!("mean {word} of {}", member.name), nanos(slowest), Unit::Nanos),
            figure("median of the others' means", nanos(others), Unit::Nanos),
            figure(format!("{} busy", member.name), member.busy_percent, Unit::Percent),
        ],
        explains_percent: Some(member.busy_percent),
        no_setting: Some("the device itself is slow"),
        ..Observation::default()
    })
}

fn crowded(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let members = members(facts, stage)?;
    let all: f64 = members.iter().map(Member::ios).sum();
    let ios = members.iter().map(|member| (member, member.ios())).collect();
    let (member, most, others) = apart(ios)?;
    let ratio = threshold.passed(most / others.max(1.0)).filter(|_| most >= FEWEST)?;
    let smallest = facts.settings.get("chunk_size").is_some_and(|chunk| chunk == "4k");
    Some(Observation {
        message: Some(format!(
            "In stage {} '{}' got far more of the I/Os than the other members of '{}': the set is no faster than that one device.",
            stage.stage.name, member.name, facts.layer
        )),
        figures: vec![
            threshold.figure(format!("I/Os of {} over the others' median", member.name), ratio),
            figure(format!("I/Os of {}, of all", member.name), 100.0 * most / all, Unit::Percent),
            figure(format!("{} busy", member.name), member.busy_percent, Unit::Percent),
        ],
        explains_percent: Some(member.busy_percent),
        changes: if smallest { Vec::new() } else { vec![("chunk_size", "\"4k\"".to_owned())] },
        no_setting: smallest.then_some("its chunks cannot be smaller"),
        ..Observation::default()
    })
}

fn failed(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let span = stage.span(&format!("{}.status", facts.layer))?;
    let failed = threshold.passed(span.end("failed_members")?)?;
    Some(Observation {
        severity: Severity::Error,
        figures: vec![
            threshold.figure("members that failed", failed),
            figure("members", span.end("members")?, Unit::Count),
        ],
        ..Observation::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::model::{Finding, LayerFacts, SampleRow};

    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{LOAD_END, LOAD_START};
    use crate::planned::PlannedStage;
    use crate::rule::made_up;

    /// Reads and milliseconds of them, writes and milliseconds of them.
    type Did = [f64; 4];

    fn rows(source: &str, fields: &[(String, f64)]) -> [SampleRow; 2] {
        let at = |at, mark, factor: f64| {
            let fields: Vec<(&str, f64)> =
                fields.iter().map(|(name, value)| (name.as_str(), factor * value)).collect();
            sample(at, source, mark, &fields)
        };
        [at(1, LOAD_START, 0.0), at(2_000_000_001, LOAD_END, 1.0)]
    }

    fn examined(rule: &LayerRule, samples: &[SampleRow]) -> Option<Finding> {
        let names = ["one", "two", "three", "four"];
        let on = (1..).zip(names).map(|(n, name)| (format!("member{n}"), name.to_owned()));
        let set_facts = LayerFacts {
            layer: "striped".into(),
            name: "set".into(),
            settings: BTreeMap::new(),
            on: on.collect(),
            computed: Vec::new(),
        };
        rule.examine(&RuleFacts {
            layer: "set",
            stack: &[set_facts],
            samples,
            stages: &[made_up::load("reads", 3_000_000_000)],
            planned: &[PlannedStage { name: "reads".into(), ..PlannedStage::default() }],
            ..made_up::CELL
        })
    }

    fn found(rule: &LayerRule, members: [Did; 4]) -> Option<Finding> {
        let fields = ["one", "two", "three", "four"].into_iter().zip(members).flat_map(
            |(name, [reads, read_ms, writes, write_ms])| {
                [
                    ("reads", reads),
                    ("read_ms", read_ms),
                    ("writes", writes),
                    ("write_ms", write_ms),
                    ("busy_ms", 1000.0),
                ]
                .map(|(field, value)| (format!("{name}.{field}"), value))
            },
        );
        examined(rule, &rows(DISKSTATS, &fields.collect::<Vec<_>>()))
    }

    const EVEN: Did = [1000.0, 150.0, 0.0, 0.0];

    #[test]
    fn a_member_that_is_slower_than_its_siblings_is_named_and_equal_ones_are_not() {
        // As the source had it: 3 ms against 0.15 ms.
        let slow = found(&SLOW, [EVEN, EVEN, EVEN, [1000.0, 3000.0, 0.0, 0.0]]).unwrap();
        assert!(slow.message.contains("a read took 'four'"), "{slow:?}");
        assert_eq!(slow.figures[0].value.round(), 20.0);
        assert_eq!(slow.explains_percent, Some(50.0), "busy one of two seconds");
        // Writes alone, and with one sibling that did nothing.
        let writes = [[0.0; 4], [0.0, 0.0, 100.0, 100.0], [0.0, 0.0, 90.0, 900.0], [0.0; 4]];
        assert!(found(&SLOW, writes).unwrap().message.contains("a write took 'three'"));
        assert_eq!(found(&SLOW, [EVEN; 4]), None);
        assert_eq!(found(&SLOW, [EVEN, EVEN, EVEN, [1000.0, 440.0, 0.0, 0.0]]), None, "2.9 times");
        let few = found(&SLOW, [EVEN, EVEN, EVEN, [49.0, 3000.0, 0.0, 0.0]]);
        assert_eq!(few, None, "too few I/Os to say anything");
        let quick = [1000.0, 10.0, 0.0, 0.0];
        let fast = found(&SLOW, [quick, quick, quick, [1000.0, 100.0, 0.0, 0.0]]);
        assert_eq!(fast, None, "a tenth of a millisecond does not make a slow member");
    }

    #[test]
    fn a_member_that_gets_most_of_the_ios_is_named_and_even_ones_are_not() {
        let few = [250.0, 40.0, 0.0, 0.0];
        let crowded = found(&CROWDED, [few, few, EVEN, few]).unwrap();
        assert!(crowded.message.contains("'three' got far more"), "{crowded:?}");
        assert_eq!(crowded.figures[0].value, 4.0);
        assert_eq!(crowded.changes[0].key, "set.chunk_size");
        assert_eq!(found(&CROWDED, [EVEN; 4]), None);
        assert_eq!(found(&CROWDED, [[0.0; 4], [0.0; 4], [10.0, 1.0, 0.0, 0.0], [0.0; 4]]), None);
    }

    #[test]
    fn a_member_that_failed_is_told_and_healthy_ones_are_not() {
        let with = |failed: f64| {
            let fields = [("failed_members".to_owned(), failed), ("members".to_owned(), 4.0)];
            examined(&FAILED_MEMBER, &rows("set.status", &fields))
        };
        assert_eq!(with(1.0).unwrap().severity, Severity::Error);
        assert_eq!(with(0.0), None);
    }
}
