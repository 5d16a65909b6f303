//! What an experiment asks: metrics of a stage, an operation or a layer that get a verdict.

mod check;

pub(crate) use check::check;

use results::model::AskedMetric;
use toml::Spanned;
use units::{Key, Percent};

use crate::diagnostic::Diagnostic;
use crate::document::Table;
use crate::subject::Subject;

const THRESHOLD: Key =
    Key { name: "threshold", takes: "a share from 0 to 100 %", example: "\"5%\"" };

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
        let threshold = table.take(&THRESHOLD)?.map(Spanned::into_inner);
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
