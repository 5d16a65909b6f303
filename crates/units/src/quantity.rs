//! What all quantities share: a number followed by a suffix, and the error when it is not one.

/// A text that is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a {what}; write {example}")]
pub struct QuantityError {
    /// What was given.
    pub text: String,
    /// What was wanted, in words (`size`, `duration`, ...).
    pub what: &'static str,
    /// Forms that are accepted.
    pub example: &'static str,
}

/// Splits `1.5G` into the number and its suffix; `None` when the number is not finite, negative or missing.
pub(crate) fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text.get(..end)?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, text[end..].trim()))
}

/// Lets a quantity be read by serde from text or from a bare number (in the unit people mean by it).
macro_rules! read_quantity {
    ($name:ident, $expecting:literal) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<$name, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<$name, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<$name, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                }
                input.deserialize_any(Visitor)
            }
        }
    };
}
pub(crate) use read_quantity;
