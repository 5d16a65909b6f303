//! Fields that a parser finds in a text, and the reasons why it finds none.

use std::collections::BTreeMap;

use results::model::Fields;

/// The fields that a parser found in a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parsed {
    /// Figures; `None` where the source said that there is none.
    pub numbers: Fields,
    /// Words.
    pub texts: BTreeMap<String, String>,
}

/// Name of the text field that gives the reason why figures are missing.
pub const ABSENT: &str = "absent";

/// A text that is not what its parser reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No parser has this id.
    #[error("there is no parser '{0}': the plan was written by another version of the program")]
    Unknown(String),
    /// The text has another form.
    #[error("{parser} cannot read this: {what} at '{near}'")]
    Form {
        /// Id of the parser.
        parser: &'static str,
        /// The mistake, in words.
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
