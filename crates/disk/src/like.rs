//! The choice of the disk that is modelled: `like = "hdd"`, or `like = { base = "hdd", rpm = 5400, write_cache = false }`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::profile::{ModelKind, Profile, profile, profiles};
use crate::scalar::Scalar;

/// The disk that is modelled: a profile, and other values for some of its parameters. [`Like::profile`] checks it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Like {
    /// The profile's name.
    pub base: String,
    /// Values that replace the profile's.
    pub with: BTreeMap<String, Scalar>,
}

/// The two forms in which it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Name(String),
    Table {
        #[serde(default)]
        base: String,
        #[serde(flatten)]
        with: BTreeMap<String, Scalar>,
    },
}

impl From<Written> for Like {
    fn from(written: Written) -> Self {
        match written {
            Written::Name(base) => Self { base, with: BTreeMap::new() },
            Written::Table { base, with } => Self { base, with },
        }
    }
}

impl From<Like> for Written {
    fn from(Like { base, with }: Like) -> Self {
        if with.is_empty() { Self::Name(base) } else { Self::Table { base, with } }
    }
}

impl std::str::FromStr for Like {
    type Err = Error;

    /// Reads `hdd` and `hdd,rpm=5400,write_cache=false`.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(',');
        let base = parts.next().unwrap_or_default().trim().to_owned();
        let mut with = BTreeMap::new();
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                let what = format!("'{part}' is not a parameter with its value");
                return Err(Error::bad("like", what, "write them as in hdd,rpm=5400"));
            };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            if with.insert(key.clone(), Scalar::Text(value)).is_some() {
                let what = "is given twice";
                return Err(Error::bad(format!("like.{key}"), what, "give it once"));
            }
        }
        Ok(Self { base, with })
    }
}

impl fmt::Display for Like {
    /// `hdd, rpm 5400`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.base)?;
        self.with.iter().try_for_each(|(key, value)| write!(f, ", {key} {value}"))
    }
}

impl Like {
    /// The profile with its values.
    pub fn profile(&self) -> Result<Profile> {
        let Some(mut resolved) = profile(&self.base).cloned() else {
            return Err(self.unknown());
        };
        for (key, value) in &self.with {
            let place = format!("like.{key}");
            let Some((parameter, _)) = resolved.values().find(|(p, _)| p.name == key) else {
                let names: Vec<_> = resolved.values().map(|(p, _)| p.name).collect();
                let help = match names.as_slice() {
                    [] => format!("{} takes no parameters", resolved.name),
                    names => format!("{} has: {}", resolved.name, names.join(", ")),
                };
                let what = format!("{} has no such parameter", resolved.name);
                return Err(Error::bad(place, what, help));
            };
            let Some(number) = parameter.read(value) else {
                let help = format!("{key} takes {}", parameter.takes());
                return Err(Error::bad(place, format!("cannot be '{value}'"), help));
            };
            resolved.set(parameter.name, number);
        }
        consistent(&resolved)?;
        Ok(resolved)
    }

    fn unknown(&self) -> Error {
        let names: Vec<_> = profiles().iter().map(|p| p.name).collect();
        let what = match self.base.as_str() {
            "" => "names no profile as its base".to_owned(),
            base => format!("there is no disk '{base}'"),
        };
        let help = format!("take one of {}, as in like = \"hdd\"", names.join(", "));
        Error::bad("like", what, help)
    }
}

/// Checks rules between parameters, which the range of a single one cannot express.
fn consistent(profile: &Profile) -> Result<()> {
    let (get, kind) = (|name| profile.get(name), profile.kind());
    if kind == ModelKind::Hdd && get("rate_inner") > get("rate_outer") {
        return Err(Error::bad(
            "like.rate_inner",
            "the innermost zone cannot be faster than the outermost",
            "the outer tracks are longer: give rate_outer the larger value",
        ));
    }
    if kind == ModelKind::Hdd && get("interface") < get("rate_outer") {
        return Err(Error::bad(
            "like.interface",
            "the interface cannot be slower than the medium",
            "give interface a rate above rate_outer",
        ));
    }
    if kind == ModelKind::Flash && get("page") % 4096.0 != 0.0 {
        return Err(Error::bad(
            "like.page",
            "is not a multiple of 4 KiB",
            "write a size such as \"16k\"",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Device {
        like: Like,
    }

    fn read(text: &str) -> Like {
        toml::from_str::<Device>(&format!("like = {text}")).unwrap().like
    }

    #[test]
    fn both_forms_are_read_and_travel() {
        assert_eq!(read("\"hdd\"").profile().unwrap(), *profile("hdd").unwrap());
        let like =
            read(r#"{ base = "hdd", rpm = 5400, write_cache = false, stroke = "stretched" }"#);
        let changed = like.profile().unwrap();
        assert_eq!((changed.get("rpm"), changed.get("write_cache")), (5400.0, 0.0));
        assert_eq!(changed.get("seek_knee"), 0.3);
        let json = serde_json::to_string(&like).unwrap();
        assert_eq!(serde_json::from_str::<Like>(&json).unwrap(), like);
        let short: Like = "hdd,rpm=5400,write_cache=false,stroke=stretched".parse().unwrap();
        assert_eq!(short.profile().unwrap(), changed);
        assert_eq!(read("\"ssd\"").to_string(), "ssd");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place_its_value_and_what_can() {
        for (text, place, value, help) in [
            ("\"floppy\"", "like", "'floppy'", "hdd, ssd, nvme, memory"),
            ("{ rpm = 7200 }", "like", "base", "like = \"hdd\""),
            ("{ base = \"hdd\", rpm = 60 }", "like.rpm", "'60'", "from 3600 to 15000"),
            ("{ base = \"hdd\", rpm = 7200.5 }", "like.rpm", "'7200.5'", "a whole number"),
            ("{ base = \"hdd\", seek_least = 1 }", "like.seek_least", "'1'", "\"0.5ms\""),
            ("{ base = \"hdd\", seek_least = \"1h\" }", "like.seek_least", "'1h'", "to 20 ms"),
            ("{ base = \"hdd\", stroke = 2 }", "like.stroke", "'2'", "stretched"),
            ("{ base = \"hdd\", dies = 4 }", "like.dies", "no such", "rpm"),
            ("{ base = \"memory\", dies = 4 }", "like.dies", "no such", "no parameters"),
            ("{ base = \"hdd\", write_cache = \"maybe\" }", "like.write_cache", "maybe", "true"),
            ("{ base = \"hdd\", rate_inner = 300 }", "like.rate_inner", "faster", "rate_outer"),
            ("{ base = \"hdd\", interface = 100 }", "like.interface", "slower", "rate_outer"),
            ("{ base = \"ssd\", page = \"5k\" }", "like.page", "4 KiB", "16k"),
            ("{ base = \"ssd\", dies = -1 }", "like.dies", "'-1'", "from 1"),
        ] {
            let error = read(text).profile().unwrap_err();
            let message = error.to_string();
            assert!(
                message.starts_with(&format!("{place}: ")) && message.contains(value),
                "{message}"
            );
            assert!(error.help().contains(help), "{text}: {}", error.help());
        }
        for text in ["hdd,rpm", "hdd,rpm=1,rpm=2"] {
            assert!(text.parse::<Like>().unwrap_err().to_string().contains("like"));
        }
    }
}
