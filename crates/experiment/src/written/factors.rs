//! Factors: what is varied at several levels, and crossed with every other. `[[exclude]]` leaves combinations out.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;
use units::{Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::{self, List, Setting, Table, Written};
use crate::written::keys::SET;
use crate::written::names;

const NAME: Key = key("name", "a text of 1 to 64 characters", "\"dedupe\"");
const KEY: Key = key("key", "the key that is varied", "\"vdo.dedupe\"");
const LEVELS: Key = key(
    "levels",
    "a list of values of the key, or tables with a name and what they set",
    "[true, false]",
);
/// The name by which an exclusion refers to variants of the file; no factor may have it.
const VARIANT: &str = "variant";

/// `[[factor]]`: something that is varied.
#[derive(Clone)]
pub(crate) struct Factor<'t> {
    pub name: Spanned<String>,
    /// Byte range of the key that all levels are values of.
    pub key: Option<Range<usize>>,
    pub levels: Vec<Level<'t>>,
}

/// One value that a factor takes.
#[derive(Clone)]
pub(crate) struct Level<'t> {
    pub name: String,
    /// Its byte range in the file.
    pub at: Range<usize>,
    pub set: Vec<Setting<'t>>,
}

/// `[[exclude]]`: levels by factor that do not go together.
pub(crate) struct Exclude {
    /// Its byte range in the file.
    pub at: Range<usize>,
    levels: Vec<(String, String, Range<usize>)>,
}

impl<'t> Factor<'t> {
    pub(crate) fn read(mut table: Table<'t>) -> Result<Self, Diagnostic> {
        let name: Spanned<String> = table.need(&NAME)?;
        if let Some(mistake) = names::check("a factor", name.get_ref(), &name.span()) {
            return Err(mistake.renamed());
        }
        if name.get_ref() == VARIANT {
            let message = "A factor cannot be called 'variant', as [[variant]] is";
            let mistake = Diagnostic::at(name.span(), message, "give it another name");
            return Err(mistake.with("\"another\"".into()));
        }
        let key = table.take::<String>(&KEY)?;
        let levels = table.list(&LEVELS)?;
        let at = table.at();
        table.finish()?;
        let Some(List { at, values }) = levels else {
            let message = format!("The factor '{}' has no levels", name.get_ref());
            return Err(Diagnostic::at(at, message, LEVELS.help(LEVELS.name)));
        };
        let (key, key_at) = (key.as_ref().map(Spanned::get_ref), key.as_ref().map(Spanned::span));
        let levels: Vec<Level> = match key {
            Some(key) => values.into_iter().map(|v| Level::value(key, v)).collect::<Result<_, _>>(),
            None => values.into_iter().map(Level::named).collect::<Result<_, _>>(),
        }?;
        if levels.len() < 2 {
            let message = format!(
                "The factor '{}' has {} of the two levels that it needs",
                name.get_ref(),
                levels.len()
            );
            let help = "add levels; for a single value write it where it belongs";
            return Err(Diagnostic::at(at, message, help));
        }
        if levels.iter().all(|level| level.set.is_empty()) {
            let message = format!("No level of the factor '{}' sets anything", name.get_ref());
            let help =
                "write what a level sets: { name = \"on\", set = { \"vdo.dedupe\" = true } }";
            return Err(Diagnostic::at(at, message, help));
        }
        for (i, level) in levels.iter().enumerate() {
            if levels[..i].iter().any(|other| other.name == level.name) {
                let message =
                    format!("Two levels of '{}' are called '{}'", name.get_ref(), level.name);
                return Err(Diagnostic::at(level.at.clone(), message, "give each its own name"));
            }
        }
        Ok(Self { name, key: key_at, levels })
    }
}

impl Factor<'_> {
    /// Returns the mistake for two levels that are `alike`: the same under two names.
    pub(crate) fn equal_levels(
        &self,
        alike: &dyn Fn(&str, &str) -> Option<bool>,
    ) -> Option<Diagnostic> {
        self.levels.iter().enumerate().find_map(|(i, level)| {
            let same = |other: &&Level| alike(&other.name, &level.name) == Some(true);
            let other = self.levels[..i].iter().find(same)?;
            let message = format!(
                "The levels '{}' and '{}' of '{}' are the same",
                other.name,
                level.name,
                self.name.get_ref()
            );
            let mistake = Diagnostic::at(level.at.clone(), message, "leave one of the two out");
            let paths: Vec<&str> = level.set.iter().map(|set| set.path.as_str()).collect();
            Some(mistake.if_name_is_right(&paths.join(" ")))
        })
    }
}

impl<'t> Level<'t> {
    /// A value of the factor's key.
    fn value(key: &str, value: Written<'t>) -> Result<Self, Diagnostic> {
        let at = value.span();
        let Some(name) = name_of(value.get_ref()) else {
            let message = "A level of a factor with a key is a value, no table or list";
            let help = "leave key out, and write levels = [{ name = \"on\", set = { ... } }, ...]";
            return Err(Diagnostic::at(at, message, help));
        };
        let mistake = names::check("a level", &name, &at);
        let set = vec![Setting::listed(key, value)];
        mistake.map_or(Ok(Self { name, at, set }), Err)
    }

    /// A table with a name and what it sets.
    fn named(value: Written<'t>) -> Result<Self, Diagnostic> {
        let at = value.span();
        if name_of(value.get_ref()).is_some() {
            let message = "A level that is a value needs the key that it is of";
            return Err(Diagnostic::at(at, message, format!("add it: {}", KEY.help(KEY.name))));
        }
        let mut table = document::inner(value, at.clone(), "a level", &LEVELS, "A level")?;
        let name: Spanned<String> = table.need(&NAME)?;
        if let Some(mistake) = names::check("a level", name.get_ref(), &name.span()) {
            return Err(mistake.renamed());
        }
        let set = table.table(&SET, "set")?.map(Table::settings).unwrap_or_default();
        table.finish()?;
        Ok(Self { name: name.into_inner(), at, set })
    }
}

/// Returns the name of a level that is a plain value; `true` and `false` are called on and off.
pub(crate) fn name_of(value: &DeValue) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(if *flag { "on" } else { "off" }.to_owned()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

impl Exclude {
    pub(crate) fn read(table: Table) -> Result<Self, Diagnostic> {
        let at = table.at();
        let entry = |setting: Setting| {
            let place = setting.at();
            let level = name_of(setting.value()).ok_or_else(|| {
                let message = format!("{} of an exclusion does not name a level", setting.path);
                let help = "name one level of each factor: dedupe = \"off\"";
                Diagnostic::at(place.clone(), message, help)
            })?;
            Ok((setting.path, level, place))
        };
        let levels: Vec<_> =
            table.settings().into_iter().map(entry).collect::<Result<_, Diagnostic>>()?;
        if levels.is_empty() {
            let help = "name levels by their factors: dedupe = \"off\"";
            return Err(Diagnostic::at(at, "An exclusion names no levels", help));
        }
        Ok(Self { at, levels })
    }

    /// Tells whether it leaves out the cell of these levels, of the variant of this name.
    pub(crate) fn leaves_out(
        &self,
        variant: Option<&str>,
        levels: &BTreeMap<String, String>,
    ) -> bool {
        self.levels.iter().all(|(factor, level, _)| {
            let value = levels.get(factor).map(String::as_str);
            (if factor == VARIANT { variant } else { value }) == Some(level)
        })
    }

    /// Returns the mistake for a name that does not exist.
    pub(crate) fn check(&self, factors: &[Factor], variants: &[&str]) -> Option<Diagnostic> {
        let unknown = |what: &str, name: &str, known: Vec<&str>, at: &Range<usize>| {
            let message = format!("There is no {what} '{name}' to exclude");
            (!known.contains(&name)).then(|| Diagnostic::unknown(at.clone(), message, name, known))
        };
        self.levels.iter().find_map(|(name, level, at)| {
            if name == VARIANT && !variants.is_empty() {
                return unknown("variant", level, variants.to_vec(), at);
            }
            match factors.iter().find(|factor| factor.name.get_ref() == name) {
                None => {
                    let known = factors.iter().map(|f| f.name.get_ref().as_str()).collect();
                    // No mend by a near name: the level would be of another factor.
                    let mistake = unknown("factor", name, known, at)?;
                    Some(Diagnostic { instead: None, ..mistake })
                }
                Some(factor) => {
                    let known = factor.levels.iter().map(|l| l.name.as_str()).collect();
                    unknown(&format!("level of '{name}'"), level, known, at)
                }
            }
        })
    }
}
