//! What a question or an expectation is of: a metric of a stage, and of an operation or a layer in it.

use toml::Spanned;
use units::Key;

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Places, Table};
use crate::stacks::VariantStack;
use crate::stages::{self, Stage};

const METRIC: Key = Key { name: "metric", takes: "a metric of docs/json.md", example: "\"iops\"" };
const STAGE: Key =
    Key { name: "stage", takes: "the name of a measured stage", example: "\"warm\"" };
const OPERATION: Key =
    Key { name: "operation", takes: "an operation of a measured stage", example: "\"randwrite\"" };
const LAYER: Key =
    Key { name: "layer", takes: "the name of a layer of a stack", example: "\"cache\"" };

/// What a question or an expectation is of.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub metric: String,
    pub stage: Option<String>,
    pub operation: Option<String>,
    pub layer: Option<String>,
    pub places: Places,
}

impl Subject {
    /// Takes its keys out of a table; those that are not written are `base`'s, which must be there where none is.
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

    /// It must name a metric of the catalogue, and a stage, an operation or a layer that is measured.
    pub(crate) fn check(&self, stages: &[Stage], variants: &[VariantStack]) -> Option<Diagnostic> {
        if !layers::metrics().any(|m| m.id == self.metric) {
            let near = nearest(&self.metric, layers::metrics().map(|m| m.id));
            let help = near.map_or_else(
                || "docs/json.md lists the metrics".to_owned(),
                |near| format!("did you mean '{near}'?"),
            );
            let message = format!("There is no metric '{}'", self.metric);
            return Some(Diagnostic::at(self.places.at("metric"), message, help));
        }
        if let (Some(operation), Some(_)) = (&self.operation, &self.layer) {
            let message = format!("A metric is of an operation ('{operation}') or of a layer");
            let help = "take one of the two keys away";
            return Some(Diagnostic::at(self.places.at("layer"), message, help));
        }
        self.check_stage(stages).or_else(|| self.check_layer(variants))
    }

    fn check_stage(&self, stages: &[Stage]) -> Option<Diagnostic> {
        let measured: Vec<&Stage> = stages.iter().filter(|s| s.measured).collect();
        let names: Vec<String> = measured.iter().map(|stage| stage.name.clone()).collect();
        if let Some(stage) = &self.stage
            && !names.contains(stage)
        {
            let message = format!("No measured stage is called '{stage}'");
            return Some(self.unknown("stage", stage, message, &names));
        }
        let operation = self.operation.as_ref()?;
        let own = |stage: &&&Stage| self.stage.as_ref().is_none_or(|name| stage.name == *name);
        let loads = measured.iter().filter(own).filter_map(|stage| stage.load());
        let mut operations: Vec<_> = loads.flat_map(stages::operations).collect();
        operations.sort();
        operations.dedup();
        let message = match &self.stage {
            None => format!("No measured stage does '{operation}'"),
            Some(stage) => format!("Stage '{stage}' does no '{operation}'"),
        };
        (!operations.contains(operation))
            .then(|| self.unknown("operation", operation, message, &operations))
    }

    fn check_layer(&self, variants: &[VariantStack]) -> Option<Diagnostic> {
        let layer = self.layer.as_ref()?;
        let layers = variants.iter().flat_map(|variant| &variant.layers);
        // Devices have figures too.
        let names = layers.flat_map(|l| std::iter::once(l.name.as_str()).chain(l.on.names()));
        let mut layers: Vec<String> = names.map(str::to_owned).collect();
        layers.sort();
        layers.dedup();
        let message = format!("No stack has a layer or a device '{layer}'");
        (!layers.contains(layer)).then(|| self.unknown("layer", layer, message, &layers))
    }

    /// A name that is not there, with those that are.
    fn unknown(&self, key: &str, name: &str, message: String, known: &[String]) -> Diagnostic {
        let near = nearest(name, known.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let help = format!("{near}There are: {}", known.join(", "));
        Diagnostic::at(self.places.at(key), message, help)
    }
}
