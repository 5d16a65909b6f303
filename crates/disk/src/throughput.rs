//! Bytes in a second, as people write them.

use serde::Serialize;
use units::{Bytes, QuantityError};

/// Bytes in a second: `"100M/s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Throughput(pub u64);

impl std::str::FromStr for Throughput {
    type Err = QuantityError;

    fn from_str(text: &str) -> std::result::Result<Self, QuantityError> {
        let amount = text.trim();
        let bytes: Bytes = amount.strip_suffix("/s").unwrap_or(amount).parse().map_err(|_| {
            let example = "bytes in a second, as in 100M/s";
            QuantityError { text: text.to_owned(), what: "throughput", example }
        })?;
        Ok(Self(bytes.0))
    }
}

impl std::fmt::Display for Throughput {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}/s", Bytes(self.0))
    }
}

units::read_as_text!(Throughput, "a throughput such as \"100M/s\"");
