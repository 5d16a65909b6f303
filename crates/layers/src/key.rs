//! One setting of a layer or of an action: its default and its range are stored as values, and described in words made from them.

use units::Bytes;

/// One setting of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name in the experiment.
    pub name: &'static str,
    /// Its allowed values, and its default.
    pub values: Values,
    /// Explanation of the setting.
    pub help: &'static str,
}

/// The values of a setting, and its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// On or off.
    Switch(bool),
    /// A whole number: the default, the least and the most, and the words before and after this range.
    Number(u32, (u32, u32), [&'static str; 2]),
    /// One of some numbers: the default, and all of them.
    Choice(u32, &'static [u32]),
    /// One of some words; the first is the default.
    OneOf(&'static [&'static str]),
    /// A size: the default in bytes, the allowed sizes in words, and an example in TOML.
    Size(u64, [&'static str; 2]),
    /// Values that only words can describe: the default, the allowed values, and an example in TOML.
    Described([&'static str; 3]),
}

/// Returns the whole numbers of a range, with `usual` as the default.
pub(crate) const fn whole(usual: u32, range: (u32, u32)) -> Values {
    Values::Number(usual, range, ["a whole number", ""])
}

/// Makes a list of settings, each given by its name, values and explanation, or as a key that is defined elsewhere.
macro_rules! keys {
    (@one $key:expr) => { $key };
    (@one $name:expr, $values:expr, $help:expr) => {
        $crate::key::Key { name: $name, values: $values, help: $help }
    };
    ($($first:expr $(, $values:expr, $help:expr)?;)*) => {
        &[$($crate::key::keys!(@one $first $(, $values, $help)?)),*]
    };
}
pub(crate) use keys;

impl Key {
    /// Returns what kind of value it takes: `switch`, `number`, `size` or `word`.
    pub fn takes(&self) -> &'static str {
        let is_size = |example: &str| example.trim_matches('"').parse::<Bytes>().is_ok();
        match self.values {
            Values::Switch(_) => "switch",
            Values::Number(..) | Values::Choice(..) => "number",
            Values::Size(..) => "size",
            Values::Described([.., example]) if is_size(example) => "size",
            Values::OneOf(_) | Values::Described(_) => "word",
        }
    }

    /// Returns its default; a description of it where it depends on something else.
    pub fn default(&self) -> String {
        match self.values {
            Values::Switch(on) => on_off(on),
            Values::Number(usual, ..) | Values::Choice(usual, _) => usual.to_string(),
            Values::OneOf(all) => all[0].to_owned(),
            Values::Size(usual, _) => size_text(usual),
            Values::Described([usual, ..]) => usual.to_owned(),
        }
    }

    /// Returns its allowed values, in words.
    pub fn allowed(&self) -> String {
        match self.values {
            Values::Switch(_) => "on or off".to_owned(),
            Values::Number(_, range, [before, after]) => match range {
                (0, u32::MAX) => format!("{before}{after}"),
                (least, u32::MAX) => format!("{before} from {least} on{after}"),
                (least, most) => format!("{before} from {least} to {most}{after}"),
            },
            Values::Choice(_, all) => one_of(all),
            Values::OneOf(all) => one_of(all),
            Values::Size(_, [allowed, _]) | Values::Described([_, allowed, _]) => {
                allowed.to_owned()
            }
        }
    }

    /// Returns an example of a value, as it is written in TOML.
    pub fn example(&self) -> String {
        match self.values {
            Values::Switch(on) => (!on).to_string(),
            Values::OneOf(all) => format!("{:?}", all[all.len().min(2) - 1]),
            Values::Size(_, [_, example]) | Values::Described([.., example]) => example.to_owned(),
            Values::Number(..) | Values::Choice(..) => self.default(),
        }
    }
}

/// `off, sync or async`.
fn one_of(all: &[impl ToString]) -> String {
    let mut words: Vec<String> = all.iter().map(ToString::to_string).collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} or {last}", words.join(", ")) }
}

/// `on` or `off`.
pub(crate) fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// A size as a person would write it in an experiment: the largest whole unit.
pub(crate) fn size_text(bytes: u64) -> String {
    let units = [(50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "k")];
    let fits = |(shift, _): &&(u32, &str)| bytes != 0 && bytes.trailing_zeros() >= *shift;
    match units.iter().find(fits) {
        Some((shift, suffix)) => format!("{}{suffix}", bytes >> shift),
        None => bytes.to_string(),
    }
}
