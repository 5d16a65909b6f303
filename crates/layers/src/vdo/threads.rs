//! CPU use of a volume's threads: for each kind, that of its busiest thread.

use crate::figures::{Endpoints, FigureFacts, SHORTEST_S};

/// Percent of one CPU below which there are more threads of a kind than the load needs, and above which one more would help
/// (Petrovic 2020, section 5.2).
pub(super) const IDLE_PERCENT: f64 = 30.0;
pub(super) const BUSY_PERCENT: f64 = 50.0;

/// The thread that does the work of journal, packer, logical, physical and hash threads where the last three are set to 0.
pub(super) const REQUESTS: &str = "reqQ";

/// Kinds of threads by the metric that says how busy they are.
const KINDS: [(&str, &[&str]); 11] = [
    ("journal_thread_percent", &["journalQ"]),
    ("packer_thread_percent", &["packerQ"]),
    ("dedupe_thread_percent", &["dedupeQ"]),
    ("index_thread_percent", &["indexW", "callbackW", "reader", "writer"]),
    ("logical_thread_percent", &["logQ"]),
    ("physical_thread_percent", &["physQ"]),
    ("hash_thread_percent", &["hashQ"]),
    ("cpu_thread_percent", &["cpuQ"]),
    ("bio_thread_percent", &["bioQ"]),
    ("ack_thread_percent", &["ackQ"]),
    ("request_thread_percent", &[REQUESTS]),
];

/// The work of each kind of thread.
pub(super) const DOES: &[(&str, &str)] = &[
    ("journalQ", "keeps the journal"),
    ("packerQ", "packs compressed blocks"),
    ("dedupeQ", "asks the index for duplicates"),
    ("indexW", "looks duplicates up in the index"),
    ("callbackW", "hands the index's answers back"),
    ("reader", "reads the index"),
    ("writer", "writes the index"),
    ("logQ", "looks up where blocks lie"),
    ("physQ", "finds free blocks and counts references"),
    ("hashQ", "looks for duplicates"),
    ("cpuQ", "hashes and compresses"),
    ("bioQ", "sends I/O to the disk"),
    ("ackQ", "acknowledges writes"),
    (REQUESTS, "does the work of journal, packer and all zones"),
];

/// Returns the percentage of one CPU that the busiest thread of all, and of each kind, took; `None` if a kind is not there, or if threads were
/// restarted in between.
pub(super) fn figures(facts: &FigureFacts) -> Vec<(String, Option<f64>)> {
    let known = facts.ends("threads").zip(facts.seconds("threads"));
    let busiest = |is: &dyn Fn(&str) -> bool| {
        let (ends, seconds) = known?;
        let grown = grown(&ends, is)?;
        let anew = grown.iter().any(|seconds| *seconds < 0.0);
        let most = grown.into_iter().reduce(f64::max)?;
        (seconds >= SHORTEST_S && !anew).then(|| 100.0 * most / seconds)
    };
    let all = [("busiest_thread_percent".to_owned(), busiest(&|_| true))];
    let of = |kinds: &[&str], name: &str| kinds.iter().any(|kind| is_of(kind, name));
    let kinds =
        KINDS.iter().map(|(id, kinds)| ((*id).to_owned(), busiest(&|name| of(kinds, name))));
    all.into_iter().chain(kinds).collect()
}

/// Returns the CPU seconds that threads took between two readings, which both list all threads: a thread that only the second has was started in
/// between, and all of its time counts. `None` if one is gone or could not be read, since then some time is unknown.
pub(super) fn grown(ends: &Endpoints, is: impl Fn(&str) -> bool) -> Option<Vec<f64>> {
    let gone = ends.before.keys().any(|name| is(name) && !ends.after.contains_key(name));
    if gone || ends.before.is_empty() {
        return None;
    }
    let names = ends.after.keys().filter(|name| is(name));
    names
        .map(|name| match ends.before.get(name) {
            Some(_) => ends.growth(name),
            None => ends.end(name),
        })
        .collect()
}

/// Tells whether a thread belongs to a kind; several threads of one kind have numbers after the name.
pub(super) fn is_of(kind: &str, name: &str) -> bool {
    let number = name.strip_prefix(kind);
    number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{machine, parse};

    #[test]
    fn every_thread_of_a_real_volume_is_in_a_figure_and_every_figure_has_one() {
        let real = parse(machine::THREADS, include_str!("threads-6.12.txt")).unwrap();
        // Without zones one thread does all requests; this volume has zones.
        let kinds = KINDS.iter().flat_map(|(_, kinds)| *kinds).filter(|kind| **kind != REQUESTS);
        for kind in kinds.clone() {
            assert!(real.numbers.keys().any(|name| is_of(kind, name)), "{kind}");
        }
        for name in real.numbers.keys() {
            assert!(kinds.clone().any(|kind| is_of(kind, name)), "{name}");
            assert!(crate::vdo::KIND.threads.does(name).is_some(), "{name} has no plain words");
        }
    }
}
