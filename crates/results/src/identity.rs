//! The cells of a result held against its manifest: each must be the one that it is said to be.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use crate::model::{CellEntry, CellRecord, Manifest, Row};
use crate::whole;

/// Finds what is wrong with the list of cells in itself, so that no figure can be told to be of a cell; `None` where nothing is.
pub(crate) fn contradiction(manifest: &Manifest) -> Option<String> {
    let (mut cells, mut folders) = (BTreeSet::new(), BTreeSet::new());
    let known = |name: &str| manifest.plan.variants.iter().any(|variant| variant.name == name);
    manifest.cells.iter().enumerate().find_map(|(place, cell)| {
        let CellEntry { index, variant, repeat, folder, .. } = cell;
        if *index != place {
            Some(format!("cell {index} stands in the place of cell {place}"))
        } else if !known(variant) {
            Some(format!("cell {index} is of a variant '{variant}' that its plan does not have"))
        } else if !(1..=manifest.plan.repeat).contains(repeat) {
            Some(format!("cell {index} is of repeat {repeat} of {}", manifest.plan.repeat))
        } else if !cells.insert((variant, repeat)) {
            Some(format!("two cells are repeat {repeat} of '{variant}'"))
        } else if !is_name(folder) {
            Some(format!("cell {index} is in '{folder}', which is no folder of a result"))
        } else if !folders.insert(folder) {
            Some(format!("two cells are in the folder '{folder}'"))
        } else {
            None
        }
    })
}

/// Counts the cells of the plan that the manifest does not have, of one without a [`contradiction`].
pub(crate) fn not_listed(manifest: &Manifest) -> usize {
    let planned = manifest.plan.variants.len().saturating_mul(manifest.plan.repeat as usize);
    planned.saturating_sub(manifest.cells.len())
}

/// In what the files of a cell are not those of the cell that the manifest says they are; `None` where they are.
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
    // Comparisons of engines by versions before that wrote a run's id had one seed for all cells.
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

/// Finds an earlier cell that `cell` is a copy of, whatever else its record says: to the nanosecond no two cells take place at the same
/// times, but in virtual time.
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

/// Finds a stage that is none of the plan's, or stands there again or in the place of another; points of a sweep come in any order.
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

/// Tells whether a row tells another name or another time of a stage than the record does.
fn is_of_another(row: &Row, record: &CellRecord) -> bool {
    let Row::Stage(edge) = row else { return false };
    let known = record.stages.iter().find(|stage| stage.index == edge.stage);
    known.is_some_and(|stage| {
        let at_ns = if edge.ended { stage.end_ns } else { Some(stage.start_ns) };
        (at_ns, &stage.name) != (Some(edge.at_ns), &edge.name)
    })
}

/// Tells whether it is the name of something in a folder, and leads nowhere else.
fn is_name(folder: &str) -> bool {
    let mut parts = Path::new(folder).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == folder)
}
