//! Settings read back: the kernel does not always run with what a tool was asked for.

use crate::probe::Source;
use crate::step::{Action, Condition, Step};

/// Returns steps that check settings, one for each: the name of a text field that `parser` reads, and the value that it must have. A step fails
/// where the value differs, and names the value found.
pub(crate) fn read_back(
    source: &Source,
    parser: &str,
    wanted: Vec<(&'static str, String)>,
) -> Vec<Step> {
    let look = |(field, is): (&str, String)| Step {
        about: format!("look whether {field} is what was asked for"),
        action: Action::Wait {
            source: source.clone(),
            parser: parser.to_owned(),
            until: Condition::Text { field: field.to_owned(), is },
            every_ms: 100,
        },
        undo: Vec::new(),
        deadline_s: 5,
    };
    wanted.into_iter().map(look).collect()
}
