//! Checks the conditions of waits against readings.

use std::io;

use layers::Parsed;
use layers::step::Condition;

/// Tells whether the condition holds.
pub(super) fn holds(until: &Condition, parsed: &Parsed) -> bool {
    match until {
        Condition::Text { field, is } => parsed.texts.get(field) == Some(is),
        Condition::AtMost { field, other } => {
            let number = |name: &str| parsed.numbers.get(name).copied().flatten();
            number(field).zip(number(other)).is_some_and(|(field, other)| field <= other)
        }
        Condition::AtLeast { field, least } => {
            parsed.numbers.get(field).copied().flatten().is_some_and(|number| number >= *least)
        }
        Condition::Gone => false,
    }
}

/// Tells whether an error means that the thing to read or write does not exist (any more).
pub(super) fn is_gone(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || [libc::ENODEV, libc::ENXIO].map(Some).contains(&code)
}

/// Returns the values of its fields that were read last, for the message of a wait that timed out.
pub(super) fn seen(until: &Condition, parsed: &Parsed) -> String {
    let absent = || "absent".to_owned();
    let number = |field: &str| {
        let number = parsed.numbers.get(field).copied().flatten();
        format!("{field} is {}", number.map_or_else(absent, |n| n.to_string()))
    };
    match until {
        Condition::Text { field, .. } => {
            format!("{field} is {}", parsed.texts.get(field).cloned().unwrap_or_else(absent))
        }
        Condition::AtMost { field, other } => format!("{}, {}", number(field), number(other)),
        Condition::AtLeast { field, .. } => number(field),
        Condition::Gone => "it is there".to_owned(),
    }
}
