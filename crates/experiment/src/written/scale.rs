//! `[scale.NAME]`: another size of the same experiment: values that override the rest of the file. `lab` is a size that fits the lab, `full`
//! one for a host's devices.

use std::collections::BTreeMap;

use toml::de::DeTable;

use crate::written::diagnostic::{Diagnostic, among};
use crate::written::document::{Named, Setting, Table};
use crate::written::factors::Factor;
use crate::written::given;
use crate::written::keys::{SET, VARIANT};

/// Scales that every experiment has: one without a table leaves the file's values as they are.
pub(crate) const USUAL: [&str; 2] = ["lab", "full"];

/// The scale at which an experiment is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scale {
    /// The one for where it runs (`lab` or `full`), if the file has it.
    Usual(&'static str),
    /// The one that the user asked for.
    Asked(String),
}

impl Scale {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Usual(name) => name,
            Self::Asked(name) => name,
        }
    }
}

/// `[scale.NAME]` as written.
pub(crate) struct Scaled<'t> {
    /// For all variants.
    pub set: Vec<Setting<'t>>,
    /// For single ones, by their names.
    pub variants: Vec<Named<Vec<Setting<'t>>>>,
}

/// Returns the text of an experiment with a table `[given]` appended. A value that is not TOML is taken as a text; of a key that is given twice
/// the last counts, even if `text` has such a table already. Text that was written after that table by hand is moved before it.
pub fn with_set(text: String, set: &[(String, String)]) -> String {
    if set.is_empty() {
        return text;
    }
    let (mut text, before) = match given::block(&text) {
        Some(block) => {
            let rest = [&text[..block.start], &text[block.end..]].concat();
            (rest, text[block].lines().map(str::to_owned).collect())
        }
        None => (text, Vec::new()),
    };
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let known = before.iter().filter_map(|line| line.split_once(" = "));
    lines.extend(known.map(|(key, value)| (key.to_owned(), value.to_owned())));
    for (key, value) in set {
        let is_toml = DeTable::parse(&format!("v = {value}")).is_ok() && !value.contains('\n');
        lines.insert(quoted(key), if is_toml { value.clone() } else { quoted(value) });
    }
    text.push_str(given::BEHIND);
    text.extend(lines.into_iter().map(|(key, value)| format!("{key} = {value}\n")));
    text
}

/// A text as TOML writes it.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl<'t> Scaled<'t> {
    pub(crate) fn read(named: Named<Table<'t>>) -> Result<Named<Self>, Diagnostic> {
        let Named { name, at, value: mut table } = named;
        let set = table.table(&SET, "set")?.map(Table::settings).unwrap_or_default();
        let variants = table.table(&VARIANT, "Variants of a scale")?;
        table.finish()?;
        let variants = variants.map(|table| table.named_tables(&VARIANT, "A variant of a scale"));
        let read_variant = |variant: Named<Table<'t>>| {
            let Named { name, at, value: mut table } = variant;
            let set = table.table(&SET, "set")?.map(Table::settings).unwrap_or_default();
            table.finish()?;
            Ok(Named { name, at, value: set })
        };
        let variants = variants
            .transpose()?
            .unwrap_or_default()
            .into_iter()
            .map(read_variant)
            .collect::<Result<_, _>>()?;
        Ok(Named { name, at, value: Self { set, variants } })
    }

    /// Refuses to set what a factor varies: all its levels would be one.
    pub(crate) fn check(&self, factors: &[Factor]) -> Vec<Diagnostic> {
        let levels = |f: &Factor| {
            f.levels.iter().flat_map(|l| l.set.iter().map(|s| s.path.clone())).collect::<Vec<_>>()
        };
        let varied: Vec<_> = factors.iter().map(|f| (f.name.get_ref(), levels(f))).collect();
        let wrong = |setting: &Setting| {
            let (factor, _) = varied.iter().find(|(_, paths)| paths.contains(&setting.path))?;
            let message = format!("'{}' is what the factor '{factor}' varies", setting.path);
            let help = "leave it out: it is set last, so all levels would be one";
            Some(Diagnostic::at(setting.at(), message, help).fix_by_removing())
        };
        self.set.iter().filter_map(wrong).collect()
    }
}

/// The scale that is planned, of those in the file.
pub(crate) fn chosen<'a, 't>(
    scales: &'a [Named<Scaled<'t>>],
    wanted: &Scale,
) -> Result<Option<&'a Named<Scaled<'t>>>, Diagnostic> {
    let name = wanted.name();
    let found = scales.iter().find(|scale| scale.name == name);
    if found.is_some() || USUAL.contains(&name) {
        return Ok(found);
    }
    let others =
        scales.iter().map(|scale| scale.name.as_str()).filter(|name| !USUAL.contains(name));
    let known: Vec<_> = USUAL.into_iter().chain(others).collect();
    Err(Diagnostic {
        message: format!("The experiment has no scale '{name}'"),
        span: None,
        help: Some(among(name, known)),
        ..Diagnostic::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_again_replaces_what_was_given_before() {
        let given = |text: &str, key: &str, value: &str| {
            with_set(text.to_owned(), &[(key.to_owned(), value.to_owned())])
        };
        let once = given("name = \"x\"\n[set]\n\"a.b\" = 1\n", "a.b", "2");
        let again = given(&given(&once, "a.c", "two words"), "a.b", "3");
        assert!(once.ends_with("[given]\n\"a.b\" = 2\n"), "{once}");
        assert!(again.ends_with("[given]\n\"a.b\" = 3\n\"a.c\" = \"two words\"\n"), "{again}");
        assert_eq!(again.matches("[given]").count(), 1);
        assert!(DeTable::parse(&again).is_ok());
        // Lines that somebody wrote behind it, and a factor that came later, stay as they are.
        let more = format!("{once}\n[[question]]\nmetric = \"iops\"\nlevels = [\n  1,\n]\n");
        assert_eq!(with_set(more.clone(), &[]), more);
        let moved = given(&more, "a.c", "4");
        assert!(
            moved.ends_with(
                "]\n\n# Given on the command line:\n[given]\n\"a.b\" = 2\n\"a.c\" = 4\n"
            ),
            "{moved}"
        );
        let read: toml::Table = moved.parse().unwrap();
        assert_eq!(read["question"][0]["metric"].as_str(), Some("iops"));
    }

    #[test]
    fn what_is_set_is_read_back_whatever_it_holds() {
        for value in ["say \"it\"", "it's", "a\u{b}b\u{7f}", "two\nlines", "\\", "\u{feff}x"] {
            let text = with_set(String::new(), &[("a \u{1b}'\"key".to_owned(), value.to_owned())]);
            let read: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read["given"]["a \u{1b}'\"key"].as_str(), Some(value), "{text}");
        }
    }
}
