//! The load of a stage, read and checked.

use std::path::Path;

use workload::LoadSpec;

use crate::diagnostic::Diagnostic;
use crate::document::{Places, Table};

pub(crate) fn read(table: Table, places: &Places, file: &str) -> Result<LoadSpec, Diagnostic> {
    checked(table.read(LoadSpec::key)?, places, file)
}

/// A load whose keys stand at `places`, if it can be driven.
pub(crate) fn checked(
    mut spec: LoadSpec,
    places: &Places,
    file: &str,
) -> Result<LoadSpec, Diagnostic> {
    // A profile stands beside the file, and travels with the plan.
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    spec.content.load_profile(folder).map_err(|error| workload_mistake(&error.into(), places))?;
    spec.validate().map_err(|error| workload_mistake(&error, places))?;
    Ok(spec)
}

pub(crate) fn workload_mistake(error: &workload::WorkloadError, places: &Places) -> Diagnostic {
    Diagnostic::at(places.at(&error.path()), error.to_string(), error.help())
}

/// Names of the operations of a load.
pub(crate) fn operations(spec: &LoadSpec) -> Vec<String> {
    spec.operations().map(|name| name.to_string()).collect()
}
