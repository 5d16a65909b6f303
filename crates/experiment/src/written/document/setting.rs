//! `set."NAME.key" = value`: a value that replaces the value of a key in another table.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Table, Written, mistake, places};
use crate::written::diagnostic::Diagnostic;

/// A value for a key of another table. Mistakes in it are reported at its own place.
#[derive(Debug, Clone)]
pub(crate) struct Setting<'t> {
    /// Path of the key that it sets; dots separate the parts.
    pub path: String,
    /// Byte range of the path.
    key: Range<usize>,
    value: Written<'t>,
}

impl<'t> Setting<'t> {
    /// A value from a list, for the key at `path`.
    pub(crate) fn listed(path: &str, value: Written<'t>) -> Self {
        let start = value.span().start;
        Self { path: path.to_owned(), key: start..start, value }
    }

    /// Returns where it stands.
    pub(crate) fn at(&self) -> Range<usize> {
        places::place(&self.key, &self.value.span())
    }

    /// Its value.
    pub(crate) fn value(&self) -> &DeValue<'t> {
        self.value.get_ref()
    }

    /// As it is written: `vdo.dedupe = false`.
    pub(crate) fn shown(&self) -> String {
        format!("{} = {}", self.path, mistake::shown(self.value.get_ref()))
    }
}

impl<'t> Table<'t> {
    /// Returns what is left, as values for other tables.
    pub(crate) fn settings(self) -> Vec<Setting<'t>> {
        let setting = |(name, value): (Spanned<Cow<'t, str>>, Written<'t>)| {
            let key = name.span();
            Setting { path: name.into_inner().into_owned(), key, value }
        };
        self.entries.into_iter().map(setting).collect()
    }

    /// Returns the text at a key, without taking it out.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.entries.get(name)?.get_ref() {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Replaces the value at `path`. From now on the table's place is that of the value, so that mistakes about missing
    /// keys are reported there, too.
    pub(crate) fn put(&mut self, path: &str, setting: &Setting<'t>) -> Result<(), Diagnostic> {
        // The settings of running layers have dots in their names.
        let inside = if path.starts_with("set.") { path.split_once('.') } else { None };
        let names: Vec<&str> =
            inside.map_or_else(|| path.split('.').collect(), |(set, key)| vec![set, key]);
        let Some((last, around)) = names.split_last() else { return Ok(()) };
        let key = |name: &str| Spanned::new(setting.key.clone(), Cow::Owned(name.to_owned()));
        let mut entries = &mut self.entries;
        for name in around {
            if entries.get(*name).is_none() {
                let table = DeValue::Table(DeTable::new());
                entries.insert(key(name), Spanned::new(setting.key.clone(), table));
            }
            match entries.get_mut(*name).map(Spanned::get_mut) {
                Some(DeValue::Table(inner)) => entries = inner,
                _ => {
                    let message =
                        format!("'{path}' names a key inside of '{name}', which is not a table");
                    let help = format!("set '{name}' itself, or bring a table: {name} = {{ ... }}");
                    return Err(Diagnostic::at(setting.at(), message, help));
                }
            }
        }
        // Removed first, since an existing key would keep its old place.
        entries.remove(*last);
        entries.insert(key(last), setting.value.clone());
        self.at = setting.at();
        Ok(())
    }
}
