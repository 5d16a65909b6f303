//! The meaning of the shown metrics: entries of the catalogue, and figures that commands print themselves.

use results::model::PlanFacts;
use units::Better;

use super::{FigureRow, Of};

/// A metric that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Its key in JSON.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The direction that is good.
    pub better: Better,
    /// Its meaning.
    pub help: String,
}

/// Returns the metrics of `rows`, each once; first those of the catalogue, in its order.
pub(super) fn terms(plan: &PlanFacts, rows: &[FigureRow]) -> Vec<Term> {
    let known = layers::metrics().chain(layers::counters());
    let known = known.filter(|m| rows.iter().any(|row| row.metric == m.id));
    let known = known.map(|metric| Term {
        id: metric.id.to_owned(),
        name: metric.name.to_owned(),
        better: metric.better,
        help: metric.help.to_owned(),
    });
    let mut terms: Vec<Term> = known.collect();
    for (stage, name, facts) in plan.picked(None) {
        let shown = rows.iter().any(|row| row.scope.of == Of::Command && row.metric == name);
        if shown && !terms.iter().any(|term| term.id == name) {
            let help = format!(
                "A number that the command of {stage} printed: the last match of the group in '{}'.",
                facts.pattern
            );
            let (id, name, better) = (name.to_owned(), name.to_owned(), facts.better);
            terms.push(Term { id, name, better, help });
        }
    }
    terms
}
