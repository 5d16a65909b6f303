//! Health of RAID members: one letter for each in a status line of device-mapper.

use units::{Basis, Better, Metric, Test, Unit};

use crate::Parsed;

/// The members that have failed, as a figure.
pub(crate) const FAILED: Metric = Metric {
    id: "failed_members",
    name: "members that failed",
    unit: Unit::Count,
    better: Better::Lower,
    basis: Basis::Level,
    test: Test::Paired,
    help: "Members with a failed I/O, or that the kernel no longer uses.",
};

/// Adds `members` and `failed_members`, counted in a word such as `AAD`; returns false if a letter is unknown.
pub(crate) fn count_health(parsed: &mut Parsed, health: &str) -> bool {
    let failed = health.chars().filter(|letter| *letter == 'D').count();
    for (field, count) in [("members", health.len()), ("failed_members", failed)] {
        parsed.numbers.insert(field.to_owned(), Some(count as f64));
    }
    !health.is_empty() && health.chars().all(|letter| "AaD-".contains(letter))
}
