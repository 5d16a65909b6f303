//! The course of caches in sentences, and as marks in the charts of their hits.

use analysis::{Analysis, CacheCourse, CacheWord};
use results::model::{CacheBound, PlanFacts};
use units::show::significant;
use units::{Nanos, Unit};

use super::{Mark, StageStart};

/// The course of a cache in a measured stage of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRow {
    /// The course that the analysis found.
    pub course: CacheCourse,
    /// Name of the metric of its hits, as in the ids of charts.
    pub metric: String,
    /// The most that it can hit, where that is known.
    pub bound: Option<CacheBound>,
    /// The course in a sentence, the variant's name first.
    pub text: String,
}

/// Returns the courses of all caches, with what the plan computed about them.
pub fn caches(plan: &PlanFacts, analysis: &Analysis) -> Vec<CacheRow> {
    let bound = |course: &CacheCourse| {
        let stages =
            plan.variants.get(course.variant).into_iter().flat_map(|variant| &variant.stages);
        let same_stage = stages.filter(|stage| stage.name == course.stage);
        same_stage.flat_map(|stage| &stage.caches).find(|bound| bound.layer == course.layer)
    };
    let row = |course: &CacheCourse| {
        let name = analysis.variants.get(course.variant).map(|variant| variant.name.as_str());
        let bound = bound(course);
        let metric = layers::metric(course.metric).map_or(course.metric, |metric| metric.name);
        CacheRow {
            text: format!(
                "{}: the cache is {}{}.",
                name.unwrap_or_default(),
                text(course),
                bound.map(most).unwrap_or_default()
            ),
            bound: bound.cloned(),
            metric: metric.to_owned(),
            course: course.clone(),
        }
    };
    analysis.caches.iter().map(row).collect()
}

impl CacheRow {
    /// Tells whether a chart shows the hits of this cache.
    pub fn is_in(&self, chart: &str) -> bool {
        let of = |stage: &str| {
            let drawn = chart.strip_prefix("series-").and_then(|rest| rest.strip_suffix(stage));
            let drawn =
                drawn.and_then(|rest| rest.strip_prefix(&*self.course.layer)?.strip_prefix('-'));
            drawn.is_some_and(|names| names.split('-').any(|name| name == self.metric))
        };
        of(&self.course.stage) || of("all")
    }

    /// Returns the marks at which the cache's condition changes within the stage, for a chart that begins with this stage or with the first
    /// measured one; `starts` are the later stages of the variant.
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

/// Describes the bound: `; of the reads at most 98 % can hit, after 7.3 s at the earliest`.
fn most(bound: &CacheBound) -> String {
    let earliest = bound
        .warm_up_ns
        .map_or_else(String::new, |ns| format!(", after {} at the earliest", Nanos(ns)));
    format!("; of the reads at most {} can hit{earliest}", Unit::Percent.show(bound.percent))
}

/// Describes a course: `full of junk until 40 s, stalled until 65 s, then warm`.
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

#[cfg(test)]
mod tests {
    use analysis::CacheSpell;

    use super::*;

    fn row(spells: &[(CacheWord, f64, f64)]) -> CacheRow {
        let spell =
            |&(word, from_s, to_s): &(CacheWord, f64, f64)| CacheSpell { word, from_s, to_s };
        let course = CacheCourse {
            variant: 2,
            layer: "cache".into(),
            stage: "first".into(),
            metric: "read_hit_percent",
            best: 99.0,
            spells: spells.iter().map(spell).collect(),
        };
        CacheRow { text: text(&course), metric: "read hits".into(), course, bound: None }
    }

    #[test]
    fn what_a_cache_becomes_is_marked_in_the_charts_of_its_hits_alone() {
        let row = row(&[
            (CacheWord::Junk, 0.0, 40.0),
            (CacheWord::Stalled, 40.0, 65.0),
            (CacheWord::Warm, 65.0, 90.0),
        ]);
        for (chart, is) in [
            ("series-cache-read hits-first", true),
            ("series-cache-cache used-read hits-all", true),
            ("series-cache-read hits-last", false),
            ("series-cache-dirty data-first", false),
            ("series-cache2-read hits-first", false),
            ("throughput-first-randread", false),
        ] {
            assert_eq!(row.is_in(chart), is, "{chart}");
        }
        assert_eq!(row.text, "full of junk until 40 s, stalled until 65 s, warm to the end");
        let start = StageStart { stage: "first".into(), measured: true, at_s: 100.0 };
        let marks = |chart: &str| {
            let marks = row.marks(chart, std::slice::from_ref(&start));
            marks.map(|mark| (mark.label, mark.x)).collect::<Vec<_>>()
        };
        let expected = [("stalled".to_owned(), 40.0), ("warm".to_owned(), 65.0)];
        assert_eq!(marks("series-cache-read hits-first"), expected);
        assert_eq!(marks("series-cache-read hits-all")[0].1, 140.0);
    }

    #[test]
    fn what_the_plan_knew_stands_behind_the_course() {
        let bound = CacheBound {
            layer: "cache".into(),
            percent: 97.5,
            chunk_bytes: 65_536,
            chunks: 500,
            warm_up_ns: Some(7_300_000_000),
            finest: None,
        };
        let text = most(&bound);
        assert!(text.contains("at most 97.5 % can hit, after 7.3 s at the earliest"), "{text}");
        assert!(!most(&CacheBound { warm_up_ns: None, ..bound }).contains("after"));
    }

    #[test]
    fn a_cache_that_is_one_thing_all_the_time_has_no_mark() {
        let row = row(&[(CacheWord::Warm, 0.0, 90.0)]);
        assert_eq!(row.text, "warm all the time");
        assert_eq!(row.marks("series-cache-read hits-first", &[]).count(), 0);
    }
}
