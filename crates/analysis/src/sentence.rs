//! The one sentence on top: what differs, by how much and how surely, in plain words.

use results::model::Accelerator;
use stats::{Figure, RANGE_BELOW, Verdict};
use units::show;

use crate::scope::{Of, Scope};
use crate::variant::{Figures, VariantFigures};
use crate::{Analysis, MetricComparison};

/// What the experiment found, as a sentence for each variant against the base, after what must be known
/// before: that the result is incomplete, simulated or from an emulated CPU.
pub fn verdict_sentence(analysis: &Analysis) -> String {
    let mut sentences = caveats(analysis);
    let (base, others) = match analysis.variants.split_first() {
        Some((base, others)) if analysis.variants.iter().any(|v| v.repeats > 0) => (base, others),
        _ => {
            sentences.push("No cell ended well, so there are no figures.".to_owned());
            return sentences.join(" ");
        }
    };
    let compared = others.iter().filter_map(|new| on_variant(analysis, new));
    let before = sentences.len();
    sentences.extend(compared);
    if sentences.len() == before {
        let own = std::iter::once(base).chain(others);
        sentences.extend(own.filter_map(own_figures));
    }
    sentences.join(" ")
}

fn caveats(analysis: &Analysis) -> Vec<String> {
    let mut caveats = Vec::new();
    if let Some(what) = &analysis.changed {
        caveats.push(format!("Not as the run left it: {what}; its figures cannot be trusted."));
    }
    if analysis.simulated {
        caveats.push("Simulated: no figure here was measured.".to_owned());
    }
    if let Some(why) = &analysis.incomplete {
        caveats.push(format!("Incomplete: {why}."));
    }
    if analysis.accelerator == Accelerator::Tcg {
        caveats
            .push("On an emulated CPU, where ratios count and absolute speed does not:".to_owned());
    }
    caveats
}

/// What is asked about one variant, and what its layers saved.
fn on_variant(analysis: &Analysis, new: &VariantFigures) -> Option<String> {
    let asked = analysis.comparisons.iter().filter(|c| c.new == new.name && c.asked());
    let mut clauses: Vec<String> =
        asked.enumerate().map(|(place, comparison)| clause(comparison, place == 0)).collect();
    clauses.extend(new.figures.iter().filter_map(saving));
    Some(format!("{} {}.", new.name, join(&clauses)?))
}

/// `wrote at 0.38 x the IOPS of plain [0.362, 0.411] (worse, adjusted p = 0.016, 5 + 5 runs)`.
fn clause(comparison: &MetricComparison, first: bool) -> String {
    let c = comparison;
    let (name, base) = (name(&c.metric), &c.base);
    let Some(ratio) = c.ratio else {
        return format!("cannot be compared with {base} in {name}");
    };
    let times = format!("{} x the {name}", show::significant(ratio, 2));
    let rate = matches!(c.metric.as_str(), "iops" | "throughput_bytes_per_s");
    let stage = c.scope.stage.as_ref().map_or_else(String::new, |stage| format!(" in {stage}"));
    let what = match &c.scope.of {
        Of::Operation(operation) if rate => {
            format!("{}{stage} at {times} of {base}", verb(operation))
        }
        Of::Operation(_) if !first => format!("had {times} of {base} ({})", c.scope.name()),
        Of::Operation(of) | Of::Layer(of) => format!("had {times} of {base} in {of}{stage}"),
        Of::Command => format!("took {times} of {base}{stage}"),
        Of::Load | Of::Content => format!("had {times} of {base}{stage}"),
    };
    let interval = match (c.low, c.high) {
        (Some(low), Some(high)) => {
            let few = c.n_base.min(c.n_new) < RANGE_BELOW;
            let name = if few { ", range" } else { "" };
            format!("{name} [{}, {}]", show::bound(low), show::bound(high))
        }
        _ => String::new(),
    };
    let runs = first.then(|| format!("{} + {} runs", c.n_base, c.n_new));
    let sure: Vec<String> = certainty(c).into_iter().chain(runs).collect();
    format!("{what}{interval} ({})", sure.join(", "))
}

/// Verdict, the p-value it rests on and, when these runs do not decide, how many would.
fn certainty(comparison: &MetricComparison) -> Vec<String> {
    let mut words = Vec::new();
    match (comparison.verdict, comparison.threshold) {
        (Some(Verdict::Same), Some(threshold)) => {
            words.push(format!("same within {} %", show::significant(threshold * 100.0, 2)));
        }
        (Some(verdict), _) => words.push(verdict.to_string()),
        (None, _) => {}
    }
    let adjusted = comparison.p_adjusted.filter(|p| Some(*p) != comparison.p);
    let name = if adjusted.is_some() { "adjusted p" } else { "p" };
    words.extend(adjusted.or(comparison.p).map(|p| match p {
        p if p < 1e-4 => format!("{name} < 0.0001"),
        p => format!("{name} = {}", show::significant(p, 2)),
    }));
    let more = comparison.repeats_that_would_decide;
    words.extend(more.map(|n| format!("about {n} runs a side would decide")));
    words
}

/// `stored 100 data blocks for every 400 written (75 % saved)`.
fn saving((scope, figures): (&Scope, &Figures)) -> Option<String> {
    scope.as_layer()?;
    let stage =
        scope.stage.as_ref().map_or_else(String::new, |stage| format!(" by the end of {stage}"));
    let median = |id: &str| figures.get(id).and_then(|figure: &Figure| figure.median);
    let saved = median("saving_percent")?;
    let percent = format!("{saved:.1} %");
    // Of one stage among several the blocks are its own, and the share is of all that was written so far.
    let blocks = median("data_blocks_used").zip(median("logical_blocks_used"));
    let blocks = blocks.filter(|_| scope.stage.is_none());
    Some(match blocks.filter(|&(data, _)| data > 0.0) {
        Some((data, logical)) => format!(
            "stored 100 data blocks for every {} written ({percent} saved)",
            show::grouped((logical / data * 100.0).round() as u64)
        ),
        None => format!("saved {percent} of the blocks written{stage}"),
    })
}

/// What one variant did by itself, where nothing can be compared.
fn own_figures(variant: &VariantFigures) -> Option<String> {
    let mut clauses: Vec<String> = variant
        .figures
        .iter()
        .filter_map(|(scope, figures)| {
            let figure = figures.get("iops")?;
            let iops = show::significant(figure.median?, 3);
            let stage = scope.stage.as_ref().map_or_else(String::new, |s| format!(" in {s}"));
            let verb = verb(scope.as_operation()?);
            Some(format!("{verb}{stage} at {iops} IOPS ({})", runs(figure.n)))
        })
        .collect();
    clauses.extend(variant.figures.iter().filter_map(saving));
    Some(format!("{} {}.", variant.name, join(&clauses)?))
}

fn runs(n: usize) -> String {
    if n == 1 { "1 run".to_owned() } else { format!("median of {n} runs") }
}

fn verb(operation: &str) -> String {
    match operation {
        "write" | "randwrite" => "wrote".to_owned(),
        "read" | "randread" => "read".to_owned(),
        other => format!("did {other}"),
    }
}

fn name(metric: &str) -> &str {
    layers::metric(metric).map_or(metric, |metric| metric.name)
}

/// `a, b and c`; `None` of nothing.
fn join(clauses: &[String]) -> Option<String> {
    let (last, rest) = clauses.split_last()?;
    Some(if rest.is_empty() { last.clone() } else { format!("{} and {last}", rest.join(", ")) })
}
