//! Attributes of a virtual disk: the properties that it reports about itself, and its limits.

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::error::{Error, Result};
use crate::limit::Limit;

/// Sizes that a logical block can have.
pub const LOGICAL_BLOCKS: [u32; 2] = [512, 4096];

/// The moment at which a modelled disk writes its volatile cache to the medium, where that differs from the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destage {
    /// Only at a flush, or once 32 MiB are waiting: data that a layer does not flush are at risk.
    AtFlush,
    /// A disk that lies: it confirms a flush but writes nothing; once 32 MiB are waiting, it writes the oldest half.
    Never,
}

impl std::fmt::Display for Destage {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::AtFlush => "at_flush",
            Self::Never => "never",
        })
    }
}

/// Attributes requested for a virtual disk, apart from its times. `None` keeps the disk's own value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attributes {
    /// Its limits per second.
    #[serde(default, skip_serializing_if = "Limit::is_none")]
    pub limit: Limit,
    /// Bytes of a logical block: the least that can be read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block: Option<u32>,
    /// Tells whether it reports itself as rotational, which decides how some layers and file systems work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Tells whether it reports a volatile cache. Without one, a write gets its reply only when it survives a power cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<bool>,
    /// Tells whether it takes discards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<bool>,
    /// The moment at which its volatile cache goes to the medium; only for a modelled disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destage: Option<Destage>,
}

impl Attributes {
    /// Tells whether no attribute is requested.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses attributes that no disk can have.
    pub fn check(&self) -> Result<()> {
        self.limit.check()?;
        match self.logical_block {
            Some(bytes) if !LOGICAL_BLOCKS.contains(&bytes) => {
                let what = format!("a logical block cannot have {bytes} bytes");
                Err(Error::bad("logical_block", what, "give 512 or 4096"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the requested attributes by their keys, in readable form.
    pub fn shown(&self) -> Vec<(&'static str, String)> {
        let switch = |on: Option<bool>| on.map(|on| on.to_string());
        let limit = (!self.limit.is_none()).then(|| self.limit.to_string());
        let block = self.logical_block.map(|bytes| Bytes(bytes.into()).to_string());
        let all = [
            ("limit", limit),
            ("logical_block", block),
            ("rotational", switch(self.rotational)),
            ("write_cache", switch(self.write_cache)),
            ("discard", switch(self.discard)),
            ("destage", self.destage.map(|destage| destage.to_string())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_shown_and_survive_json() {
        let text = "limit = { read_iops = 120, write_throughput = \"100M/s\" }\nlogical_block = 4096\ndiscard = false";
        let read: Attributes = toml::from_str(text).unwrap();
        read.check().unwrap();
        let shown: Vec<_> = read.shown().into_iter().map(|(k, v)| format!("{k} {v}")).collect();
        assert_eq!(
            shown,
            ["limit 120 reads/s, 100 MiB/s of writes", "logical_block 4 KiB", "discard false"]
        );
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Attributes>(&json).unwrap(), read);
        assert!(!read.is_usual() && Attributes::default().is_usual());
        assert_eq!(serde_json::to_string(&Attributes::default()).unwrap(), "{}");
    }

    #[test]
    fn what_no_disk_can_be_is_refused_with_its_place_and_what_can() {
        for (text, place, help) in [
            ("logical_block = 1024", "logical_block", "512 or 4096"),
            ("limit = { iops = 0 }", "limit.iops", "from 1"),
            ("limit = { throughput = \"1k/s\" }", "limit.throughput", "64 KiB"),
            ("limit = { iops = 10, read_iops = 5 }", "limit.iops", "read_iops and write_iops"),
            (
                "limit = { throughput = \"1M\", write_throughput = \"1M\" }",
                "limit.throughput",
                "write_throughput",
            ),
        ] {
            let error = toml::from_str::<Attributes>(text).unwrap().check().unwrap_err();
            assert!(error.to_string().starts_with(place), "{error}");
            assert!(error.help().contains(help), "{}", error.help());
        }
    }
}
