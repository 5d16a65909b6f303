//! One setting of a layer or of an action, described.

use units::Bytes;

/// One setting of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name in the experiment.
    pub name: &'static str,
    /// Its value when it is not written; words when it follows from something else.
    pub default: &'static str,
    /// Its allowed values, in words.
    pub allowed: &'static str,
    /// A value that it may have, as it is written in TOML.
    pub example: &'static str,
    /// Explanation of the setting.
    pub help: &'static str,
}

impl Key {
    /// Returns what kind of value it takes: `switch`, `number`, `size` or `word`.
    pub fn takes(&self) -> &'static str {
        let size = || self.example.trim_matches('"').parse::<Bytes>().is_ok();
        match self.default.parse::<u64>() {
            _ if self.allowed == "on or off" => "switch",
            Ok(_) => "number",
            Err(_) if size() => "size",
            Err(_) => "word",
        }
    }
}
