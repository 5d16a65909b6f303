//! Compares two results: the figures of each variant that both have, in the second result and in the first.

use std::collections::{BTreeMap, BTreeSet};

use results::ResultSet;
use results::model::{Accelerator, AskedMetric, LayerFacts, Manifest, PlanFacts, VariantFacts};
use stats::Figure;
use units::Unit;

use crate::comparisons::{self, MetricComparison, asks};
use crate::values::pairs;
use crate::{Analysis, VariantFigures, analyse, unanswered};

/// The comparison of two results.
#[derive(Debug, Clone, PartialEq)]
pub struct Across {
    /// The figures that both results have of a variant: first those asked about, in the order of the questions.
    pub rows: Vec<AcrossRow>,
    /// Facts in which the results differ; each may be the cause of a difference between figures.
    pub differ: Vec<Fact>,
    /// Variants that only the old result has.
    pub only_old: Vec<String>,
    /// Variants that only the new result has.
    pub only_new: Vec<String>,
    /// Figures asked about that only the old result has, though both have the variant; in words.
    pub figures_only_old: Vec<String>,
    /// The same for the new result.
    pub figures_only_new: Vec<String>,
}

/// One figure of one variant in both results.
#[derive(Debug, Clone, PartialEq)]
pub struct AcrossRow {
    /// The comparison; its base and its new side are the variant's name.
    pub comparison: MetricComparison,
    /// The figure in the old result, over the runs that are compared.
    pub old: Figure,
    /// The figure in the new result, over the runs that are compared.
    pub new: Figure,
    /// Number of all runs that have the figure, in the old and in the new result.
    pub runs: (usize, usize),
    /// Its unit.
    pub unit: Unit,
}

/// A fact of both results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Its value in the old result; `None` where it is not known.
    pub old: Option<String>,
    /// Its value in the new result.
    pub new: Option<String>,
}

/// Compares `new` with `old`, each variant with the one of the same name. The two results were made at different times: whatever changed in between
/// is part of the difference.
pub fn across(old: &ResultSet, new: &ResultSet) -> Across {
    let (before, now) = (analyse(old), analyse(new));
    let plan = &new.manifest.plan;
    let also =
        old.manifest.plan.questions.iter().filter(|question| !plan.questions.contains(question));
    let questions: Vec<AskedMetric> = plan.questions.iter().chain(also).cloned().collect();
    let mut all = comparisons::compare_results(
        (&before.variants, &now.variants),
        (plan, &questions),
        (&old.manifest.cells, &new.manifest.cells),
    );
    let [mut questions, open] = [old, new].map(unanswered::open_to);
    questions.extend(open);
    for variant in &now.variants {
        let before = before.variants.iter().find(|earlier| earlier.name == variant.name);
        let lacks = before
            .map(|before| unanswered::unanswered((plan, &questions), (before, variant), &all));
        all.extend(lacks.into_iter().flatten());
    }
    let row = |comparison: MetricComparison| {
        let figure = |analysis: &Analysis| {
            let variant = analysis.variants.iter().find(|one| one.name == comparison.new)?;
            variant.figure(&comparison.scope, &comparison.metric).cloned()
        };
        let (stage, metric) = (comparison.scope.stage.as_deref(), &comparison.metric);
        let picked = || plan.picked_figure(stage, metric).map(|picked| picked.unit);
        let unit = layers::metric(metric).map(|metric| metric.unit).or_else(picked);
        let (all_old, all_new) = (figure(&before)?, figure(&now)?);
        let runs = (all_old.n, all_new.n);
        let (old, new) = of_compared((&before, &now), &comparison).unwrap_or((all_old, all_new));
        let unit = unit.unwrap_or(Unit::Count);
        Some(AcrossRow { old, new, runs, unit, comparison })
    };
    Across {
        rows: all.into_iter().filter_map(row).collect(),
        differ: differ(old, new),
        only_old: only_in_first(&before.variants, &now.variants),
        only_new: only_in_first(&now.variants, &before.variants),
        figures_only_old: figures_alone(&before, &now, &questions),
        figures_only_new: figures_alone(&now, &before, &questions),
    }
}

/// Returns the old and the new figure over the runs of a comparison; `None` where it has no runs.
fn of_compared(
    (before, now): (&Analysis, &Analysis),
    comparison: &MetricComparison,
) -> Option<(Figure, Figure)> {
    let values = |analysis: &'_ Analysis| {
        let variant = analysis.variants.iter().find(|one| one.name == comparison.new)?;
        variant.values_of(&comparison.scope, &comparison.metric).cloned()
    };
    let (both, _) = pairs(&values(before)?, &values(now)?);
    let (old, new): (Vec<f64>, Vec<f64>) = both.into_iter().map(|(_, pair)| pair).unzip();
    (!old.is_empty()).then(|| (stats::figure(&old), stats::figure(&new)))
}

/// Returns the figures asked about that only `one` has, of the variants that both results have.
fn figures_alone(one: &Analysis, other: &Analysis, questions: &[AskedMetric]) -> Vec<String> {
    let both = one.variants.iter().filter_map(|variant| {
        Some((variant, other.variants.iter().find(|same| same.name == variant.name)?))
    });
    let alone = both.flat_map(|(variant, counterpart)| {
        let of_questions = variant.values.iter().filter(|values| {
            let asks_it = |question: &AskedMetric| asks(question, &values.scope, &values.metric);
            !values.points.is_empty() && questions.iter().any(asks_it)
        });
        let lacks = of_questions.filter(|values| {
            let there = counterpart.values_of(&values.scope, &values.metric);
            there.is_none_or(|there| there.points.is_empty())
        });
        lacks.map(|values| {
            let label = layers::metric(&values.metric).map_or(&*values.metric, |known| known.name);
            format!("{label} of {} of {}", values.scope.name(), variant.name)
        })
    });
    alone.collect()
}

fn only_in_first(these: &[VariantFigures], others: &[VariantFigures]) -> Vec<String> {
    let alone = these.iter().filter(|one| others.iter().all(|other| other.name != one.name));
    alone.map(|variant| variant.name.clone()).collect()
}

/// Returns the differing facts that a reader has to know about; seeds are left out, since they always differ.
fn differ(old: &ResultSet, new: &ResultSet) -> Vec<Fact> {
    let facts = |result: &ResultSet| {
        let Manifest { plan, guest, host, tool_version, .. } = &result.manifest;
        let of_layers = guest.as_ref().unwrap_or(host);
        let known = |name: &str| of_layers.0.get(name).cloned();
        [
            ("experiment", Some(plan.experiment.clone())),
            ("scale", Some(plan.scale.clone().unwrap_or_else(|| "none".to_owned()))),
            ("kernel", known("kernel")),
            ("processor", host.0.get("cpu").cloned()),
            ("CPUs", known("cpus")),
            ("memory", known("memory")),
            ("where it ran", Some(place(result))),
            ("fathom", Some(tool_version.clone())),
        ]
    };
    let both = facts(old).into_iter().zip(facts(new));
    let mut differ: Vec<Fact> = both
        .filter(|((_, old), (_, new))| old != new)
        .map(|((name, old), (_, new))| Fact { name: name.to_owned(), old, new })
        .collect();
    differ.extend(settings(&old.manifest.plan, &new.manifest.plan));
    let same_name = old.manifest.plan.experiment == new.manifest.plan.experiment;
    if same_name && old.experiment_toml != new.experiment_toml {
        differ.push(Fact { name: "the experiment's file".to_owned(), old: None, new: None });
    }
    differ
}

/// Describes where a result was measured: simulated figures are not real, and an emulated processor has a different speed.
fn place(result: &ResultSet) -> String {
    let place = match (result.manifest.simulated, result.manifest.accelerator) {
        (true, _) => "simulated, where no figure is real",
        (false, Accelerator::None) => "on this machine's devices",
        (false, Accelerator::Kvm) => "the lab with KVM",
        (false, Accelerator::Tcg) => "the lab with an emulated CPU",
    };
    place.to_owned()
}

/// Returns the settings in which the stacks of variants with the same name differ.
fn settings(old: &PlanFacts, new: &PlanFacts) -> Vec<Fact> {
    let all = |variant: &VariantFacts| -> BTreeMap<String, String> {
        let of = |layer: &LayerFacts| {
            let (name, kind) = (layer.name.clone(), layer.layer.clone());
            let settings = layer
                .settings
                .iter()
                .map(move |(key, value)| (format!("{name}.{key}"), value.clone()));
            settings.chain([(format!("layer {}", layer.name), kind)]).collect::<Vec<_>>()
        };
        variant.stack.iter().flat_map(of).collect()
    };
    let mut differ = Vec::new();
    for variant in &new.variants {
        let Some(before) = old.variants.iter().find(|earlier| earlier.name == variant.name) else {
            continue;
        };
        let (was, is) = (all(before), all(variant));
        let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        for key in keys.into_iter().filter(|key| was.get(*key) != is.get(*key)) {
            let name = format!("{key} of {}", variant.name);
            differ.push(Fact { name, old: was.get(key).cloned(), new: is.get(key).cloned() });
        }
    }
    differ
}
