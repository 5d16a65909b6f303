//! Checks that questions are about figures that are measured.

use super::Question;
use crate::stages::Stage;
use crate::written::diagnostic::Diagnostic;
use crate::written::stacks::VariantStack;

/// Checks that each question is about something measured, and is asked once: every question costs the others some of their power.
pub(crate) fn check(
    questions: &[Question],
    stages: &[Stage],
    variants: &[VariantStack],
) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (i, Question { subject, .. }) in questions.iter().enumerate() {
        mistakes.extend(subject.check(stages, variants));
        if questions[..i].iter().any(|other| other.subject.key() == subject.key()) {
            let names = [&subject.operation, &subject.layer].into_iter().flatten();
            let mut of: String = names.map(|name| format!(" of {name}")).collect();
            of.extend(subject.stage.iter().map(|stage| format!(" in {stage}")));
            mistakes.push(Diagnostic::at(
                subject.places.at("metric"),
                format!("'{}'{of} is asked for twice", subject.metric),
                "ask once: every question makes the others harder to decide",
            ));
        }
    }
    mistakes
}
