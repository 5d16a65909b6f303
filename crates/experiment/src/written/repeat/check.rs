//! Checks of `repeat`, and of what cannot be combined with `repeat = "auto"`.

use std::ops::Range;

use stats::LEAST_REPEATS;
use units::Nanos;

use super::{MAX_REPEATS, Repeat};
use crate::written::diagnostic::{Diagnostic, Mend, RestsOn};
use crate::written::file::File;

impl Repeat {
    /// Returns the mistake where the experiment does not go with this number of repeats. `variants` is the number of variants that run, `at` the
    /// place of `repeat` in the file, if it was not given elsewhere.
    pub(crate) fn check(
        self,
        file: &File,
        variants: usize,
        at: Option<Range<usize>>,
    ) -> Option<Diagnostic> {
        let (most, time) = match self {
            Self::Fixed(0) => {
                let help = "set repeat to 5 for a verdict, or 1 for a first look";
                let message = "The experiment repeats 0 times".into();
                return Some(Diagnostic {
                    message,
                    span: at,
                    help: Some(help.into()),
                    instead: Some(Mend::With("5".into())),
                    ..Diagnostic::default()
                });
            }
            Self::Fixed(_) => return None,
            Self::Auto { most, time } => (most, time),
        };
        let (message, help) = if most.is_some_and(|most| (most as usize) < LEAST_REPEATS) {
            let message =
                format!("{self} has fewer repeats than the {LEAST_REPEATS} of the first look");
            (
                message,
                format!(
                    "write auto, or a number from {LEAST_REPEATS} to {MAX_REPEATS} behind it: auto:12"
                ),
            )
        } else if most.is_some_and(|most| most > MAX_REPEATS) {
            let message = format!("{self} has more repeats than there are looks for");
            (
                message,
                format!(
                    "write auto, or a number up to {MAX_REPEATS} behind it; looks at later repeats are not planned for"
                ),
            )
        } else if time == Some(Nanos(0)) {
            (
                format!("{self} leaves no time"),
                "write a time behind auto, as in auto:30m".to_owned(),
            )
        } else if !file.factor.is_empty() {
            let message = format!(
                "{self} does not go with factors, whose effects need as many repeats of every variant"
            );
            (message, "set a number: --repeat 5".to_owned())
        } else if variants == 1 {
            let message = format!("{self} needs two variants: with one there is nothing to decide");
            (message, "set a number (--repeat 5), or run another variant as well".to_owned())
        } else if file.question.is_empty() {
            let message =
                format!("{self} needs a question: without one there is nothing to decide");
            (
                message,
                "ask one: [[question]] with metric = \"iops\"; or set a number: --repeat 5"
                    .to_owned(),
            )
        } else {
            return None;
        };
        let rests_on = RestsOn::File;
        Some(Diagnostic { message, span: at, help: Some(help), rests_on, ..Diagnostic::default() })
    }
}
