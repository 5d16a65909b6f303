//! Two results beside each other: what each variant that both have does in the second and did in the first.

use results::ResultSet;
use results::model::{AskedMetric, Manifest};
use stats::Figure;
use units::show;

use crate::comparisons::{self, MetricComparison};
use crate::{Analysis, VariantFigures, analyse};

/// Two results beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Across {
    /// Each figure that both have of a variant: what is asked first, in the order of the questions.
    pub rows: Vec<AcrossRow>,
    /// Facts in which the results differ: each may be the reason of a difference.
    pub differ: Vec<Fact>,
    /// Variants that only the old result has.
    pub only_old: Vec<String>,
    /// Variants that only the new result has.
    pub only_new: Vec<String>,
}

/// One figure of one variant in both results.
#[derive(Debug, Clone, PartialEq)]
pub struct AcrossRow {
    /// The comparison; its base and its new side are the variant's name.
    pub comparison: MetricComparison,
    /// The figure in the old result.
    pub old: Figure,
    /// The figure in the new result.
    pub new: Figure,
}

/// A fact of both results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its name.
    pub name: &'static str,
    /// Its value in the old result; `None` where it is not known.
    pub old: Option<String>,
    /// Its value in the new result.
    pub new: Option<String>,
}

/// Holds `new` against `old`, variant by variant of one name. The runs of one result were made at another time than those of the other: whatever
/// changed meanwhile is in the difference.
pub fn across(old: &ResultSet, new: &ResultSet) -> Across {
    let (before, now) = (analyse(old), analyse(new));
    let plan = &new.manifest.plan;
    let also = old.manifest.plan.questions.iter().filter(|asked| !plan.questions.contains(asked));
    let questions: Vec<AskedMetric> = plan.questions.iter().chain(also).cloned().collect();
    let all = comparisons::compare_results(
        (&before.variants, &now.variants),
        (plan, &questions),
        (&old.manifest.cells, &new.manifest.cells),
    );
    let row = |comparison: MetricComparison| {
        let figure = |analysis: &Analysis| {
            let variant = analysis.variants.iter().find(|one| one.name == comparison.new)?;
            variant.figure(&comparison.scope, &comparison.metric).cloned()
        };
        let (old, new) = (figure(&before)?, figure(&now)?);
        Some(AcrossRow { comparison, old, new })
    };
    Across {
        rows: all.into_iter().filter_map(row).collect(),
        differ: differ(old, new),
        only_old: alone(&before.variants, &now.variants),
        only_new: alone(&now.variants, &before.variants),
    }
}

fn alone(own: &[VariantFigures], others: &[VariantFigures]) -> Vec<String> {
    let alone = own.iter().filter(|one| others.iter().all(|other| other.name != one.name));
    alone.map(|variant| variant.name.clone()).collect()
}

/// Facts that a reader has to know of, where they differ; seeds always do.
fn differ(old: &ResultSet, new: &ResultSet) -> Vec<Fact> {
    let facts = |result: &ResultSet| {
        let Manifest { plan, guest, host, accelerator, tool_version, .. } = &result.manifest;
        let of_layers = guest.as_ref().unwrap_or(host);
        let known = |name: &str| of_layers.0.get(name).cloned();
        [
            ("experiment", Some(plan.experiment.clone())),
            ("scale", Some(plan.scale.clone().unwrap_or_else(|| "none".to_owned()))),
            ("kernel", known("kernel")),
            ("processor", host.0.get("cpu").cloned()),
            ("CPUs", known("cpus")),
            // A kernel keeps a little for itself, another a little more.
            ("memory", known("memory").and_then(|bytes| Some(show::bytes(bytes.parse().ok()?)))),
            ("accelerator", Some(format!("{accelerator:?}").to_lowercase())),
            ("fathom", Some(tool_version.clone())),
        ]
    };
    let both = facts(old).into_iter().zip(facts(new));
    let mut differ: Vec<Fact> = both
        .filter(|((_, old), (_, new))| old != new)
        .map(|((name, old), (_, new))| Fact { name, old, new })
        .collect();
    let same_name = old.manifest.plan.experiment == new.manifest.plan.experiment;
    if same_name && old.experiment_toml != new.experiment_toml {
        differ.push(Fact { name: "the experiment's file", old: None, new: None });
    }
    differ
}
