//! Table lines of device-mapper devices, kept as they stand.

use std::collections::BTreeMap;

use super::ids::TABLE;
use crate::{ParseError, Parsed};

/// The whole table as text `table`.
pub(crate) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let table = text.trim();
    if table.is_empty() {
        return Err(ParseError::form(TABLE, "the table is empty", text));
    }
    let texts = BTreeMap::from([("table".to_owned(), table.to_owned())]);
    Ok(Parsed { texts, ..Parsed::default() })
}
