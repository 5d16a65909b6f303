//! Figures per variant and comparisons between variants: what a result says once its repeats are put
//! together. The replicate is the run on a fresh stack; the spread within a run stands apart.
//! Only cells that ended well count, and of these only the measured stages.
#![forbid(unsafe_code)]

mod across;
mod beside;
mod cache_courses;
mod columns;
mod comparisons;
mod counters;
mod courses;
mod effects;
mod expectations;
mod ladder;
mod ladders;
mod looks;
mod places;
mod reported;
mod scope;
mod splits;
mod trends;
mod turns;
mod unanswered;
mod values;
mod variant;
mod within;

use results::model::{Accelerator, VariantFacts};
use results::read::ResultSet;
use stats::Verdict;

use places::Devices;

pub use across::{Across, AcrossRow, Fact, across};
pub use beside::{Unmoved, beside, few_ios_of, scopes, unmoved};
pub use cache_courses::{CacheCourse, CacheMoment, CacheSpell, CacheWord, spells};
pub use columns::{Columns, ColumnsError, Point as ColumnPoint, Series as ColumnSeries, columns};
pub use comparisons::{MetricComparison, RunApart, asks, is_rate};
pub use courses::{Change, EndGrowth, RunCourse, Turn};
use effects::EffectsDraft;
pub use effects::{FactorEffect, FactorEffects, LevelChange, level_number, own_name};
pub use expectations::{Evidence, Expectation, ExpectationOutcome};
pub use ladder::{LOAD, Ladder, MadeBy, Rung, RungLatency, ladder};
pub use ladders::StageLadder;
pub use looks::looks;
pub use reported::{Reported, ReportedRow};
pub use scope::{Of, Scope};
pub use splits::{Split, SplitAnswer, SplitPoint};
pub use trends::{
    LeftOut, TrendKind, TrendName, TrendResult, TrendRun, TrendSeries, Trends, are_relative,
    trend_of, trends,
};
pub use unanswered::is_simulated;
pub use values::{Figures, MetricValues, Point};
pub use variant::VariantFigures;
pub use within::{RunSpread, TypicalSpread, io_bandwidth};

/// Figures and verdicts of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// Name of the experiment.
    pub experiment: String,
    /// Accelerator that executed it.
    pub accelerator: Accelerator,
    /// Tells whether layers and engine were simulated twins: no figure is real then.
    pub simulated: bool,
    /// The reason why the result is incomplete; `None` when it is complete.
    pub incomplete: Option<String>,
    /// The progress of the run that still writes the result; `None` when no run does.
    pub going_on: Option<String>,
    /// The files that are no longer as the run left them; `None` when no change is known.
    pub changed: Option<String>,
    /// Names of the measured stages in their order.
    pub stages: Vec<String>,
    /// Every variant of the plan in its order; the first is the base of comparisons.
    pub variants: Vec<VariantFigures>,
    /// Every other variant compared with the base, in each metric that both have: those asked about first,
    /// in the order of the questions, then the rest by name.
    pub comparisons: Vec<MetricComparison>,
    /// Effects of each factor on the metrics asked about, where factors were crossed.
    pub effects: Vec<FactorEffects>,
    /// For each sweep by outstanding bytes, the better way to split an amount of bytes in flight into I/Os.
    pub splits: Vec<Split>,
    /// The course of each cache over time.
    pub caches: Vec<CacheCourse>,
    /// Latency by layer, where it was asked for.
    pub ladders: Vec<StageLadder>,
    /// Expectations and their outcomes.
    pub expectations: Vec<Expectation>,
    /// Figures that the experiment's source reported, with those found here.
    pub reported: Vec<Reported>,
}

/// Puts the repeats of `result` together.
pub fn analyse(result: &ResultSet) -> Analysis {
    let plan = &result.manifest.plan;
    let stages = plan.measured_stages();
    let apart = stages.len() > 1;
    let mixed = values::mixed(&result.cells, apart);
    let figures = |(facts, devices): (&VariantFacts, Devices)| {
        variant::figures(result, &facts.name, apart, (&mixed, devices))
    };
    let devices = places::devices(plan.variants.iter().map(|variant| &*variant.stack));
    let mut variants: Vec<_> = plan.variants.iter().zip(devices).map(figures).collect();
    unanswered::fill(&unanswered::open_to(result), &mut variants);
    let variants = variants;
    let mut effects = effects::effects(plan, &variants);
    let mut comparisons = compared(result, &variants, &mut effects);
    let apart = looks(result).is_some();
    let mut effects: Vec<_> = effects.into_iter().map(|one| one.finish(apart)).collect();
    if result.going_on.is_some() {
        leave_open(&mut comparisons, &mut effects);
    }
    Analysis {
        experiment: plan.experiment.clone(),
        accelerator: result.manifest.accelerator,
        simulated: result.manifest.simulated,
        incomplete: result.incomplete.clone(),
        going_on: result.going_on.clone(),
        changed: result.seal.broken(),
        comparisons,
        effects,
        splits: splits::splits(plan, &variants),
        caches: cache_courses::courses(result),
        ladders: ladders::ladders(result),
        expectations: expectations::check_expectations(plan, &variants),
        reported: reported::reported_tables(plan, &variants),
        stages: stages.into_iter().map(str::to_owned).collect(),
        variants,
    }
}

/// The reason given for a missing verdict while a run goes on: looking at arbitrary times would make false verdicts far more frequent.
pub const GOES_ON: &str = "not judged: the run still goes on";

/// Replaces the verdicts that do not come from a planned look by `unclear`.
fn leave_open(comparisons: &mut [MetricComparison], effects: &mut [FactorEffects]) {
    for c in comparisons.iter_mut().filter(|c| c.verdict.is_some() && c.decided_after.is_none()) {
        let open = Some(Verdict::Unclear);
        (c.statistics.verdict, c.statistics.repeats_that_would_decide) = (open, None);
        GOES_ON.clone_into(&mut c.statistics.method);
    }
    for effect in effects.iter_mut().flat_map(|one| &mut one.effects) {
        effect.statistics.verdict = Verdict::Unclear;
    }
}

/// Makes all comparisons, including those asked for that lack a value.
fn compared(
    result: &ResultSet,
    variants: &[VariantFigures],
    effects: &mut [EffectsDraft],
) -> Vec<MetricComparison> {
    let (plan, cells) = (&result.manifest.plan, &result.manifest.cells);
    let mut effects: Vec<_> = effects.iter_mut().map(|one| (&mut one.all, one.better)).collect();
    let looks = looks(result);
    let mut all = comparisons::compare_all(variants, plan, cells, looks.as_deref(), &mut effects);
    let questions = unanswered::open_to(result);
    for new in variants.iter().skip(1) {
        let sides = (&variants[0], new);
        all.extend(unanswered::unanswered((plan, &questions), sides, &all));
    }
    all
}
