//! The load of a stage, read and checked.

use std::path::Path;

use workload::{LoadSpec, WorkloadError};

use crate::written::diagnostic::{Diagnostic, Mend};
use crate::written::document::{Places, Table};

pub(crate) fn read(table: Table, places: &Places, file: &str) -> Result<LoadSpec, Diagnostic> {
    checked(table.read(LoadSpec::key)?, places, file)
}

/// Checks a load whose keys are at `places`, and returns it if it can be driven.
pub(crate) fn checked(
    mut spec: LoadSpec,
    places: &Places,
    file: &str,
) -> Result<LoadSpec, Diagnostic> {
    // A profile's path is relative to the experiment's file; its contents become part of the plan.
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    spec.content.load_profile(folder).map_err(|error| workload_mistake(&error.into(), places))?;
    spec.validate().map_err(|error| {
        let mistake = workload_mistake(&error, places);
        match error {
            // The mend keeps the operations, with other shares.
            WorkloadError::ShareSum { key: "ops", .. } => mistake.with(other_shares(&spec)),
            _ => mistake,
        }
    })?;
    Ok(spec)
}

/// The operations of a load in shares that sum to 100.
fn other_shares(spec: &LoadSpec) -> String {
    let names = operations(spec);
    let first = 101 - names.len();
    let share =
        |(i, name): (usize, &String)| format!("{name} = {}", if i == 0 { first } else { 1 });
    let shares: Vec<String> = names.iter().enumerate().map(share).collect();
    format!("{{ {} }}", shares.join(", "))
}

pub(crate) fn workload_mistake(error: &WorkloadError, places: &Places) -> Diagnostic {
    let at = places.at(&error.path());
    let mistake = Diagnostic::at(at, error.to_string(), error.help());
    match error {
        WorkloadError::NoStop => {
            Diagnostic { instead: Some(Mend::Add("duration = \"1s\"".into())), ..mistake }
        }
        _ if places.has(&error.path()) => mistake.fix_by_removing(),
        _ => mistake,
    }
}

/// Names of the operations of a load.
pub(crate) fn operations(spec: &LoadSpec) -> Vec<String> {
    spec.operations().map(|name| name.to_string()).collect()
}
