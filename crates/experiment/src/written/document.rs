//! An experiment file as it is written: tables whose keys and values know their places in the text. A reader takes the keys
//! that it knows, one after the other, and refuses those that are left; each mistake is reported at its place, with the values that
//! the key takes.

mod mistake;
mod parts;
mod places;
mod setting;

use std::borrow::Cow;
use std::ops::Range;

use serde::de::{Deserialize, DeserializeOwned};
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};
use units::Key;

use crate::written::diagnostic::{Diagnostic, Mend, nearest};
pub(crate) use parts::{Part, parts};
pub(crate) use places::Places;
pub(crate) use setting::Setting;

/// Tells whether a text can be read as tables at all.
pub(crate) fn is_written(text: &str) -> bool {
    DeTable::parse(text).is_ok()
}

/// A value, and where it stands.
pub(crate) type Written<'t> = Spanned<DeValue<'t>>;

/// One table of the text `'t`. What was taken out of it is gone.
#[derive(Debug, Clone)]
pub struct Table<'t> {
    /// Name of the table in mistakes: `A stage`.
    what: &'static str,
    /// Byte range of its header, or of all of an inline table.
    at: Range<usize>,
    entries: DeTable<'t>,
    /// Keys that were asked for.
    known: Vec<&'static str>,
}

/// A key that the file gives a name to, with its value.
#[derive(Debug, Clone)]
pub(crate) struct Named<T> {
    /// The name.
    pub name: String,
    /// Byte range of the name and the value.
    pub at: Range<usize>,
    /// The value.
    pub value: T,
}

/// The values of a list.
#[derive(Debug, Clone)]
pub(crate) struct List<'t> {
    /// Byte range of the list and its key.
    pub at: Range<usize>,
    /// The values.
    pub values: Vec<Written<'t>>,
}

impl<'t> Table<'t> {
    /// Reads a whole file.
    pub(crate) fn parse(text: &'t str, what: &'static str) -> Result<Self, Diagnostic> {
        let entries = DeTable::parse(text).map_err(|e| mistake::of_syntax(&e))?;
        Ok(Self::new(what, 0..0, entries.into_inner()))
    }

    /// Makes a table without keys and without a place in the text.
    pub(crate) fn empty(what: &'static str) -> Self {
        Self::new(what, 0..0, DeTable::new())
    }

    fn new(what: &'static str, at: Range<usize>, entries: DeTable<'t>) -> Self {
        Self { what, at, entries, known: Vec::new() }
    }

    /// Sets a more exact name for mistakes, once the kind of table is known.
    pub(crate) fn is(&mut self, what: &'static str) {
        self.what = what;
    }

    /// Returns where it stands: its header, or all of an inline table.
    pub fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// Returns the place of a key, or of the table if the key is not written.
    pub(crate) fn place(&self, name: &str) -> Range<usize> {
        let found = self.entries.get_key_value(name);
        found.map_or_else(|| self.at(), |(key, value)| places::place(&key.span(), &value.span()))
    }

    /// Returns where its keys stand, those inside of its tables too.
    pub(crate) fn places(&self) -> Places {
        Places::of(&self.at, &self.entries)
    }

    /// Tells whether a key is written.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.get(name).is_some()
    }

    /// Refuses every key but these.
    pub(crate) fn only(mut self, keys: &[&'static str]) -> Result<Self, Diagnostic> {
        self.known.extend(keys);
        let strange =
            self.entries.iter().find(|(name, _)| !keys.contains(&name.get_ref().as_ref()));
        match strange {
            None => Ok(self),
            Some((name, value)) => {
                let at = places::place(&name.span(), &value.span());
                Err(mistake::unknown(self.what, at, name.get_ref(), &self.known))
            }
        }
    }

    /// Takes a key out; `None` when it is not written.
    pub fn take<T: DeserializeOwned>(
        &mut self,
        key: &Key,
    ) -> Result<Option<Spanned<T>>, Diagnostic> {
        let Some((at, value)) = self.remove(key) else { return Ok(None) };
        let shown = mistake::shown(value.get_ref());
        match T::deserialize(ValueDeserializer::from(value)) {
            Ok(value) => Ok(Some(Spanned::new(at, value))),
            Err(error) => Err(mistake::of_value(at, key.name, &shown, &error, Some(key))),
        }
    }

    /// Takes a key out that has to be there.
    pub fn need<T: DeserializeOwned>(&mut self, key: &Key) -> Result<Spanned<T>, Diagnostic> {
        self.take(key)?.ok_or_else(|| {
            if let Some(misspelt) = self.misspelt(key) {
                return misspelt;
            }
            let message = format!("{} has no key '{}', which it needs", self.what, key.name);
            let help = format!("add it: {}", key.help(key.name));
            Diagnostic::at(self.at(), message, help).add(key)
        })
    }

    /// Returns the mistake for a key that is probably a misspelling of the missing key `key`.
    pub(crate) fn misspelt(&self, key: &Key) -> Option<Diagnostic> {
        let names = self.entries.iter().map(|(name, _)| &**name.get_ref());
        // Only a close spelling counts, since the table has other keys as well.
        let is_slip = |near: &&str| strsim::damerau_levenshtein(near, key.name) <= 2;
        let near = nearest(key.name, names).filter(is_slip)?;
        let message = format!("{} has no key '{near}'", self.what);
        let help = format!("did you mean '{}'? {}", key.name, key.help(key.name));
        let instead = Some(Mend::Named(key.name.into()));
        Some(Diagnostic { instead, ..Diagnostic::at(self.place(near), message, help) })
    }

    /// Takes `[key]` or `key = { ... }` out; `None` when it is not written.
    pub(crate) fn table(
        &mut self,
        key: &Key,
        what: &'static str,
    ) -> Result<Option<Self>, Diagnostic> {
        self.remove(key).map(|(at, value)| inner(value, at, key.name, key, what)).transpose()
    }

    /// Takes all `[[key]]` out, in order; none when it is not written.
    pub(crate) fn tables(
        &mut self,
        key: &Key,
        what: &'static str,
    ) -> Result<Vec<Self>, Diagnostic> {
        let Some((at, value)) = self.remove(key) else { return Ok(Vec::new()) };
        let shown = mistake::shown(value.get_ref());
        let DeValue::Array(list) = value.into_inner() else {
            let message = format!("{} cannot be {shown}", key.name);
            return Err(Diagnostic::of_key(at, message, key));
        };
        list.into_iter().map(|each| inner(each.clone(), each.span(), key.name, key, what)).collect()
    }

    /// Returns what is left, each a table: `[devices.NAME]`.
    pub(crate) fn named_tables(
        self,
        key: &Key,
        what: &'static str,
    ) -> Result<Vec<Named<Self>>, Diagnostic> {
        let read = |(name, value): (Spanned<Cow<'t, str>>, Written<'t>)| {
            let at = places::place(&name.span(), &value.span());
            let name = name.into_inner().into_owned();
            let value = inner(value, at.clone(), &mistake::written(&name), key, what)?;
            Ok(Named { name, at, value })
        };
        self.entries.into_iter().map(read).collect()
    }

    /// Returns what is left, each a list.
    pub(crate) fn lists(self, key: &Key) -> Result<Vec<Named<List<'t>>>, Diagnostic> {
        let read = |(name, value): (Spanned<Cow<'t, str>>, Written<'t>)| {
            let at = places::place(&name.span(), &value.span());
            let name = name.into_inner().into_owned();
            let shown = mistake::shown(value.get_ref());
            let DeValue::Array(list) = value.into_inner() else {
                let message = format!("{} cannot be {shown}", mistake::written(&name));
                return Err(Diagnostic::of_key(at, message, key));
            };
            let values = list.iter().cloned().collect();
            Ok(Named { name, at: at.clone(), value: List { at, values } })
        };
        self.entries.into_iter().map(read).collect()
    }

    /// Returns what is left, as values: settings that only the layer knows.
    pub(crate) fn values(self) -> Result<Vec<Named<Value>>, Diagnostic> {
        let read = |(name, value): (Spanned<Cow<'t, str>>, Written<'t>)| {
            let at = places::place(&name.span(), &value.span());
            let name = name.into_inner().into_owned();
            let shown = mistake::shown(value.get_ref());
            let value = Value::deserialize(ValueDeserializer::from(value)).map_err(|error| {
                mistake::of_value(at.clone(), &mistake::written(&name), &shown, &error, None)
            })?;
            Ok(Named { name, at, value })
        };
        self.entries.into_iter().map(read).collect()
    }

    /// Takes the list `key = [...]` out; `None` when it is not written.
    pub(crate) fn list(&mut self, key: &Key) -> Result<Option<List<'t>>, Diagnostic> {
        let Some((at, value)) = self.remove(key) else { return Ok(None) };
        let shown = mistake::shown(value.get_ref());
        let DeValue::Array(list) = value.into_inner() else {
            let message = format!("{} cannot be {shown}", key.name);
            return Err(Diagnostic::of_key(at, message, key));
        };
        Ok(Some(List { at, values: list.iter().cloned().collect() }))
    }

    /// Returns what is left, read by serde, where no key takes a list; `key` describes the keys by their paths.
    pub(crate) fn read<T: DeserializeOwned>(
        self,
        key: fn(&str) -> Option<&'static Key>,
    ) -> Result<T, Diagnostic> {
        // Serde would take a list for the values of a table's keys in their order.
        if let Some(mistake) = mistake::list(&self.entries, key) {
            return Err(mistake);
        }
        let table = Spanned::new(self.at(), DeValue::Table(self.entries.clone()));
        T::deserialize(ValueDeserializer::from(table)).map_err(|e| {
            mistake::inside((self.what, &self.at), (&self.entries, &self.known), &e, key)
        })
    }

    /// Refuses what is left.
    pub fn finish(self) -> Result<(), Diagnostic> {
        match self.entries.iter().next() {
            None => Ok(()),
            Some((name, value)) => {
                let at = places::place(&name.span(), &value.span());
                Err(mistake::unknown(self.what, at, name.get_ref(), &self.known))
            }
        }
    }

    fn remove(&mut self, key: &Key) -> Option<(Range<usize>, Written<'t>)> {
        self.known.push(key.name);
        let (name, value) = self.entries.remove_entry(key.name)?;
        Some((places::place(&name.span(), &value.span()), value))
    }
}

/// Returns `value` as the table that it has to be.
pub(crate) fn inner<'t>(
    value: Written<'t>,
    at: Range<usize>,
    path: &str,
    key: &Key,
    what: &'static str,
) -> Result<Table<'t>, Diagnostic> {
    let (span, shown) = (value.span(), mistake::shown(value.get_ref()));
    match value.into_inner() {
        DeValue::Table(entries) => Ok(Table::new(what, span, entries)),
        _ => Err(Diagnostic::of_key(at, format!("{path} cannot be {shown}"), key)),
    }
}

#[cfg(test)]
mod tests;
