//! Table lines of device-mapper devices and attributes of queues, kept as they are.

use std::collections::BTreeMap;

use super::ids::{QUEUE, TABLE};
use crate::{ParseError, Parsed};

/// The whole table as text `table`.
pub(crate) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    whole(text, "table").ok_or_else(|| ParseError::form(TABLE, "the table is empty", text))
}

/// The value of an attribute as text `value`.
pub(crate) fn parse_value(text: &str) -> Result<Parsed, ParseError> {
    whole(text, "value").ok_or_else(|| ParseError::form(QUEUE, "the attribute is empty", text))
}

/// Reads the value of a setting as text `value`; empty where none is set.
pub(crate) fn parse_setting(text: &str) -> Result<Parsed, ParseError> {
    let texts = BTreeMap::from([("value".to_owned(), text.trim().to_owned())]);
    Ok(Parsed { texts, ..Parsed::default() })
}

/// The text without the blanks around it, by this name; `None` where nothing is left.
fn whole(text: &str, name: &str) -> Option<Parsed> {
    let value = text.trim();
    let texts = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    (!value.is_empty()).then(|| Parsed { texts, ..Parsed::default() })
}
