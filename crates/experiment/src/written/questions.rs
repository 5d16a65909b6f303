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

/// Default of the relative difference that does not matter.
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
            return Err(mistake.fix_by_removing());
        }
        let threshold = threshold.map(Spanned::into_inner);
        table.finish()?;
        Ok(Self { subject, threshold })
    }

    /// Returns it in the form of results.
    pub(crate) fn facts(&self) -> AskedMetric {
        let Subject { metric, stage, operation, layer, .. } = self.subject.clone();
        let threshold = self.threshold.map_or(NO_MATTER, Percent::fraction);
        AskedMetric { metric, stage, operation, layer, threshold }
    }
}

/// Tells whether a threshold allows verdicts. At 0 % no two variants could be the same, and from 100 % on none could differ; below 0.1 % no
/// run resolves anything, and 0.03 is probably meant as 3 %.
fn decides(threshold: Percent) -> bool {
    threshold.0 >= 0.1 && threshold.0 < 100.0
}
