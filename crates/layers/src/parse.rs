//! Texts become fields: the parsers by id, so that a plan can name them and travel.

use std::collections::BTreeMap;

use results::model::Fields;

use crate::{kinds, machine};

/// What a text says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parsed {
    /// Figures; `None` where the source said that there is none.
    pub numbers: Fields,
    /// Words.
    pub texts: BTreeMap<String, String>,
}

/// The word under which a text says why its figures are not there.
pub const ABSENT: &str = "absent";

/// A text that is not what its parser reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No parser has this id.
    #[error("there is no parser '{0}'; plan and program are of different versions")]
    Unknown(String),
    /// The text has another form.
    #[error("{parser} cannot read this: {what} at '{near}'")]
    Form {
        /// Id of the parser.
        parser: &'static str,
        /// What was wrong.
        what: &'static str,
        /// The text around it, bounded.
        near: String,
    },
}

impl ParseError {
    /// A text of another form, with at most 60 characters of it.
    pub(crate) fn form(parser: &'static str, what: &'static str, near: &str) -> Self {
        Self::Form { parser, what, near: near.trim().chars().take(60).collect() }
    }
}

/// Reads `text` with the parser called `parser`.
///
/// # Errors
/// When there is no such parser, or the text is not what it reads.
pub fn parse(parser: &str, text: &str) -> Result<Parsed, ParseError> {
    let of_layers = kinds().iter().flat_map(|kind| kind.parsers);
    let found = machine::PARSERS.iter().chain(of_layers).find(|known| known.id == parser);
    found.map_or_else(|| Err(ParseError::Unknown(parser.to_owned())), |known| (known.read)(text))
}
