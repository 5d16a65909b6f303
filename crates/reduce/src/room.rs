//! Room in hash tables that grow while a load runs.

use std::hash::Hash;

use rustc_hash::FxHashMap as HashMap;

/// A table that reaches `SOME` entries is likely to reach about `MANY`, the largest number of contents in the census of a load.
const SOME: usize = 1 << 12;
const MANY: usize = 1 << 15;

/// Reserves room in a growing table for all entries that are likely to come, at most `most`: growing by doubling would touch new memory several
/// times, which costs more than the entries themselves.
pub(crate) fn make_room<K: Eq + Hash, V>(table: &mut HashMap<K, V>, most: usize) {
    if table.len() == SOME {
        table.reserve((MANY + 1).min(most).saturating_sub(SOME));
    }
}
