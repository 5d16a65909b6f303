//! Compares the content that was written with what was asked for.

use super::load::loads;
use analysis::{Analysis, Figures, VariantFigures};
use results::model::{AskedContent, Finding, LoadSummary, Severity, StageRecord, content_figure};
use results::read::ResultSet;
use units::show::significant;

/// Tolerance for a share, percentage points, beyond the error that sampling explains.
pub(crate) const SHARE_TOLERANCE: f64 = 1.0;
/// Number of standard errors that sampling explains: one sample in about 400 is farther off.
const ERRORS: f64 = 3.0;
/// The mean LZ4 size may be off by this much, bytes: the generator hits each block within 3.
const SIZE_TOLERANCE: f64 = 3.0;

/// One figure of content that is compared with what was asked.
struct Held {
    id: &'static str,
    unit: &'static str,
    tolerance: f64,
    /// Id of the figure with the standard error that sampling gives it.
    error: Option<&'static str>,
}

const HELD: [Held; 4] = [
    share("duplicate_percent", "duplicate_error_points"),
    share("live_duplicate_percent", "live_duplicate_error_points"),
    share("zero_percent", "duplicate_error_points"),
    Held { id: "lz4_size_mean_bytes", unit: "B", tolerance: SIZE_TOLERANCE, error: None },
];

const fn share(id: &'static str, error: &'static str) -> Held {
    Held { id, unit: "%", tolerance: SHARE_TOLERANCE, error: Some(error) }
}

/// The achieved content differs from what was asked for.
pub(crate) fn off_asked(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let of = |written: Written| {
        let rounding = rounding(result, &written);
        HELD.iter().filter_map(move |held| deviation(&written, held, rounding)).collect::<Vec<_>>()
    };
    written(analysis).flat_map(of).collect()
}

/// Returns the percentage points by which a share may be off because blocks are whole: each job may end a block early or late, which matters where
/// few blocks were written.
fn rounding(result: &ResultSet, written: &Written) -> f64 {
    let of = |&(variant, _, stage, _): &(&str, u32, &StageRecord, &LoadSummary)| {
        let named = written.stage.is_none_or(|name| name == stage.name);
        stage.measured && variant == written.variant.name && named
    };
    let jobs = loads(result).filter(of).map(|(.., load)| load.engine.jobs).max();
    let share = |blocks: f64| 100.0 * f64::from(jobs.unwrap_or(1)) / blocks;
    written.median("blocks").filter(|&blocks| blocks > 0.0).map_or(0.0, share)
}

/// Content that a stage of a variant was asked to write, with the figures of what it wrote.
#[derive(Clone, Copy)]
struct Written<'a> {
    variant: &'a VariantFigures,
    stage: Option<&'a str>,
    asked: &'a AskedContent,
    achieved: &'a Figures,
}

impl Written<'_> {
    fn median(&self, id: &str) -> Option<f64> {
        self.achieved.get(id).and_then(|figure| figure.median)
    }

    /// The variant, and the stage where there are several.
    fn name(&self) -> String {
        let name = &self.variant.name;
        self.stage.map_or_else(|| name.clone(), |stage| format!("{name} in {stage}"))
    }
}

/// Every measured stage of every variant that was asked to write something.
fn written(analysis: &Analysis) -> impl Iterator<Item = Written<'_>> {
    analysis.variants.iter().flat_map(|variant| {
        variant.asked.iter().map(move |(stage, requested)| {
            let stage = stage.as_deref();
            Written { variant, stage, asked: requested, achieved: variant.achieved(stage) }
        })
    })
}

fn deviation(written: &Written, held: &Held, rounding: f64) -> Option<Finding> {
    let figure = content_figure(held.id)?;
    let requested = (figure.asked)(written.asked)?;
    let achieved = written.median(held.id)?;
    let error = held.error.and_then(|id| written.median(id)).unwrap_or(0.0);
    let rounding = held.error.map_or(0.0, |_| rounding);
    let allowed = held.tolerance.max(rounding) + ERRORS * error;
    if (achieved - requested).abs() <= allowed {
        return None;
    }
    let (name, unit) = (figure.name, held.unit);
    let show = |value: f64| format!("{} {unit}", significant(value, 4));
    // Shares of live blocks depend on the addresses that were written; a load that does not reach all of them is not at fault.
    let live = held.id.starts_with("live_");
    Some(Finding {
        rule: "achieved_off_asked".into(),
        severity: if live { Severity::Warning } else { Severity::Error },
        subject: Some(written.variant.name.clone()),
        message: format!("The {name} that {} wrote is not what was asked.", written.name()),
        evidence: format!(
            "Asked {}, achieved {} ({}); up to {} off would be explained by sampling \
             and rounding.",
            show(requested),
            show(achieved),
            match written.achieved.get(held.id).map_or(0, |figure| figure.n) {
                1 => "one run".to_owned(),
                n => format!("median of {n} runs"),
            },
            show(allowed)
        ),
        remedy: "Read the space figures against what was achieved. With passes over the same blocks, \
                 errors, writes that do not begin where a block does, or a live share before every address was written once, that differs from what was \
                 asked; without, it is a fault of Fathom to report."
            .into(),
 ..Finding::default()
})
}

/// Content was asked for, but it is not known what was written.
pub(crate) fn not_measured(_: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let unknown = |written: &Written| !HELD.iter().any(|held| written.median(held.id).is_some());
    let finding = |written: Written| {
        Finding {
        rule: "content_not_measured".into(),
        severity: Severity::Warning,
        subject: Some(written.variant.name.clone()),
        message: format!("What {} wrote was not measured.", written.name()),
        evidence: "Content was asked for, and no run says what was achieved.".into(),
        remedy: "Take the space figures with care, or write more: a short load may hold no block of the \
                 sample."
            .into(),
 ..Finding::default()
}
    };
    written(analysis).filter(unknown).map(finding).collect()
}

/// Several measured loads wrote, so that shares of the whole are not known.
pub(crate) fn several(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let most = |variant: &str| {
        let records = result.cells_of(variant).filter_map(|cell| cell.record.as_ref());
        records.map(|record| record.measured_content().loads).max().unwrap_or(0)
    };
    let finding = |variant: &VariantFigures| {
        let loads = most(&variant.name);
        (loads > 1).then(|| Finding {
            rule: "content_of_several_loads".into(),
            severity: Severity::Note,
            subject: Some(variant.name.clone()),
            message: format!("What {} wrote is known stage by stage, not as a whole.", variant.name),
            evidence: format!(
                "{loads} measured loads wrote, and duplicates of one in another were not looked for."
            ),
            remedy: "Read each stage's content by itself, or measure one load that writes for figures of the \
                     whole."
                .into(),
 ..Finding::default()
})
    };
    analysis.variants.iter().filter_map(finding).collect()
}
