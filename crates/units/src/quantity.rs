//! The common parts of all quantities: a number followed by a suffix, and the error when a text is not one.

/// A text that is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a valid {what}; write {example}")]
pub struct QuantityError {
    /// The text that was given.
    pub text: String,
    /// The kind of quantity that was wanted, in words (`size`, `duration`, ...).
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

/// Lets serde read a type that can be parsed from text: from that text, or from a bare number, which is parsed like text.
#[macro_export]
macro_rules! read_as_text {
    ($name:ident, $expecting:literal) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<$name, E> {
                        self.visit_str(&n.to_string())
                    }
                    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<$name, E> {
                        self.visit_str(&n.to_string())
                    }
                    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<$name, E> {
                        self.visit_str(&n.to_string())
                    }
                }
                input.deserialize_any(Text)
            }
        }
    };
}

/// Lets serde read and write a type as the text that it is parsed from and prints.
#[macro_export]
macro_rules! as_text {
    ($name:ident, $expecting:literal) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_str(self)
            }
        }

        $crate::read_as_text!($name, $expecting);
    };
}
