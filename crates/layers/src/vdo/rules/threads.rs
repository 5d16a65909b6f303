//! CPU of VDO's threads.

use units::Unit;

use super::super::keys::KEYS;
use super::super::threads::{BUSY_PERCENT, DOES, IDLE_PERCENT, REQUESTS, is_of};
use super::figures::{least_slab_mib, size, stats};
use crate::kind::Threads;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Span, Threshold, ThresholdTest, figure,
};

/// Threads that can be multiplied, by the start of their names, with their setting.
const KINDS: [(&str, &str); 6] = [
    ("logQ", "logical_threads"),
    ("physQ", "physical_threads"),
    ("hashQ", "hash_zone_threads"),
    ("cpuQ", "cpu_threads"),
    ("bioQ", "bio_threads"),
    ("ackQ", "ack_threads"),
];

fn threads<'a>(facts: &RuleFacts<'a>, stage: &MeasuredStage<'a>) -> Option<Span<'a>> {
    stage.load_span(&format!("{}.threads", facts.layer))
}

/// Returns a thread with its work first, if that is known; else its name.
fn thread(name: &str) -> String {
    let known = Threads { does: DOES, ..Threads::NONE };
    known.with_work(name).unwrap_or_else(|| name.to_owned())
}

/// CPU time of a thread, percent of one CPU.
fn percent(span: &Span, name: &str) -> Option<f64> {
    span.rate(name).map(|share| 100.0 * share)
}

/// CPU of the threads that are called `kind`, with or without a number behind it.
fn of_kind<'a>(span: &'a Span<'a>, kind: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    span.fields()
        .filter(move |name| is_of(kind, name))
        .filter_map(|name| Some((name, percent(span, name)?)))
}

fn count(facts: &RuleFacts, key: &str) -> Option<u64> {
    facts.settings.get(key)?.parse().ok()
}

pub(super) const BUSY: LayerRule = LayerRule {
    id: "thread_busy",
    text: "A thread of VDO was busy, and its kind can have more threads.",
    reads: "CPU of the logQ, physQ, hashQ, cpuQ, bioQ, ackQ and reqQ threads",
    threshold: Threshold::above(BUSY_PERCENT, Unit::Percent),
    remedy: "Give that kind one more thread.",
    source: "thesis 5.2",
    check: Check::Stage(busy),
};

fn busy(facts: &RuleFacts, stage: &MeasuredStage, threshold: ThresholdTest) -> Option<Observation> {
    let span = threads(facts, stage)?;
    if let Some(share) = percent(&span, REQUESTS).and_then(|share| threshold.passed(share)) {
        return Some(one_for_all(share, threshold));
    }
    let all = KINDS.iter().flat_map(|(kind, key)| {
        of_kind(&span, kind).map(|(name, share)| (name, share, *key)).collect::<Vec<_>>()
    });
    let (name, share, key) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = threshold.passed(share)?;
    let changes = one_more(facts, stage, key);
    let set: Vec<_> = changes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let remedy = match &*set {
        [] => None,
        set => Some(format!("Set {}, where the machine has CPUs to spare.", set.join(" and "))),
    };
    let mut figures = vec![threshold.figure(format!("CPU of {name}"), share)];
    figures.extend(count(facts, key).map(|n| figure(key, n as f64, Unit::Count)));
    Some(Observation {
        message: Some(format!("VDO's thread that {} was busy.", thread(name))),
        remedy,
        no_setting: changes
            .is_empty()
            .then_some("there are as many threads as slabs, which are as small as they can be"),
        changes,
        ..Observation::limit(share, figures)
    })
}

/// Makes the observation that the one thread that does the work of all zones was busy; with zones there are five threads in its place.
fn one_for_all(share: f64, threshold: ThresholdTest) -> Observation {
    let keys = ["logical_threads", "physical_threads", "hash_zone_threads"];
    Observation {
        message: Some(format!("VDO's thread that {} was busy.", thread(REQUESTS))),
        remedy: Some(format!("Set {} to 1: each gets a separate thread.", keys.join(", "))),
        changes: keys.map(|key| (key, "1".to_owned())).to_vec(),
        ..Observation::limit(share, vec![threshold.figure(format!("CPU of {REQUESTS}"), share)])
    }
}

/// Returns the settings for one more thread of a kind, with all that it needs; none where there can be no more.
fn one_more(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    key: &'static str,
) -> Vec<(&'static str, String)> {
    let Some(more) = count(facts, key).map(|n| n + 1) else { return Vec::new() };
    let slabs = stats(facts, stage).and_then(|stats| stats.end("allocator.slabCount"));
    let mut changes = vec![(key, more.to_string())];
    if key == "physical_threads" && slabs.is_none_or(|slabs| more as f64 > slabs) {
        // Each physical thread needs a separate slab, and smaller slabs make more of them.
        let Some(half) = size(facts.settings, "slab_size").map(|bytes| bytes >> 21) else {
            return Vec::new();
        };
        if half < least_slab_mib(facts.settings) {
            return Vec::new();
        }
        changes.push(("slab_size", format!("\"{half}M\"")));
    }
    // dm-vdo needs 16 MiB of block map cache for each logical thread.
    let cache = size(facts.settings, "block_map_cache").map(|bytes| bytes >> 20);
    if key == "logical_threads" && cache.is_some_and(|mib| mib < 16 * more) {
        changes.push(("block_map_cache", format!("\"{}M\"", 16 * more)));
    }
    changes
}

pub(super) const ONE_BUSY: LayerRule = LayerRule {
    id: "single_thread_busy",
    text: "A thread of VDO that there is only one of was saturated: no setting adds another.",
    reads: "CPU of packerQ and dedupeQ",
    threshold: Threshold::above(80.0, Unit::Percent),
    remedy: "Only its work can be reduced: compression = false frees packerQ, dedupe = false frees dedupeQ.",
    source: "thesis 5.2",
    check: Check::Stage(one_busy),
};

fn one_busy(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let span = threads(facts, stage)?;
    let all = [("packerQ", "compression"), ("dedupeQ", "dedupe")];
    let all = all.into_iter().filter_map(|(name, key)| Some((name, key, percent(&span, name)?)));
    let (name, key, share) = all.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let share = threshold.passed(share)?;
    Some(Observation {
        message: Some(format!(
            "VDO's thread that {} was saturated, and there is only one.",
            thread(name)
        )),
        remedy: Some(format!("Only its work can be reduced: {key} = false removes it.")),
        changes: vec![(key, "false".into())],
        ..Observation::limit(share, vec![threshold.figure(format!("CPU of {name}"), share)])
    })
}

pub(super) const JOURNAL_CEILING: LayerRule = LayerRule {
    id: "journal_ceiling",
    text: "The only thread that keeps the journal (journalQ) is near its limit, which no setting raises.",
    reads: "CPU of journalQ, and the writes that it served",
    threshold: Threshold::above(50.0, Unit::Percent),
    remedy: "Spread the load over several volumes, or flush less often: VDO splits every write into blocks of 4 KiB, each with a separate entry.",
    source: "thesis 5.2, where it became the next limit",
    check: Check::Stage(journal_ceiling),
};

fn journal_ceiling(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let share = threshold.passed(percent(&threads(facts, stage)?, "journalQ")?)?;
    let mut figures = vec![threshold.figure("CPU of journalQ", share)];
    let rate = stats(facts, stage).and_then(|stats| stats.rate("biosIn.write"));
    if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
        figures.push(figure("writes", rate, Unit::PerSecond));
        figures.push(figure("ceiling at 100 %", 100.0 * rate / share, Unit::PerSecond));
    }
    Some(Observation {
        no_setting: Some("a volume has one thread for its journal"),
        ..Observation::limit(share, figures)
    })
}

pub(super) const IDLE: LayerRule = LayerRule {
    id: "threads_idle",
    text: "There are more threads of a kind than the load needs: handing I/Os over to them costs time for nothing.",
    reads: "CPU of the kinds that were given more threads than by default",
    threshold: Threshold::below(IDLE_PERCENT, Unit::Percent),
    remedy: "Give that kind its default number of threads.",
    source: "thesis 5.2",
    check: Check::Stage(idle),
};

fn idle(facts: &RuleFacts, stage: &MeasuredStage, threshold: ThresholdTest) -> Option<Observation> {
    let span = threads(facts, stage)?;
    let usual = |key: &str| KEYS.iter().find(|k| k.name == key)?.default().parse::<u64>().ok();
    let given = KINDS.iter().filter_map(|(kind, key)| {
        let n =
            count(facts, key).filter(|n| *n > 1 && usual(key).is_none_or(|usual| *n > usual))?;
        let most = of_kind(&span, kind).map(|(_, share)| share).max_by(f64::total_cmp)?;
        Some((*kind, *key, n, most))
    });
    let (kind, key, n, most) = given.min_by(|a, b| a.3.total_cmp(&b.3))?;
    let most = threshold.passed(most)?;
    let (fewer, why) = match usual(key) {
        Some(usual) => (usual, "the default"),
        None => (n - 1, "one less"),
    };
    Some(Observation {
        message: Some(format!(
            "{n} threads of one kind are more than the load needs: no thread that {} was busy.",
            thread(kind)
        )),
        remedy: Some(format!("Set {key} = {fewer}, {why}.")),
        figures: vec![
            threshold.figure(format!("CPU of the busiest {kind}"), most),
            figure(key, n as f64, Unit::Count),
        ],
        changes: vec![(key, fewer.to_string())],
        ..Observation::default()
    })
}
