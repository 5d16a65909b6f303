//! `[[picture]]`: what the first screen of the page draws.

mod check;

pub(crate) use check::check;

use results::model::{PictureFacts, Show};
use toml::Spanned;
use units::{Key, key};

use crate::written::diagnostic::{Diagnostic, Mend, nearest};
use crate::written::document::{Places, Table};
use crate::written::subject::Subject;

const SHOW: Key = key(
    "show",
    "iops over time, throughput over time, latency over time, latency bars, series, curve or comparison",
    "\"iops over time\"",
);
const METRIC: Key = key("metric", "a metric of docs/json.md", "\"iops\"");
const STAGE: Key = key("stage", "the name of a measured stage", "\"warm\"");
const OPERATION: Key = key("operation", "an operation of a measured stage", "\"randread\"");
const LAYER: Key = key("layer", "the name of a layer of a stack", "\"cache\"");
const SERIES: Key =
    key("series", "metrics of the layer, or lines of its charts", "[\"hit_percent\"]");
const PERCENTILES: Key =
    key("percentiles", "numbers from above 0 to below 100", "[50, 90, 99, 99.9]");
const BY: Key = key("by", "the name of a factor or a swept key", "\"depth\"");

/// Most pictures of an experiment, most series and percentiles of one.
const MOST: usize = 6;
const MOST_SERIES: usize = 8;
/// Default percentiles of bars, and of lines over time.
const BARS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];
const OVER_TIME: f64 = 99.0;
/// A curve needs this many levels.
const LEVELS: usize = 3;

/// `[[picture]]` as written.
pub(crate) struct Picture {
    facts: PictureFacts,
    /// Subject of a curve or of bars.
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
        let measured = subject.clone();
        let facts = PictureFacts {
            show,
            stage: text(&mut table, &STAGE)?.or(measured.as_ref().and_then(|s| s.stage.clone())),
            operation: text(&mut table, &OPERATION)?
                .or(measured.as_ref().and_then(|s| s.operation.clone())),
            layer: text(&mut table, &LAYER)?.or(measured.as_ref().and_then(|s| s.layer.clone())),
            series: list(table.take::<Vec<String>>(&SERIES)?, "series")?,
            percentiles: percentiles(table.take::<Vec<f64>>(&PERCENTILES)?, show)?,
            metric: text(&mut table, &METRIC)?.or(measured.map(|s| s.metric)),
            by: text(&mut table, &BY)?,
        };
        table.finish()?;
        let picture = Self { facts, subject, places };
        picture.needless().map_or(Ok(picture), Err)
    }

    /// Returns it in the form of results.
    pub(crate) fn facts(&self) -> PictureFacts {
        self.facts.clone()
    }

    /// Name of the layer whose figures it shows.
    pub(crate) fn layer(&self) -> Option<&str> {
        self.facts.layer.as_deref()
    }

    /// Returns where it stands.
    fn at(&self) -> std::ops::Range<usize> {
        self.places.table()
    }

    /// Returns the mistake for a key that this kind of picture does not use, or that it lacks.
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
            let message = format!("'{}' does not take '{key}'", show.word());
            let takes: Vec<_> =
                written.iter().filter(|(.., taken)| *taken).map(|(key, ..)| *key).collect();
            let help = format!("leave it out; in addition to stage it takes: {}", takes.join(", "));
            return Some(Diagnostic::at(self.places.at(key), message, help).fix_by_removing());
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
}

fn show(word: &Spanned<String>) -> Result<Show, Diagnostic> {
    let found = Show::ALL.into_iter().find(|show| show.word() == word.get_ref());
    found.ok_or_else(|| {
        let near = nearest(word.get_ref(), Show::ALL.map(Show::word));
        let meant = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let message = format!("No picture shows '{}'", word.get_ref());
        let help = format!("{meant}{}", SHOW.help(SHOW.name));
        let instead = near.map(|near| Mend::With(format!("{near:?}").into()));
        Diagnostic { instead, ..Diagnostic::at(word.span(), message, help) }
    })
}

/// Reads a list, and refuses one that is empty or too long.
fn list<T>(written: Option<Spanned<Vec<T>>>, what: &str) -> Result<Vec<T>, Diagnostic> {
    let Some(written) = written else { return Ok(Vec::new()) };
    let length = written.get_ref().len();
    if (1..=MOST_SERIES).contains(&length) {
        return Ok(written.into_inner());
    }
    let message = format!("One picture cannot draw {length} {what}");
    Err(Diagnostic::at(written.span(), message, format!("name 1 to {MOST_SERIES}")))
}

fn percentiles(written: Option<Spanned<Vec<f64>>>, show: Show) -> Result<Vec<f64>, Diagnostic> {
    if let Some(written) = &written {
        let inside = |percent: &&f64| **percent > 0.0 && **percent < 100.0;
        if let Some(wrong) = written.get_ref().iter().find(|percent| !inside(percent)) {
            let message = format!("There is no percentile {wrong}");
            return Err(Diagnostic::of_key(written.span(), message, &PERCENTILES));
        }
    }
    let at = written.as_ref().map(Spanned::span);
    let mut percents = list(written, "percentiles")?;
    percents.sort_by(f64::total_cmp);
    if let (Some(twice), Some(at)) = (percents.windows(2).find(|pair| pair[0] == pair[1]), at) {
        let message = format!("The percentile {} is named twice", twice[0]);
        return Err(Diagnostic::at(at, message, "leave one out"));
    }
    Ok(match show {
        Show::LatencyBars if percents.is_empty() => BARS.to_vec(),
        Show::LatencyOverTime if percents.is_empty() => vec![OVER_TIME],
        _ => percents,
    })
}
