//! Settings read back: what a tool was asked for is not always what the kernel runs with.

use crate::probe::Source;
use crate::step::{Action, Condition, Step};

/// Steps that look whether the settings are what was asked for, one for each: a text field of what `parser` reads, and its value. What differs
/// fails the step, with the value that was found.
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
