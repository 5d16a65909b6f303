//! The course of caches in sentences, and as marks in the charts of their hits.

use analysis::{Analysis, CacheCourse, CacheWord};
use units::show::significant;

use super::{Mark, StageStart, Variant};

/// The course of a cache in a measured stage of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRow {
    /// The course that the analysis found.
    pub course: CacheCourse,
    /// Name of the metric of its hits, as charts have it.
    pub metric: String,
    /// The course in a sentence, the variant's name first.
    pub text: String,
}

/// The courses of all caches.
pub fn caches(analysis: &Analysis, variants: &[Variant]) -> Vec<CacheRow> {
    let row = |course: &CacheCourse| {
        let name = variants.get(course.variant).map(|variant| variant.name.as_str());
        let metric = layers::metric(course.metric).map_or(course.metric, |metric| metric.name);
        CacheRow {
            text: format!("{}: the cache is {}.", name.unwrap_or_default(), text(course)),
            metric: metric.to_owned(),
            course: course.clone(),
        }
    };
    analysis.caches.iter().map(row).collect()
}

impl CacheRow {
    /// Tells whether a chart draws the hits that this is the course of.
    pub fn is_in(&self, chart: &str) -> bool {
        let of = |stage: &str| {
            let drawn = chart.strip_prefix("series-").and_then(|rest| rest.strip_suffix(stage));
            let drawn = drawn.and_then(|rest| rest.strip_prefix(&*self.course.layer));
            drawn.is_some_and(|names| names.split('-').any(|name| name == self.metric))
        };
        of(&self.course.stage) || of("all")
    }

    /// Returns the marks of what the cache becomes within the stage, in a chart that begins with it, or with the first measured one: `starts`
    /// are the later stages of the variant.
    pub fn marks<'a>(
        &'a self,
        chart: &str,
        starts: &[StageStart],
    ) -> impl Iterator<Item = Mark> + use<'a> {
        let start = starts.iter().find(|start| start.stage == self.course.stage);
        let before_s = match start {
            Some(start) if chart.ends_with("-all") => start.at_s,
            _ => 0.0,
        };
        self.course.spells.iter().skip(1).map(move |spell| Mark {
            variant: self.course.variant,
            x: before_s + spell.from_s,
            low: None,
            high: None,
            label: spell.word.word().to_owned(),
        })
    }
}

/// `full of junk until 40 s, stalled until 65 s, then warm`.
fn text(course: &CacheCourse) -> String {
    let words = |word| match word {
        CacheWord::Junk => "full of junk",
        other => other.word(),
    };
    let Some((last, others)) = course.spells.split_last() else { return String::new() };
    let mut all: Vec<String> = others
        .iter()
        .map(|spell| format!("{} until {} s", words(spell.word), significant(spell.to_s, 2)))
        .collect();
    let when = if others.is_empty() { " all the time" } else { " to the end" };
    all.push(format!("{}{when}", words(last.word)));
    all.join(", ")
}
