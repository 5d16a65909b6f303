//! Room in hash tables that fill while a load runs.

use std::hash::Hash;

use rustc_hash::FxHashMap as HashMap;

/// A table with `SOME` entries is likely to get many, about `MANY`: a load's census holds that many contents at most.
const SOME: usize = 1 << 12;
const MANY: usize = 1 << 15;

/// Reserves room in a table that fills for all that is likely to come, at most `most`: growing by doubling would touch new memory
/// several times, which costs more than the entries.
pub(crate) fn make_room<K: Eq + Hash, V>(table: &mut HashMap<K, V>, most: usize) {
    if table.len() == SOME {
        table.reserve((MANY + 1).min(most).saturating_sub(SOME));
    }
}
