//! `[[picture]]`: what the first screen of the page draws.

use results::model::{PictureFacts, Show};
use toml::Spanned;
use units::Key;

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Places, Table};
use crate::factors::Factor;
use crate::stacks::VariantStack;
use crate::stages::{Stage, Task};
use crate::subject::Subject;

const SHOW: Key = Key {
    name: "show",
    takes: "iops over time, throughput over time, latency over time, latency bars, series, curve or comparison",
    example: "\"iops over time\"",
};
const METRIC: Key = Key { name: "metric", takes: "a metric of docs/json.md", example: "\"iops\"" };
const STAGE: Key =
    Key { name: "stage", takes: "the name of a measured stage", example: "\"warm\"" };
const OPERATION: Key =
    Key { name: "operation", takes: "an operation of a measured stage", example: "\"randread\"" };
const LAYER: Key =
    Key { name: "layer", takes: "the name of a layer of a stack", example: "\"cache\"" };
const SERIES: Key = Key {
    name: "series",
    takes: "metrics of the layer, or lines of its charts",
    example: "[\"hit_percent\"]",
};
const PERCENTILES: Key = Key {
    name: "percentiles",
    takes: "numbers from above 0 to below 100",
    example: "[50, 90, 99, 99.9]",
};
const BY: Key =
    Key { name: "by", takes: "the name of a factor or a swept key", example: "\"depth\"" };

/// Most pictures of an experiment, most series and percentiles of one.
const MOST: usize = 6;
const MOST_SERIES: usize = 8;
/// Percentiles of bars, and of lines over time, unless the file says others.
const BARS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];
const OVER_TIME: f64 = 99.0;
/// A curve needs this many levels.
const LEVELS: usize = 3;

/// `[[picture]]` as written.
pub(crate) struct Picture {
    facts: PictureFacts,
    /// What a curve or bars are of.
    subject: Option<Subject>,
    places: Places,
}

impl Picture {
    pub(crate) fn read(mut table: Table) -> Result<Self, Diagnostic> {
        let places = table.places();
        let show = show(&table.need::<String>(&SHOW)?)?;
        let text = |table: &mut Table, key| -> Result<Option<String>, Diagnostic> {
            Ok(table.take::<String>(key)?.map(Spanned::into_inner))
        };
        let subject = match show {
            Show::Curve | Show::Comparison => Some(Subject::read(&mut table, None)?),
            _ => None,
        };
        let own = subject.clone();
        let facts = PictureFacts {
            show,
            stage: text(&mut table, &STAGE)?.or(own.as_ref().and_then(|s| s.stage.clone())),
            operation: text(&mut table, &OPERATION)?
                .or(own.as_ref().and_then(|s| s.operation.clone())),
            layer: text(&mut table, &LAYER)?.or(own.as_ref().and_then(|s| s.layer.clone())),
            series: list(table.take::<Vec<String>>(&SERIES)?, "series")?,
            percentiles: percentiles(table.take::<Vec<f64>>(&PERCENTILES)?, show)?,
            metric: text(&mut table, &METRIC)?.or(own.map(|s| s.metric)),
            by: text(&mut table, &BY)?,
        };
        table.finish()?;
        let picture = Self { facts, subject, places };
        picture.needless().map_or(Ok(picture), Err)
    }

    /// As results keep it.
    pub(crate) fn facts(&self) -> PictureFacts {
        self.facts.clone()
    }

    /// Where it stands.
    fn at(&self) -> std::ops::Range<usize> {
        self.places.table()
    }

    /// A key that says nothing of what is shown, or is lacking.
    fn needless(&self) -> Option<Diagnostic> {
        let PictureFacts { show, operation, layer, series, percentiles, metric, by, .. } =
            &self.facts;
        let latency = matches!(show, Show::LatencyBars | Show::LatencyOverTime);
        let figure = matches!(show, Show::Curve | Show::Comparison);
        let written = [
            ("operation", operation.is_some(), *show != Show::Series),
            ("layer", layer.is_some(), *show == Show::Series || figure),
            ("series", !series.is_empty(), *show == Show::Series),
            ("percentiles", !percentiles.is_empty(), latency),
            ("metric", metric.is_some(), figure),
            ("by", by.is_some(), *show == Show::Curve),
        ];
        if let Some((key, ..)) = written.iter().find(|(_, there, taken)| *there && !taken) {
            let message = format!("'{}' is shown without '{key}'", show.word());
            let takes: Vec<_> =
                written.iter().filter(|(.., taken)| *taken).map(|(key, ..)| *key).collect();
            let help = format!("leave it out; beside stage it takes: {}", takes.join(", "));
            return Some(Diagnostic::at(self.places.at(key), message, help));
        }
        let lacking = match show {
            Show::Series if layer.is_none() => &LAYER,
            Show::Series if series.is_empty() => &SERIES,
            _ => return None,
        };
        let message = format!("'{}' needs '{}'", show.word(), lacking.name);
        let help = format!("add it: {}", lacking.help(lacking.name));
        Some(Diagnostic::at(self.at(), message, help))
    }

    /// What it names must be there, and be of a kind that can be drawn so.
    fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        factors: &[Factor],
    ) -> Option<Diagnostic> {
        match self.facts.show {
            Show::Curve | Show::Comparison => {
                let wrong = self.subject.as_ref().and_then(|s| s.check(stages, stacks));
                wrong.or_else(|| self.check_curve(stages, factors))
            }
            Show::Series => self.check_layer(stages, stacks),
            _ => self.check_load(stages),
        }
    }

    fn check_curve(&self, stages: &[Stage], factors: &[Factor]) -> Option<Diagnostic> {
        if self.facts.show != Show::Curve {
            return None;
        }
        let of_factors = factors.iter().map(|f| (f.name.get_ref().clone(), f.levels.len()));
        let sweeps = stages.iter().filter_map(|stage| match &stage.task {
            Task::Sweep(points) => Some(points),
            _ => None,
        });
        let swept = sweeps.flat_map(|points| {
            let keys = points.first().into_iter().flat_map(|point| point.at.keys());
            keys.map(|key| {
                let values = points.iter().filter_map(|point| point.at.get(key));
                let mut values: Vec<_> = values.collect();
                values.sort();
                values.dedup();
                (key.clone(), values.len())
            })
        });
        let known: Vec<(String, usize)> = of_factors.chain(swept).collect();
        let fits = |(name, levels): &&(String, usize)| {
            *levels >= LEVELS && self.facts.by.as_ref().is_none_or(|by| by == name)
        };
        if known.iter().any(|one| fits(&one)) {
            return None;
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let (key, message) = match &self.facts.by {
            Some(by) if !names.contains(&by.as_str()) => {
                ("by", format!("There is no factor and no swept key '{by}'"))
            }
            Some(by) => {
                ("by", format!("'{by}' has fewer than {LEVELS} values, which are no curve"))
            }
            None => {
                ("show", format!("Nothing is varied at {LEVELS} values, and fewer are no curve"))
            }
        };
        let help = format!("factors and swept keys: {there}; show = \"comparison\" draws bars");
        Some(Diagnostic::at(self.places.at(key), message, help))
    }

    /// Loads have interval rows and latencies; a sweep has a load at each point.
    fn check_load(&self, stages: &[Stage]) -> Option<Diagnostic> {
        let show = self.facts.show.word();
        let loads = || stages.iter().filter(|s| s.measured && matches!(s.task, Task::Load(_)));
        let names: Vec<&str> = loads().map(|stage| stage.name.as_str()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let wrong = |key: &str, message: String, help: String| {
            Some(Diagnostic::at(self.places.at(key), message, help))
        };
        if let Some(name) = &self.facts.stage
            && let Some(mistake) = self.unknown_stage(stages, name)
        {
            return Some(mistake);
        }
        let own = |stage: &&Stage| self.facts.stage.as_ref().is_none_or(|name| stage.name == *name);
        if !loads().any(|stage| own(&stage)) {
            let message = match &self.facts.stage {
                Some(name) => format!("Stage '{name}' is no single load, so it has no {show}"),
                None => format!("No measured stage is a single load, so there is no {show}"),
            };
            let help = format!("measured loads: {there}; of a sweep show = \"curve\"");
            return wrong(if self.facts.stage.is_some() { "stage" } else { "show" }, message, help);
        }
        let operation = self.facts.operation.as_ref()?;
        let done = loads().filter(own).filter_map(Stage::load).flat_map(crate::stages::operations);
        let mut done: Vec<String> = done.collect();
        done.sort();
        done.dedup();
        let near = nearest(operation, done.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let message = format!("No such stage does '{operation}'");
        let help = format!("{near}There are: {}", done.join(", "));
        if done.contains(operation) { None } else { wrong("operation", message, help) }
    }

    fn unknown_stage(&self, stages: &[Stage], name: &str) -> Option<Diagnostic> {
        let mut names: Vec<&str> =
            stages.iter().filter(|s| s.measured).map(|s| s.name.as_str()).collect();
        names.dedup();
        if names.contains(&name) {
            return None;
        }
        let near = nearest(name, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let message = format!("No measured stage is called '{name}'");
        let help = format!("{near}There are: {}", names.join(", "));
        Some(Diagnostic::at(self.places.at("stage"), message, help))
    }

    /// The layer must be there, and each series be a metric of it or a line of its charts, in one variant at least.
    fn check_layer(&self, stages: &[Stage], stacks: &[VariantStack]) -> Option<Diagnostic> {
        if let Some(name) = &self.facts.stage
            && let Some(mistake) = self.unknown_stage(stages, name)
        {
            return Some(mistake);
        }
        let layer = self.facts.layer.as_ref()?;
        let all = || stacks.iter().flat_map(|stack| &stack.layers);
        let kinds: Vec<&'static layers::Kind> = all()
            .filter(|own| own.name == *layer)
            .filter_map(|own| layers::kind(&own.kind))
            .collect();
        if kinds.is_empty() {
            let mut names: Vec<&str> = all().map(|own| own.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let near = nearest(layer, names.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
            let message = format!("No stack has a layer '{layer}'");
            let help = format!("{near}There are: {}", names.join(", "));
            return Some(Diagnostic::at(self.places.at("layer"), message, help));
        }
        let mut known: Vec<&str> = Vec::new();
        for kind in kinds {
            let lines = kind.charts.iter().flat_map(|chart| chart.series);
            let lines = lines.filter(|line| line.field != "*").map(|line| line.label);
            for name in kind.metrics.iter().map(|metric| metric.id).chain(lines) {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        let strange = self.facts.series.iter().find(|name| !known.contains(&name.as_str()))?;
        let near = nearest(strange, known.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let message = format!("'{layer}' has no series '{strange}'");
        let help = format!("{near}There are: {}", known.join(", "));
        Some(Diagnostic::at(self.places.at("series"), message, help))
    }
}

/// What is wrong with the pictures: too many, or of what is not there.
pub(crate) fn check(
    pictures: &[Picture],
    stages: &[Stage],
    stacks: &[VariantStack],
    factors: &[Factor],
) -> Vec<Diagnostic> {
    let extra = pictures.get(MOST).map(|extra| {
        let message = format!("There are {} pictures; at most {MOST} are possible", pictures.len());
        let help = "what comes first has to be seen at once; the page has all other charts below";
        Diagnostic::at(extra.at(), message, help)
    });
    let wrong = pictures.iter().filter_map(|picture| picture.check(stages, stacks, factors));
    extra.into_iter().chain(wrong).collect()
}

fn show(word: &Spanned<String>) -> Result<Show, Diagnostic> {
    let found = Show::ALL.into_iter().find(|show| show.word() == word.get_ref());
    found.ok_or_else(|| {
        let near = nearest(word.get_ref(), Show::ALL.map(Show::word));
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let message = format!("No picture shows '{}'", word.get_ref());
        Diagnostic::at(word.span(), message, format!("{near}{}", SHOW.help(SHOW.name)))
    })
}

/// A list of at most so many.
fn list<T>(written: Option<Spanned<Vec<T>>>, what: &str) -> Result<Vec<T>, Diagnostic> {
    let Some(written) = written else { return Ok(Vec::new()) };
    let length = written.get_ref().len();
    if (1..=MOST_SERIES).contains(&length) {
        return Ok(written.into_inner());
    }
    let message = format!("{length} {what} are drawn into one picture");
    Err(Diagnostic::at(written.span(), message, format!("name 1 to {MOST_SERIES}")))
}

fn percentiles(written: Option<Spanned<Vec<f64>>>, show: Show) -> Result<Vec<f64>, Diagnostic> {
    if let Some(written) = &written {
        let inside = |percent: &&f64| **percent > 0.0 && **percent < 100.0;
        if let Some(wrong) = written.get_ref().iter().find(|percent| !inside(percent)) {
            let message = format!("There is no percentile {wrong}");
            return Err(Diagnostic::at(
                written.span(),
                message,
                PERCENTILES.help(PERCENTILES.name),
            ));
        }
    }
    let mut own = list(written, "percentiles")?;
    own.sort_by(f64::total_cmp);
    own.dedup();
    Ok(match show {
        Show::LatencyBars if own.is_empty() => BARS.to_vec(),
        Show::LatencyOverTime if own.is_empty() => vec![OVER_TIME],
        _ => own,
    })
}
