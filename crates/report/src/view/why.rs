//! Reasons for a change that counters show: what else changed together with a figure that is asked about, and which part of that is a layer's own
//! work. Every reason has its counters; without counters there is none.

use layers::{MACHINE_CPU_PER_IO, Share};
use results::model::Finding;
use results::read::ResultSet;
use stats::Verdict;
use units::Better;
use units::show::{grouped, significant};

use super::headline::words::{factor, ratio_clause, short_name, stage};
use super::repeats::median;
use super::{CROWD, FigureRow, Variant};
use crate::wording;

/// The most reasons that are shown.
const MAX_REASONS: usize = 3;
/// Factor of change from which a figure asked about needs a reason.
const CHANGED: f64 = 1.1;
/// Factor of change from which a counter may be a reason.
const MORE: f64 = 1.5;
/// The fewest disk I/Os that can be a reason: for each I/O of the load, and for a command in all.
const MIN_IOS_EACH: f64 = 0.01;
const MIN_IOS: f64 = 100.0;
/// The smallest part of a whole that is worth mentioning.
const PART: f64 = 0.15;
/// The part of an increase from which the increase is attributed to a layer.
const OWN: f64 = 0.5;
/// If the base comes this close to the variant's use of a limit (as a share), the limit belongs to both, and explains nothing.
const ALIKE: f64 = 0.8;
/// Used percentage of a limit from which the limit is given as a reason.
const LIMIT: f64 = 50.0;

/// Counters of a disk, each with the word for it in a sentence.
const COUNTS: [(&str, &str); 3] =
    [("device_reads", "reads"), ("device_writes", "writes"), ("device_flushes", "flushes")];
/// CPU of the whole machine per I/O; for a command, its CPU time in the kernel.
const CPU: [&str; 2] = [MACHINE_CPU_PER_IO, "command_cpu_system_s"];

/// The reasons for a change of a figure that is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The change: `Why vdo takes 4.7 times as long as plain in copy-2`.
    pub title: String,
    /// Its reasons, at most three.
    pub causes: Vec<Cause>,
}

/// One reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The reason in plain words.
    pub text: String,
    /// The counters behind it, in the layers' words.
    pub counters: String,
}

/// The change for which reasons are searched: a figure of a variant.
struct Change<'a> {
    row: &'a FigureRow,
    variant: usize,
    /// The ratio of new to base.
    ratio: f64,
    /// Tells whether it is a change for the worse.
    worse: bool,
}

/// The base and the variant in the stage of the change.
struct Sides<'a> {
    rows: Vec<&'a FigureRow>,
    variants: &'a [Variant],
    change: &'a Change<'a>,
    /// I/Os of the load of base and new; `None` for a command, which does the same work on both.
    ios: Option<(f64, f64)>,
}

/// Returns the reasons; `None` if nothing changed, if no counter explains it, or if there are too many variants.
pub fn why(
    set: &ResultSet,
    variants: &[Variant],
    rows: &[FigureRow],
    findings: &[Finding],
) -> Option<Why> {
    if variants.len() > CROWD {
        return None;
    }
    let change = greatest(variants.len(), rows)?;
    let base = variants.first()?;
    let new = variants.get(change.variant)?;
    let stage_rows = rows.iter().filter(|row| row.scope.stage == change.row.scope.stage);
    let of_stage = change.row.scope.stage.as_deref();
    let ios = ios(set, &base.name, of_stage).zip(ios(set, &new.name, of_stage));
    let sides = Sides { rows: stage_rows.collect(), variants, change: &change, ios };
    let mut counted = sides.counts();
    let first = if counted.is_empty() { None } else { Some(counted.remove(0)) };
    let limits = Limits { set, findings, stage: of_stage };
    let limit = change.worse.then(|| limits.nearest(&base.name, &new.name)).flatten();
    let all = first.into_iter().chain(limit).chain(sides.cpu()).chain(counted);
    let causes: Vec<Cause> = all.take(MAX_REASONS).collect();
    let change_text = ratio_clause(change.row, change.ratio, Some(&short_name(&base.name)));
    let title = format!("Why {} {change_text}{}", short_name(&new.name), stage(change.row));
    (!causes.is_empty()).then_some(Why { title, causes })
}

/// Returns the greatest change of the first figure asked about that changed. It must be of a load or a command, and not CPU time: figures of disks and
/// layers, and CPU time, are reasons themselves.
fn greatest(variants: usize, rows: &[FigureRow]) -> Option<Change<'_>> {
    let asked_rows = rows.iter().filter(|row| {
        row.asked
            && row.better != Better::Neither
            && row.scope.as_layer().is_none()
            && !row.metric.contains("cpu")
    });
    let changes = asked_rows.flat_map(|row| {
        (1..variants).filter_map(move |variant| {
            let compared = row.comparisons.get(variant)?.as_ref()?;
            let ratio = compared.ratio.filter(|ratio| *ratio > 0.0)?;
            let worse = (ratio > 1.0) == (row.better == Better::Lower);
            let is_large = ratio.ln().abs() > CHANGED.ln();
            // An undecided change needs no reason.
            let decided = matches!(compared.verdict, Some(Verdict::Better | Verdict::Worse));
            (is_large && decided).then_some(Change { row, variant, ratio, worse })
        })
    });
    let all: Vec<Change> = changes.collect();
    // Of several stages and variants, the one in which this figure changed most.
    let first = all.first()?.row.metric.as_str();
    let of_metric = all.into_iter().filter(|change| change.row.metric == first);
    of_metric.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))
}

/// Returns the I/Os of the load of a stage, or of the only measured one: the median over the cells; `None` where it has no load.
fn ios(set: &ResultSet, variant: &str, stage: Option<&str>) -> Option<f64> {
    let records = set.cells_of(variant).filter(|cell| cell.done());
    let of_cell = records.filter_map(|cell| {
        let stages = cell.record.as_ref()?.stages.iter().filter(|record| record.measured);
        let stages = stages.filter(|record| stage.is_none_or(|stage| record.name == stage));
        let loads = stages.filter_map(|record| record.load.as_ref());
        let ios: u64 = loads.map(|load| load.counted_ios()).sum();
        (ios > 0).then_some(ios as f64)
    });
    median(of_cell.collect())
}

impl Sides<'_> {
    /// Returns a metric summed over all devices of a variant; `None` where none has it.
    fn of_devices(&self, metric: &str, variant: usize) -> Option<f64> {
        let device = |row: &&&FigureRow| {
            let name = row.scope.as_layer();
            let devices = self.variants.get(variant).map(|variant| &variant.devices);
            name.is_some_and(|name| devices.is_some_and(|devices| devices.contains_key(name)))
        };
        self.sum(&[metric], variant, &device)
    }

    /// Returns the sum of metrics of a variant over the rows for which `meant` is true.
    fn sum(
        &self,
        metrics: &[&str],
        variant: usize,
        meant: &dyn Fn(&&&FigureRow) -> bool,
    ) -> Option<f64> {
        let rows = self.rows.iter().filter(|row| metrics.contains(&row.metric.as_str()));
        let values = rows.filter(meant).filter_map(|row| *row.values.get(variant)?);
        values.map(|figure| figure.median).reduce(|a, b| a + b)
    }

    /// Returns the counts of I/Os reaching the disk that rose (for a change for the worse) or fell (for the better), the largest change first.
    fn counts(&self) -> Vec<Cause> {
        let new = self.change.variant;
        let mut all: Vec<(f64, Cause)> = Vec::new();
        for (metric, name) in COUNTS {
            let both = self.of_devices(metric, 0).zip(self.of_devices(metric, new));
            let Some((before, after)) = both else { continue };
            let (of_base, of_new) = self.ios.unwrap_or((1.0, 1.0));
            let (each_before, each_after) = (before / of_base, after / of_new);
            let least = if self.ios.is_some() { MIN_IOS_EACH } else { MIN_IOS };
            // The total must have changed too: I/Os that depend on time would rise per I/O merely because the load does fewer.
            let more = each_after > MORE * each_before && after > CHANGED * before;
            let less = each_before > MORE * each_after && before > CHANGED * after;
            let (more, less) = (more && each_after >= least, less && each_before >= least);
            if if self.change.worse { more } else { less } {
                let cause = self.count(metric, name, (before, after), each_after / each_before);
                all.push(((each_after - each_before).abs(), cause));
            }
        }
        all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        all.into_iter().map(|(_, cause)| cause).collect()
    }

    /// Describes a count: `7 times the reads reached the disk; half of them are VDO comparing duplicates with what it has stored`.
    fn count(&self, metric: &str, name: &str, (before, after): (f64, f64), ratio: f64) -> Cause {
        let [base, new] = [0, self.change.variant]
            .map(|index| self.variants.get(index).map_or("", |variant| variant.name.as_str()));
        let each = if self.ios.is_some() { " for each I/O" } else { "" };
        let [was, is] = [before, after].map(|count| grouped(count.round() as u64));
        let disk = if [0, self.change.variant].iter().any(|one| self.disks(*one) > 1) {
            "disks"
        } else {
            "disk"
        };
        let mut text = if ratio.is_finite() && (0.01..100.0).contains(&ratio) {
            format!("{} times the {name} reached the {disk}{each}", factor(ratio))
        } else {
            format!("{is} {name} reached the {disk}, where {base} had {was}")
        };
        let [was_each, is_each] = match self.ios {
            Some((of_base, of_new)) => [before / of_base, after / of_new]
                .map(|each| format!(" ({} for each I/O)", significant(each, 2))),
            None => [String::new(), String::new()],
        };
        let mut counters = format!("{name}: {new} {is}{is_each}, {base} {was}{was_each}");
        if let Some((part, of_all, layer_share)) = self.part(metric).filter(|_| self.change.worse) {
            let moved = if metric == "device_reads" { "read" } else { "written" };
            text.push_str(&format!(
                "; {} the bytes {moved} are {}",
                share(of_all),
                layer_share.words
            ));
            let amount = grouped(part.round() as u64);
            counters.push_str(&format!("; {}: {amount}", layer_share.counter));
        }
        Cause { text: format!("{text}."), counters }
    }

    /// Returns the number of block devices under a variant.
    fn disks(&self, variant: usize) -> usize {
        self.variants.get(variant).map_or(0, |variant| variant.devices.len())
    }

    /// Returns the greatest part of a metric that a layer of the variant counts as its own: its amount, its share of the whole, and its description.
    /// A part that is larger than the whole is ignored.
    fn part(&self, metric: &str) -> Option<(f64, f64, &'static Share)> {
        let new = self.change.variant;
        let whole = |metric: &str| {
            let of_load = |row: &&&FigureRow| row.scope.as_layer().is_none();
            self.of_devices(metric, new).or_else(|| self.sum(&[metric], new, &of_load))
        };
        let stack = self.variants.get(self.change.variant)?.stack.iter();
        let shares = stack.flat_map(|facts| {
            let kind = layers::kind(&facts.layer).into_iter();
            kind.flat_map(|kind| kind.shares).map(|share| (facts.name.as_str(), share))
        });
        let known = shares.filter(|(_, share)| share.of == metric).filter_map(|(layer, share)| {
            let of_layer = |row: &&&FigureRow| row.scope.as_layer() == Some(layer);
            let part = self.sum(share.metrics, new, &of_layer)?;
            let of_all = part * share.each as f64 / whole(share.within)?;
            (PART..=1.0).contains(&of_all).then_some((part, of_all, share))
        });
        known.max_by(|(_, a, _), (_, b, _)| a.total_cmp(b))
    }

    /// Describes CPU: `3.8 times the CPU for each I/O; half of it is VDO's own threads`.
    fn cpu(&self) -> Option<Cause> {
        let row = self.rows.iter().find(|row| CPU.contains(&row.metric.as_str()))?;
        let figure = |variant: usize| Some((*row.values.get(variant)?)?.median);
        let (before, after) = (figure(0)?, figure(self.change.variant)?);
        // The ratio from the table, which compares runs in pairs, so that the page does not show two different ratios.
        let compared = row.comparisons.get(self.change.variant).and_then(Option::as_ref);
        let ratio = compared.and_then(|compared| compared.ratio).unwrap_or(after / before);
        let is_large = if self.change.worse { ratio > MORE } else { ratio < 1.0 / MORE };
        if !is_large || !ratio.is_finite() {
            return None;
        }
        let part = self.part(&row.metric).filter(|_| self.change.worse);
        // CPU time that does not depend on the load rises per I/O when I/Os get fewer. That explains nothing, unless a layer counts it as its own.
        let (of_base, of_new) = self.ios.unwrap_or((1.0, 1.0));
        let (was, is) = (before * of_base, after * of_new);
        let all = if self.change.worse { is > CHANGED * was } else { was > CHANGED * is };
        let layers = part.is_some_and(|(part, ..)| part >= OWN * (after - before));
        if !all && !layers {
            return None;
        }
        let [base, new] = [0, self.change.variant]
            .map(|index| self.variants.get(index).map_or("", |variant| variant.name.as_str()));
        let show = |value: f64| wording::value(row.unit, value);
        let mut text = format!("{} times the {}", factor(ratio), row.label);
        let mut counters = format!("{}: {new} {}, {base} {}", row.label, show(after), show(before));
        if let Some((part, of_all, layer_share)) = part {
            text.push_str(&format!("; {} it is {}", share(of_all), layer_share.words));
            counters.push_str(&format!("; {}: {}", layer_share.counter, show(part)));
        }
        Some(Cause { text: format!("{text}."), counters })
    }
}

/// Returns a share in words: `half of`.
fn share(part: f64) -> String {
    match part {
        part if part >= 0.9 => "nearly all of".to_owned(),
        part if (0.45..=0.55).contains(&part) => "half of".to_owned(),
        part if (0.3..0.37).contains(&part) => "a third of".to_owned(),
        part => format!("{} % of", significant(100.0 * part, 2)),
    }
}

/// The findings in which a limit of a variant is searched that explains the change.
struct Limits<'a> {
    set: &'a ResultSet,
    findings: &'a [Finding],
    /// The stage of the change; `None` is the only measured one.
    stage: Option<&'a str>,
}

impl Limits<'_> {
    /// Returns the limit that a variant came nearest to in the stage, if its base did not come near it.
    fn nearest(&self, base: &str, variant: &str) -> Option<Cause> {
        let in_stage = self.findings_of(variant).filter(|finding| self.in_stage(finding));
        let not_of_base = in_stage.filter(|finding| {
            let both = |other: &Finding| {
                other.rule == finding.rule && percent(other) >= ALIKE * percent(finding)
            };
            percent(finding) >= LIMIT && !self.findings_of(base).any(both)
        });
        let nearest = not_of_base.max_by(|a, b| percent(a).total_cmp(&percent(b)))?;
        let figures = nearest.figures.iter();
        let counters: Vec<String> = figures
            .map(|figure| format!("{} {}", figure.name, figure.unit.show(figure.value)))
            .collect();
        Some(Cause { text: nearest.message.clone(), counters: counters.join("; ") })
    }

    /// Returns the findings about a variant and its layers.
    fn findings_of(&self, variant: &str) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| {
            let subject = finding.subject.as_deref().unwrap_or_default();
            subject == variant || subject.strip_prefix(variant).is_some_and(|s| s.starts_with(": "))
        })
    }

    /// Tells whether a finding is about the stage; where there are several stages, a finding without a time belongs to none.
    fn in_stage(&self, finding: &Finding) -> bool {
        let Some(name) = self.stage else { return true };
        let stages = finding.range.into_iter().flat_map(|range| {
            let cells = self.set.cells.iter().filter(move |cell| cell.entry.index == range.cell);
            let stages = cells.filter_map(|cell| cell.record.as_ref()).flat_map(|r| &r.stages);
            stages.filter(move |stage| stage.measured && stage.start_ns == range.start_ns)
        });
        stages.into_iter().any(|stage| stage.name == name)
    }
}

fn percent(finding: &Finding) -> f64 {
    finding.explains_percent.unwrap_or(0.0)
}
