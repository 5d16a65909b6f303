//! Places of the keys of a table: byte ranges of the text.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Byte ranges of the keys of a table, by their paths, whose parts are separated by dots.
#[derive(Debug, Clone)]
pub struct Places {
    table: Range<usize>,
    keys: BTreeMap<String, Range<usize>>,
}

impl Places {
    /// Returns the places of `entries`, whose table is at `table`.
    pub(super) fn of(table: &Range<usize>, entries: &DeTable) -> Self {
        let mut keys = BTreeMap::new();
        walk("", entries, &mut |path, key, value| {
            keys.insert(path.to_owned(), place(key, &value.span()));
        });
        Self { table: table.clone(), keys }
    }

    /// Returns the place of the key at `path`, or of the table around it if the key is not written.
    pub(crate) fn at(&self, path: &str) -> Range<usize> {
        let mut path = path;
        loop {
            if let Some(found) = self.keys.get(path) {
                return found.clone();
            }
            match path.rsplit_once('.') {
                Some((around, _)) => path = around,
                None => return self.table.clone(),
            }
        }
    }

    /// Tells whether the key at `path` is written.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.keys.contains_key(path)
    }

    /// The table's own place.
    pub(crate) fn table(&self) -> Range<usize> {
        self.table.clone()
    }
}

/// Returns the range from a key to the end of its value. For a table `[a.b]` this is the range of the header. A table
/// implied by a dotted key has the range of that key.
pub(super) fn place(key: &Range<usize>, value: &Range<usize>) -> Range<usize> {
    if value.start >= key.end { key.start..value.end } else { value.clone() }
}

/// Called for each key with its path, its position and its value.
type KeyVisitor<'a> = dyn FnMut(&str, &Range<usize>, &Spanned<DeValue>) + 'a;

/// Calls `see` for every key of a table, including those of tables inside it.
pub(super) fn walk(before: &str, entries: &DeTable, see: &mut KeyVisitor) {
    for (name, value) in entries {
        let path = format!("{before}{}", name.get_ref());
        see(&path, &name.span(), value);
        if let DeValue::Table(inner) = value.get_ref() {
            walk(&format!("{path}."), inner, see);
        }
    }
}
