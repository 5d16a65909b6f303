//! Settings read from a table: unknown keys refused with the nearest known one, every value named in errors.

use std::str::FromStr;

use toml::{Table, Value};
use units::Bytes;

use crate::key::{Key, Values};
pub(crate) use crate::key::{on_off, size_text};

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingError {
    /// The key as written.
    pub key: String,
    /// The mistake, with key and value.
    pub message: String,
    /// Advice on what to write instead.
    pub help: String,
    /// The known key nearest to an unknown one.
    pub nearest: Option<String>,
}

impl SettingError {
    /// A setting whose value cannot be used.
    pub fn new(key: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), help: help.into(), nearest: None }
    }
}

/// A table with the keys that it may have.
pub(crate) struct Settings<'a> {
    kind: &'a str,
    table: &'a Table,
    keys: &'a [Key],
}

impl<'a> Settings<'a> {
    /// Takes the table; refuses keys that are not among `keys`.
    pub(crate) fn new(
        kind: &'a str,
        table: &'a Table,
        keys: &'a [Key],
    ) -> Result<Self, SettingError> {
        let known = |name: &str| keys.iter().any(|k| k.name == name);
        let Some(unknown) = table.keys().find(|k| !known(k)) else {
            return Ok(Self { kind, table, keys });
        };
        let nearest = keys
            .iter()
            .map(|k| (strsim::damerau_levenshtein(unknown, k.name), k.name))
            .min()
            .filter(|(distance, name)| *distance <= name.len().div_ceil(2))
            .map(|(_, name)| name.to_owned());
        let all = keys.iter().map(|k| k.name).collect::<Vec<_>>().join(", ");
        let near = nearest.as_ref().map_or(String::new(), |n| format!("did you mean '{n}'? "));
        Err(SettingError {
            key: unknown.clone(),
            message: format!("layer '{kind}' has no setting '{unknown}'"),
            help: format!("{near}It has: {all}"),
            nearest,
        })
    }

    /// A size; `None` when the key is not written.
    pub(crate) fn size(&self, key: &str) -> Result<Option<u64>, SettingError> {
        let bytes = match self.table.get(key) {
            None => return Ok(None),
            Some(Value::Integer(n)) => u64::try_from(*n).ok(),
            Some(Value::String(text)) => Bytes::from_str(text).ok().map(|b| b.0),
            Some(_) => None,
        };
        bytes.map(Some).ok_or_else(|| self.refuse(key))
    }

    /// Reads a size; the setting's default if it is not written.
    pub(crate) fn bytes(&self, key: &str) -> Result<u64, SettingError> {
        let Some(Values::Size(default, _)) = self.values(key) else {
            return Err(self.refuse(key));
        };
        Ok(self.size(key)?.unwrap_or(default))
    }

    /// Reads a whole number; the setting's default if it is not written.
    pub(crate) fn number(&self, key: &str) -> Result<u32, SettingError> {
        match self.values(key) {
            Some(Values::Number(default, (least, most), _)) => {
                self.number_or(key, default, |n| (least..=most).contains(n))
            }
            Some(Values::Choice(default, all)) => self.number_or(key, default, |n| all.contains(n)),
            _ => Err(self.refuse(key)),
        }
    }

    /// A whole number that `fits`, or `default`.
    pub(crate) fn number_or(
        &self,
        key: &str,
        default: u32,
        fits: impl Fn(&u32) -> bool,
    ) -> Result<u32, SettingError> {
        let number = match self.table.get(key) {
            None => return Ok(default),
            Some(Value::Integer(n)) => u32::try_from(*n).ok(),
            Some(Value::String(text)) => text.parse().ok(),
            Some(_) => None,
        };
        number.filter(fits).ok_or_else(|| self.refuse(key))
    }

    /// One of the setting's words, or the first.
    pub(crate) fn word(&self, key: &str) -> Result<String, SettingError> {
        let Some(Values::OneOf(all)) = self.values(key) else { return Err(self.refuse(key)) };
        self.word_or(key, all[0], all)
    }

    /// One of the words `allowed`, or `default`.
    pub(crate) fn word_or(
        &self,
        key: &str,
        default: &str,
        allowed: &[&str],
    ) -> Result<String, SettingError> {
        match self.table.get(key) {
            None => Ok(default.to_owned()),
            Some(Value::String(text)) if allowed.contains(&text.as_str()) => Ok(text.clone()),
            Some(_) => Err(self.refuse(key)),
        }
    }

    /// A text that `is_right` takes; `None` where it is not set or empty.
    pub(crate) fn text(
        &self,
        key: &Key,
        is_right: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, SettingError> {
        let Some(value) = self.table.get(key.name) else { return Ok(None) };
        match value.as_str() {
            Some("") => Ok(None),
            Some(text) if is_right(text) => Ok(Some(text.to_owned())),
            _ => Err(self.refuse(key.name)),
        }
    }

    /// Reads words separated by `parted`; none when the key is not written or the text is empty.
    pub(crate) fn words(
        &self,
        key: &str,
        parted: char,
        allowed: impl Fn(&[String]) -> bool,
    ) -> Result<Vec<String>, SettingError> {
        let words: Vec<String> = match self.table.get(key) {
            None => Vec::new(),
            Some(Value::String(text)) if text.is_empty() => Vec::new(),
            Some(Value::String(text)) => text.split(parted).map(str::to_owned).collect(),
            Some(_) => return Err(self.refuse(key)),
        };
        if allowed(&words) { Ok(words) } else { Err(self.refuse(key)) }
    }

    /// Reads on or off; the setting's default if it is not written.
    pub(crate) fn switch(&self, key: &str) -> Result<bool, SettingError> {
        match (self.table.get(key), self.values(key)) {
            (None, Some(Values::Switch(on))) => Ok(on),
            (Some(Value::Boolean(on)), _) => Ok(*on),
            (Some(Value::String(text)), _) if text == "on" => Ok(true),
            (Some(Value::String(text)), _) if text == "off" => Ok(false),
            _ => Err(self.refuse(key)),
        }
    }

    fn values(&self, key: &str) -> Option<Values> {
        self.keys.iter().find(|known| known.name == key).map(|known| known.values)
    }

    /// The error for a value that is not what the key allows.
    fn refuse(&self, key: &str) -> SettingError {
        let known = self.keys.iter().find(|k| k.name == key);
        let help = known.map_or_else(String::new, |k| {
            format!("{key} takes {}, as in {key} = {}", k.allowed(), k.example())
        });
        let value = self.table.get(key).map_or(String::new(), ToString::to_string);
        SettingError::new(key, format!("{key} of layer '{}' cannot be {value}", self.kind), help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [Key; 2] = [
        Key { name: "logical_size", values: Values::Described(["", "a size", "\"1G\""]), help: "" },
        Key { name: "dedupe", values: Values::Switch(true), help: "" },
    ];

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_known_one() {
        let table = "logical_sise = 1".parse::<Table>().unwrap();
        let error = Settings::new("vdo", &table, &KEYS).err().unwrap();
        assert_eq!(error.nearest.as_deref(), Some("logical_size"));
        assert!(error.help.contains("did you mean 'logical_size'"), "{}", error.help);
        let table = "zzzzzzzzzzzzzz = 1".parse::<Table>().unwrap();
        assert_eq!(Settings::new("vdo", &table, &KEYS).err().unwrap().nearest, None);
    }

    #[test]
    fn a_wrong_value_is_named_with_what_is_allowed() {
        let table = "logical_size = true\ndedupe = \"maybe\"".parse::<Table>().unwrap();
        let settings = Settings::new("vdo", &table, &KEYS).unwrap();
        let error = settings.size("logical_size").unwrap_err();
        assert!(error.message.contains("cannot be true") && error.help.contains("1G"));
        assert!(settings.switch("dedupe").is_err());
    }

    #[test]
    fn a_size_is_written_in_its_largest_whole_unit() {
        for (bytes, text) in [
            (0, "0"),
            (4096, "4k"),
            (3 << 29, "1536M"),
            (1 << 40, "1T"),
            (5 << 50, "5P"),
            (4097, "4097"),
        ] {
            assert_eq!(size_text(bytes), text);
            assert_eq!(text.parse::<Bytes>().unwrap().0, bytes);
        }
    }
}
