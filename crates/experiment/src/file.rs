//! The experiment file as it is written: TOML, unknown keys refused, every value with its place.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Table, Value};
use units::Bytes;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub name: Spanned<String>,
    pub about: String,
    pub source: Option<String>,
    #[serde(default = "five")]
    pub repeat: Spanned<u32>,
    pub devices: Spanned<BTreeMap<String, Spanned<Device>>>,
    #[serde(default)]
    pub stack: Vec<Spanned<Table>>,
    #[serde(default)]
    pub variant: Vec<Spanned<Variant>>,
    #[serde(default)]
    pub stage: Vec<Spanned<Table>>,
    #[serde(default)]
    pub question: Vec<Spanned<Question>>,
}

/// `[devices.ROLE]`: a block device by its role.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Device {
    /// Of a device that a stack stands on.
    pub size: Option<Bytes>,
    /// Of a device that stages copy from.
    pub file: Option<String>,
}

/// `[[variant]]`: one stack to compare.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    pub name: Spanned<String>,
    #[serde(default)]
    pub stack: Vec<Spanned<Table>>,
    #[serde(default)]
    pub set: BTreeMap<Spanned<String>, Value>,
}

/// `[[question]]`: a metric that gets a verdict.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub metric: String,
    pub operation: Option<String>,
    pub threshold: Option<units::Percent>,
}

fn five() -> Spanned<u32> {
    Spanned::new(0..0, 5)
}
