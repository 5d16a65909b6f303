//! Facts about the measured loads that are not figures: what drove them, and what they report about themselves.

use std::collections::{BTreeMap, BTreeSet};

use results::model::{EngineFacts, LayerFigures, LoadSummary};
use results::read::ResultSet;
use units::{Nanos, Unit, show};

use super::Variant;

/// Id of the figure to which the bound of a cache applies.
const READ_HITS: &str = "read_hit_percent";

/// Returns name and value of each fact, every text once, in the order of the cells, and what verification found in each variant.
pub fn driven(set: &ResultSet, variants: &[Variant]) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    let mut card = Vec::new();
    let mut add = |name: &str, text: Option<String>| {
        if let Some(text) = text
            && seen.insert((name.to_owned(), text.clone()))
        {
            card.push((name.to_owned(), text));
        }
    };
    let records = set.cells.iter().filter_map(|cell| cell.record.as_ref());
    let stages = records.flat_map(|record| &record.stages).filter(|stage| stage.measured);
    let swept = swept(set);
    // The points of a sweep are combined into one stage, with the range of their depths.
    let of_stage = |stage: &str| swept.get(stage).copied().unwrap_or(stage).to_owned();
    let loads: Vec<(String, &LoadSummary)> =
        stages.filter_map(|stage| Some((of_stage(&stage.name), stage.load.as_ref()?))).collect();
    let several = loads.iter().any(|(name, _)| *name != loads[0].0);
    let mut depths: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for (name, load) in &loads {
        let depth = load.engine.depth;
        let (least, most) = depths.entry(name).or_insert((depth, depth));
        (*least, *most) = (depth.min(*least), depth.max(*most));
    }
    for (name, load) in &loads {
        // The stage is named where there are several.
        let of = |text: String| if several { format!("{name}: {text}") } else { text };
        add("load driven by", Some(of(engine(&load.engine, depths[name.as_str()]))));
        add("probe of the target", probe(&load.engine).map(of));
        add("clock of the latencies", clock(&load.engine));
        add("steady state", steady(load).map(of));
    }
    for (variant, found) in variants.iter().filter_map(|v| Some((v, v.verified.as_ref()?))) {
        add("verified", Some(format!("{}: {found}", variant.name)));
    }
    for (name, text) in computed(set).into_iter().chain(bounds(set)) {
        add(&name, Some(text));
    }
    let longest = loads.iter().flat_map(|(_, load)| &load.worst).max_by_key(|w| w.latency_ns);
    add(
        "longest I/O",
        longest.map(|w| {
            let took = show::nanos(w.latency_ns as f64);
            format!("{took}, {} at {}", w.operation, w.place())
        }),
    );
    card
}

/// Returns for each variant the measured values of the figures that formulas predicted, next to the predictions.
fn computed(set: &ResultSet) -> Vec<(String, String)> {
    let mut rows: Vec<ComputedRow> = Vec::new();
    for variant in &set.manifest.plan.variants {
        for layer in variant.stack.iter().filter(|layer| !layer.computed.is_empty()) {
            let cells = set.cells_of(&variant.name).filter_map(|cell| cell.record.as_ref());
            let ends: Vec<_> = cells
                .filter_map(|record| record.stages.iter().rfind(|stage| stage.measured))
                .filter_map(|stage| stage.layers.get(&layer.name))
                .collect();
            let mut metrics: Vec<&str> = layer.computed.iter().map(|c| c.metric.as_str()).collect();
            metrics.dedup();
            let known = metrics.into_iter().filter_map(layers::metric);
            rows.extend(known.filter_map(|metric| {
                let value = |figures: &&LayerFigures| figures.get(metric.id).copied().flatten();
                let found: Vec<f64> = ends.iter().filter_map(value).collect();
                // Blocks are shown with all digits, because formulas predict them exactly.
                let show = |value: f64| match metric.unit {
                    Unit::Blocks => show::grouped(value as u64),
                    unit => unit.show(value),
                };
                let measured = range(&found, show)?;
                let of_metric = layer.computed.iter().filter(|c| c.metric == metric.id);
                let rules: Vec<String> =
                    of_metric.map(|c| format!("{} {}", show(c.value), c.about)).collect();
                Some(ComputedRow {
                    variants: vec![variant.name.as_str()],
                    name: format!("{} of {}", metric.name, layer.name),
                    text: format!("{measured}; computed: {}", rules.join(", ")),
                })
            }));
        }
    }
    merge_equal(rows)
}

/// Returns the share of reads that hit caches in measured stages, next to the greatest possible share.
fn bounds(set: &ResultSet) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for variant in &set.manifest.plan.variants {
        let stages = variant.stages.iter();
        for (stage, bound) in stages.flat_map(|s| s.caches.iter().map(move |bound| (s, bound))) {
            let cells = set.cells_of(&variant.name).filter_map(|cell| cell.record.as_ref());
            let records = cells.flat_map(|record| &record.stages);
            let figures = records
                .filter(|record| record.measured && record.name == stage.name)
                .filter_map(|record| record.layers.get(&bound.layer));
            let found = figures.filter_map(|figures| figures.get(READ_HITS).copied().flatten());
            let found: Vec<f64> = found.collect();
            let Some(measured) = range(&found, |value| Unit::Percent.show(value)) else {
                continue;
            };
            let most = Unit::Percent.show(bound.percent);
            rows.push(ComputedRow {
                variants: vec![variant.name.as_str()],
                name: format!("read hits of {} in {}", bound.layer, stage.name),
                text: format!("{measured}; computed: {most} at most"),
            });
        }
    }
    merge_equal(rows)
}

/// Returns the least and the greatest of these values, or just the value if all are equal.
fn range(found: &[f64], show: impl Fn(f64) -> String) -> Option<String> {
    let least = found.iter().copied().reduce(f64::min)?;
    let most = found.iter().copied().reduce(f64::max)?;
    Some(match (show(least), show(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    })
}

/// One text about how a figure was measured or computed, with the variants that it applies to.
struct ComputedRow<'a> {
    variants: Vec<&'a str>,
    name: String,
    text: String,
}

/// Returns name and text of each row, where variants with the same text share a row.
fn merge_equal(rows: Vec<ComputedRow>) -> Vec<(String, String)> {
    let mut once: Vec<ComputedRow> = Vec::new();
    for row in rows {
        match once.iter_mut().find(|one| one.name == row.name && one.text == row.text) {
            Some(one) => one.variants.extend(row.variants),
            None => once.push(row),
        }
    }
    // Rows of the same figure are kept together.
    let mut names: Vec<String> = Vec::new();
    for row in &once {
        if !names.contains(&row.name) {
            names.push(row.name.clone());
        }
    }
    once.sort_by_key(|row| names.iter().position(|name| *name == row.name));
    let as_fact = |row: ComputedRow| {
        (row.name, format!("{}: {}", units::show::names(&row.variants), row.text))
    };
    once.into_iter().map(as_fact).collect()
}

/// Returns the names of the stages that are points of a sweep, each with the stage that sweeps.
fn swept(set: &ResultSet) -> BTreeMap<&str, &str> {
    let stages = set.manifest.plan.variants.iter().flat_map(|variant| &variant.stages);
    stages.filter_map(|stage| Some((&*stage.name, &*stage.sweep.as_ref()?.stage))).collect()
}

/// Describes the backend that drove loads of these depths, the least and the greatest.
fn engine(engine: &EngineFacts, (least, most): (u32, u32)) -> String {
    let mut text = engine.backend.clone();
    if !engine.chosen.is_empty() {
        text.push_str(&format!(" ({})", engine.chosen));
    }
    let depth = if least < most { format!("{least} to {most}") } else { most.to_string() };
    text.push_str(&format!(", jobs {}, depth {depth}", engine.jobs));
    if let Some(cpus) = &engine.cpus {
        text.push_str(&format!(", on CPUs {cpus}"));
    }
    if !engine.direct && engine.backend != "sim" && engine.backend != "null" {
        text.push_str(", through the page cache");
    }
    text
}

/// Returns the probe's measurements, unless the reason for the choice contains them, as in earlier versions.
fn probe(engine: &EngineFacts) -> Option<String> {
    if engine.chosen.contains(" IOPS") {
        return None;
    }
    let parts: Vec<_> = engine
        .probe
        .iter()
        .map(|p| {
            let iops = p.iops.map_or_else(|| "–".into(), |n| show::count(n.round()));
            let note = if p.note.is_empty() { String::new() } else { format!(" ({})", p.note) };
            format!("{} {iops} IOPS{note}", p.backend)
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes the clock, without its drift, which differs from cell to cell.
fn clock(engine: &EngineFacts) -> Option<String> {
    let check = engine.clock_check.as_ref()?;
    Some(format!("{} ({})", engine.clock, check.reason))
}

fn steady(load: &LoadSummary) -> Option<String> {
    let steady = load.steady.as_ref()?;
    let word = match steady.settled_ns {
        Some(at) => format!("settled after {}", Nanos(at)),
        None if steady.slope_percent.is_none() => "not known to have settled".to_owned(),
        None => "never settled".to_owned(),
    };
    // A slow drift may satisfy the rule, so its size is stated; the spread may be the reason why it does not.
    let show = |percent| Unit::Percent.show(percent);
    let drift = steady.slope_percent.zip(steady.spread_percent);
    let drift = drift.map_or_else(String::new, |(slope, spread)| {
        format!(
            ", with a drift of {} (at most {}) and a spread of {} (at most {}) over {}",
            show(slope),
            show(steady.slope_limit_percent),
            show(spread),
            show(steady.spread_limit_percent),
            Nanos(steady.window_ns)
        )
    });
    Some(format!("{} {word}{drift}", steady.metric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::model::{ClockFacts, ProbeFigure};

    #[test]
    fn what_chose_the_backend_is_told_with_its_figures_and_old_results_have_less_to_tell() {
        let old = EngineFacts {
            backend: "io_uring".into(),
            jobs: 1,
            depth: 32,
            ..EngineFacts::default()
        };
        assert_eq!(engine(&old, (32, 32)), "io_uring, jobs 1, depth 32, through the page cache");
        assert_eq!((probe(&old), clock(&old)), (None, None));
        let new = EngineFacts {
            chosen: "the target does not wait".into(),
            direct: true,
            clock: "TSC".into(),
            cpus: Some("0-3".into()),
            probe: vec![ProbeFigure {
                backend: "sync".into(),
                iops: Some(41_000.0),
                ..ProbeFigure::default()
            }],
            clock_check: Some(ClockFacts {
                reason: "as the kernel".into(),
                ..ClockFacts::default()
            }),
            ..old
        };
        assert!(
            engine(&new, (1, 64))
                .starts_with("io_uring (the target does not wait), jobs 1, depth 1 to 64")
        );
        assert!(engine(&new, (1, 64)).ends_with(", on CPUs 0-3"));
        assert_eq!(probe(&new).unwrap(), "sync 41,000 IOPS");
        let earlier = EngineFacts { chosen: "auto: sync 41000 IOPS at 2 us".into(), ..new.clone() };
        assert_eq!(probe(&earlier), None);
        assert_eq!(clock(&new).unwrap(), "TSC (as the kernel)");
    }

    #[test]
    fn variants_of_which_the_same_is_computed_are_told_together_and_figures_stay_side_by_side() {
        let row = |variant, name: &str, text: &str| ComputedRow {
            variants: vec![variant],
            name: name.into(),
            text: text.into(),
        };
        let rows = vec![
            row("a", "memory", "1 GiB"),
            row("a", "blocks", "7"),
            row("b", "memory", "2 GiB"),
            row("b", "blocks", "7"),
        ];
        let once = merge_equal(rows);
        let texts: Vec<String> = once.iter().map(|(name, text)| format!("{name} {text}")).collect();
        assert_eq!(texts, ["memory a: 1 GiB", "memory b: 2 GiB", "blocks a, b: 7"]);
    }
}
