//! Subject of a question or an expectation: a metric of a stage, and of an operation or a layer in it.

mod check;

pub(crate) use check::unrecorded;

use toml::Spanned;
use units::{Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};

const METRIC: Key = key("metric", "a metric of docs/json.md", "\"iops\"");
const STAGE: Key =
    key("stage", "the name of a measured stage, or of a point of its sweep", "\"warm\"");
const OPERATION: Key = key("operation", "an operation of a measured stage", "\"randwrite\"");
const LAYER: Key = key("layer", "the name of a layer of a stack", "\"cache\"");

/// Subject of a question or an expectation.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub metric: String,
    pub stage: Option<String>,
    pub operation: Option<String>,
    pub layer: Option<String>,
    pub places: Places,
}

impl Subject {
    /// Takes its keys out of a table; those that are not written come from `base`. Without a base the metric must be written.
    pub(crate) fn read(table: &mut Table, base: Option<&Self>) -> Result<Self, Diagnostic> {
        let places = table.places();
        let text = |table: &mut Table, key| -> Result<Option<String>, Diagnostic> {
            Ok(table.take(key)?.map(Spanned::into_inner))
        };
        let metric = match base {
            None => table.need(&METRIC)?.into_inner(),
            Some(base) => text(table, &METRIC)?.unwrap_or_else(|| base.metric.clone()),
        };
        let mut stage = text(table, &STAGE)?;
        let (mut operation, mut layer) = (text(table, &OPERATION)?, text(table, &LAYER)?);
        if let Some(base) = base {
            stage = stage.or_else(|| base.stage.clone());
            if operation.is_none() && layer.is_none() {
                (operation, layer) = (base.operation.clone(), base.layer.clone());
            }
        }
        Ok(Self { metric, stage, operation, layer, places })
    }

    /// Everything that tells it from another.
    pub(crate) fn key(&self) -> [Option<&String>; 4] {
        let Self { metric, stage, operation, layer, .. } = self;
        [Some(metric), stage.as_ref(), operation.as_ref(), layer.as_ref()]
    }
}
