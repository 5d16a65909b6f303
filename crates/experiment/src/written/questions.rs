//! Questions of an experiment: metrics of a stage, an operation or a layer that get a verdict.

mod check;

pub(crate) use check::check;

use results::model::AskedMetric;
use toml::Spanned;
use units::{Key, Percent, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use crate::written::subject::Subject;

const THRESHOLD: Key = key("threshold", "a share of at least 0.1 % and below 100 %", "\"5%\"");

/// Relative difference that does not matter unless the question says otherwise.
const NO_MATTER: f64 = 0.03;

/// `[[question]]`: a metric that gets a verdict.
pub(crate) struct Question {
    pub subject: Subject,
    pub threshold: Option<Percent>,
}

impl Question {
    pub(crate) fn read(mut table: Table) -> Result<Self, Diagnostic> {
        let subject = Subject::read(&mut table, None)?;
        let threshold: Option<Spanned<Percent>> = table.take(&THRESHOLD)?;
        if let Some(wrong) = threshold.as_ref().filter(|t| !decides(*t.get_ref())) {
            let mistake = Diagnostic::at(
                wrong.span(),
                format!("A threshold of {} decides nothing", wrong.get_ref()),
                "the difference that does not matter is at least 0.1 % and less than 100 %: write \"5%\", or leave it out for 3 %",
            );
            return Err(mistake.without());
        }
        let threshold = threshold.map(Spanned::into_inner);
        table.finish()?;
        Ok(Self { subject, threshold })
    }

    /// As results keep it.
    pub(crate) fn facts(&self) -> AskedMetric {
        let Subject { metric, stage, operation, layer, .. } = self.subject.clone();
        let threshold = self.threshold.map_or(NO_MATTER, Percent::fraction);
        AskedMetric { metric, stage, operation, layer, threshold }
    }
}

/// With nothing that does not matter no two variants are the same, and with everything none differ. Below a tenth of a percent no run
/// resolves anything: 0.03 is 3 % written as a fraction.
fn decides(threshold: Percent) -> bool {
    threshold.0 >= 0.1 && threshold.0 < 100.0
}
