//! Limits on the size of a plan. Every cell carries all of its steps and probes, in memory and over the link to a guest: a plan that nobody could
//! run is refused before it is built.

use std::ops::Range;

use units::Bytes;
use units::show::grouped;

use crate::written::diagnostic::Diagnostic;

/// Most cells.
pub(crate) const CELLS: u64 = 1000;
/// Most variants.
pub(crate) const VARIANTS: usize = 100;
/// Most factors.
pub(crate) const FACTORS: usize = 8;
/// Most combinations of the levels of all factors, those that are excluded too.
pub(crate) const COMBINATIONS: usize = 1000;
/// Most points of a sweep: block sizes of 512 B to 4 MiB at all depths that divide them are 105.
pub(crate) const POINTS: usize = 128;
/// Most stages of a cell.
pub(crate) const STAGES: usize = 100;
/// Most stages of a cell, the points of sweeps and the allocations of layers counted one by one.
pub(crate) const PLANNED: usize = 250;
/// Most layers of a stack.
pub(crate) const LAYERS: usize = 32;
/// Most devices.
pub(crate) const DEVICES: usize = 32;
/// The largest device: the most that a VDO volume offers.
pub(crate) const DEVICE_SIZE: Bytes = Bytes(4 << 50);
/// Most questions: with more, five repeats a side could never decide (Holm's correction).
pub(crate) const QUESTIONS: usize = 6;
/// Most tables of figures that a source reported, and most values of one.
pub(crate) const REPORTS: usize = 12;
pub(crate) const REPORTED: usize = 32;
/// The longest file, bytes.
pub const FILE: u64 = 1 << 20;

/// Refuses more things than are allowed; the mistake is at the first one too many.
pub(crate) fn check<'a, T: 'a>(
    things: &'a [T],
    most: usize,
    what: &str,
    at: impl Fn(&'a T) -> Range<usize>,
) -> Option<Diagnostic> {
    let extra = things.get(most)?;
    let message = format!("There are {} {what}; at most {most} are possible", things.len());
    Some(Diagnostic::at(at(extra), message, format!("leave {} out", things.len() - most)))
}

/// Refuses more cells than are allowed. `at` is the place of `repeat` in the file, if it is written.
pub(crate) fn check_cells(
    variants: usize,
    repeat: u32,
    at: Option<Range<usize>>,
) -> Option<Diagnostic> {
    let variants = variants.max(1) as u64;
    let cells = variants * u64::from(repeat);
    (cells > CELLS).then(|| {
        let plural = if variants == 1 { "" } else { "s" };
        Diagnostic {
            message: format!(
                "{variants} variant{plural} repeated {} times are {} cells; at most {} are possible",
                grouped(repeat.into()),
                grouped(cells),
                grouped(CELLS)
            ),
            span: at,
            help: Some(format!("repeat at most {} times; 5 are enough for a verdict", CELLS / variants)),
            ..Diagnostic::default()
        }
    })
}
