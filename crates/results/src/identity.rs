//! Checks the cells of a result against its manifest: the files of each cell must belong to the cell that the manifest names.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use crate::model::{CellEntry, CellRecord, Manifest, Row};
use crate::whole;

/// Finds a contradiction in the list of cells, which makes it impossible to attribute figures to cells; `None` if there is none.
pub(crate) fn contradiction(manifest: &Manifest) -> Option<String> {
    let (mut cells, mut folders) = (BTreeSet::new(), BTreeSet::new());
    let known = |name: &str| manifest.plan.variants.iter().any(|variant| variant.name == name);
    manifest.cells.iter().enumerate().find_map(|(place, cell)| {
        let CellEntry { index, variant, repeat, folder, .. } = cell;
        if *index != place {
            Some(format!("cell {index} stands in the place of cell {place}"))
        } else if !known(variant) {
            Some(format!("cell {index} belongs to variant '{variant}', which is not in the plan"))
        } else if !(1..=manifest.plan.repeat).contains(repeat) {
            Some(format!("cell {index} is repeat {repeat} of {}", manifest.plan.repeat))
        } else if !cells.insert((variant, repeat)) {
            Some(format!("two cells are repeat {repeat} of '{variant}'"))
        } else if !is_name(folder) {
            Some(format!("cell {index} is in '{folder}', which cannot be a folder of a result"))
        } else if !folders.insert(folder) {
            Some(format!("two cells are in the folder '{folder}'"))
        } else {
            None
        }
    })
}

/// Counts the cells of the plan that are missing from the manifest, which must have no [`contradiction`].
pub(crate) fn not_listed(manifest: &Manifest) -> usize {
    let planned = manifest.plan.variants.len().saturating_mul(manifest.plan.repeat as usize);
    planned.saturating_sub(manifest.cells.len())
}

/// Returns why the files of a cell cannot be those of the cell that the manifest names; `None` if they can.
pub(crate) fn foreign(
    manifest: &Manifest,
    entry: &CellEntry,
    record: &CellRecord,
    rows: &[Row],
) -> Option<String> {
    if (record.index, &record.variant, record.repeat) != (entry.index, &entry.variant, entry.repeat)
    {
        let CellRecord { index, variant, repeat, .. } = record;
        return Some(format!("cell.json is of cell {index}, repeat {repeat} of '{variant}'"));
    }
    if let Some(other) = record.run_id.as_ref().filter(|id| **id != manifest.run_id) {
        return Some(format!("cell.json is of run {other}"));
    }
    // In versions that did not record the run's id yet, comparisons of engines used one seed for all cells.
    let old = record.run_id.is_none() && record.seed == manifest.seed;
    if record.seed != manifest.seed.of_repeat(entry.repeat) && !old {
        return Some("cell.json is of another seed".to_owned());
    }
    if let Some(name) = unplanned(manifest, record) {
        return Some(format!(
            "cell.json has a stage '{name}' that its plan does not have, or twice"
        ));
    }
    rows.iter().any(|row| is_of_another(row, record)).then(|| "rows.log is of another cell".into())
}

/// Finds an earlier cell that `cell` is a copy of, whatever else its record says: except in virtual time, no two cells have the same times to
/// the nanosecond.
pub(crate) fn copied<'a>(
    manifest: &Manifest,
    record: &CellRecord,
    before: impl IntoIterator<Item = &'a CellRecord>,
) -> Option<String> {
    let times = |record: &CellRecord| {
        let stages = record.stages.iter().map(|stage| (stage.start_ns, stage.end_ns));
        (record.start_ns, record.end_ns, stages.collect::<Vec<_>>())
    };
    let real = !manifest.simulated && !record.stages.is_empty();
    let cell_times = real.then(|| times(record))?;
    let twin = before.into_iter().find(|other| times(other) == cell_times)?;
    Some(format!("cell.json has the times of cell {} to the nanosecond", twin.index))
}

/// Finds a stage that is not in the plan, occurs twice, or is out of order by its index; points of a sweep may come in any order.
fn unplanned<'a>(manifest: &Manifest, record: &'a CellRecord) -> Option<&'a str> {
    let variant = manifest.plan.variants.iter().find(|one| one.name == record.variant)?;
    let mut last = None;
    let wrong = record.stages.iter().enumerate().find(|(place, stage)| {
        let planned = variant.stages.iter().any(|planned| whole::is_planned(planned, stage));
        let again = record.stages[..*place].iter().any(|before| before.name == stage.name);
        !planned || again || last.replace(stage.index) >= Some(stage.index)
    });
    wrong.map(|(_, stage)| stage.name.as_str())
}

/// Tells whether a row gives a different name or time of a stage than the record does.
fn is_of_another(row: &Row, record: &CellRecord) -> bool {
    let Row::Stage(edge) = row else { return false };
    let known = record.stages.iter().find(|stage| stage.index == edge.stage);
    known.is_some_and(|stage| {
        let at_ns = if edge.ended { stage.end_ns } else { Some(stage.start_ns) };
        (at_ns, &stage.name) != (Some(edge.at_ns), &edge.name)
    })
}

/// Tells whether it is a plain name of something in a folder, and not a path that leads elsewhere.
fn is_name(folder: &str) -> bool {
    let mut parts = Path::new(folder).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == folder)
}
