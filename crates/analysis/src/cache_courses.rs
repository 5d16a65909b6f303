//! Course of a cache within a run: cold, warm, full of junk or stalled, and from when to when.

use std::collections::BTreeMap;

use layers::{FigureFacts, Kind, Window};
use results::model::{Row, SampleRow};
use results::read::{CellData, ResultSet};

/// Length of a moment: shorter ones have too few I/Os, longer ones hide what happens between two periods of smq.
const MOMENT_NS: u64 = 5_000_000_000;
/// Readings less than this apart belong to one round.
const ROUND_NS: u64 = 500_000_000;
/// Margin, percentage points: a cache whose share of hits is within this of the best one hits as much as it can.
const BEST_HITS_MARGIN: f64 = 2.0;
/// Percent of a cache in use from which it counts as full.
const FULL: f64 = 99.0;
/// Shortest time without any movement, while hits are few, that counts as a stall.
const STALL_S: f64 = 10.0;
/// Fewest moments of a course.
const MIN_MOMENTS: usize = 3;

/// The condition of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheWord {
    /// Not full, and it hits less than it can.
    Cold,
    /// It hits as much as it can, and the share of hits no longer changes.
    Warm,
    /// Full, and it hits less than it can: part of its content is not what is read.
    Junk,
    /// It hits less than it can, and nothing comes in or goes out.
    Stalled,
}

impl CacheWord {
    /// The word in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Junk => "junk",
            Self::Stalled => "stalled",
        }
    }
}

/// Figures of a cache over a few seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheMoment {
    /// Its start, seconds since the stage began.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Share of hits, percent.
    pub hits: f64,
    /// Share of the cache that holds blocks at the end of the moment, percent; `None` where it is not known.
    pub used: Option<f64>,
    /// The amount that moved in and out; `None` where it is not known.
    pub moved: Option<f64>,
}

/// A period in which a cache is in one condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheSpell {
    /// The condition.
    pub word: CacheWord,
    /// Its start, seconds since the stage began.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// The course of one cache in the first whole run of a measured stage.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheCourse {
    /// Index of the variant.
    pub variant: usize,
    /// Name of the layer.
    pub layer: String,
    /// Name of the stage.
    pub stage: String,
    /// The metric of its hits.
    pub metric: &'static str,
    /// The best share of hits of a cache of this name in any moment of any run of the stage, percent: what it can reach.
    pub best: f64,
    /// The spells, one after the other.
    pub spells: Vec<CacheSpell>,
}

/// Returns the periods in which a cache was in one condition, if the share of hits it can reach is `best` percent.
pub fn spells(moments: &[CacheMoment], best: f64) -> Vec<CacheSpell> {
    let low = |moment: &CacheMoment| moment.hits < best - BEST_HITS_MARGIN;
    let still = |moment: &CacheMoment| low(moment) && moment.moved == Some(0.0);
    let word = |at: usize| {
        let now = &moments[at];
        if stalled(moments, at, still) {
            return CacheWord::Stalled;
        }
        // While the share of hits still changes, the cache is not warm yet.
        let before = at.checked_sub(1).map_or(now, |before| &moments[before]);
        let flat = (now.hits - before.hits).abs() < BEST_HITS_MARGIN;
        match now.used {
            _ if !low(now) && flat => CacheWord::Warm,
            Some(used) if used >= FULL => CacheWord::Junk,
            _ => CacheWord::Cold,
        }
    };
    let mut spells: Vec<CacheSpell> = Vec::new();
    for (at, moment) in moments.iter().enumerate() {
        let word = word(at);
        match spells.last_mut() {
            Some(last) if last.word == word => last.to_s = moment.to_s,
            _ => spells.push(CacheSpell { word, from_s: moment.from_s, to_s: moment.to_s }),
        }
    }
    spells
}

/// Tells whether the moment belongs to a row of `still` moments that together are long enough for a stall.
fn stalled(moments: &[CacheMoment], at: usize, still: impl Fn(&CacheMoment) -> bool) -> bool {
    if !still(&moments[at]) {
        return false;
    }
    let first = moments[..at].iter().rposition(|moment| !still(moment)).map_or(0, |no| no + 1);
    let after = moments[at..].iter().position(|moment| !still(moment));
    let last = after.map_or(moments.len(), |no| at + no) - 1;
    moments[last].to_s - moments[first].from_s >= STALL_S
}

/// Returns the courses of all caches of a result, each judged by the best share of hits that any run of its stage reached.
pub(crate) fn courses(set: &ResultSet) -> Vec<CacheCourse> {
    let mut best: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let mut found: Vec<(CacheCourse, Vec<CacheMoment>)> = Vec::new();
    for (index, variant) in set.manifest.plan.variants.iter().enumerate() {
        for facts in &variant.stack {
            let Some(kind) = layers::kind(&facts.layer) else { continue };
            let Some(figures) = kind.cache else { continue };
            for (place, cell) in set.cells_of(&variant.name).filter(|c| c.done()).enumerate() {
                for (stage, span) in measured(cell) {
                    let moments = moments(cell, kind, &facts.name, span);
                    let most = moments.iter().map(|moment| moment.hits).fold(0.0, f64::max);
                    let known = best.entry((facts.name.as_str(), stage)).or_default();
                    *known = known.max(most);
                    if place == 0 && moments.len() >= MIN_MOMENTS {
                        let course = CacheCourse {
                            variant: index,
                            layer: facts.name.clone(),
                            stage: stage.to_owned(),
                            metric: figures.hits,
                            best: 0.0,
                            spells: Vec::new(),
                        };
                        found.push((course, moments));
                    }
                }
            }
        }
    }
    let held = |(course, moments): (CacheCourse, Vec<CacheMoment>)| {
        let best = best.get(&(&*course.layer, &*course.stage)).copied().unwrap_or_default();
        CacheCourse { best, spells: spells(&moments, best), ..course }
    };
    found.into_iter().map(held).collect()
}

/// The measured stages of a cell with their starts and ends, nanoseconds since the run's epoch.
fn measured(cell: &CellData) -> Vec<(&str, (u64, u64))> {
    let mut spans: Vec<(usize, &str, u64)> = Vec::new();
    let mut whole = Vec::new();
    for row in &cell.rows {
        let Row::Stage(edge) = row else { continue };
        if edge.measured && !edge.ended {
            spans.push((edge.stage, &edge.name, edge.at_ns));
        } else if let Some((_, name, start)) = spans.iter().find(|(at, ..)| *at == edge.stage) {
            whole.push((*name, (*start, edge.at_ns)));
        }
    }
    whole
}

/// Returns the moments of a stage, from the samples of the layer; moments in which nothing reached the cache are left out.
fn moments(
    cell: &CellData,
    kind: &Kind,
    layer: &str,
    (start, end): (u64, u64),
) -> Vec<CacheMoment> {
    let Some(ids) = kind.cache else { return Vec::new() };
    let is_of_layer = |row: &SampleRow| {
        row.source.strip_prefix(layer).is_some_and(|rest| rest.starts_with('.'))
            && row.error.is_none()
            && (start..=end).contains(&row.at_ns)
    };
    let samples = cell.rows.iter().filter_map(|row| match row {
        Row::Sample(sample) if is_of_layer(sample) => Some(sample),
        _ => None,
    });
    let mut moments = Vec::new();
    let mut rounds = rounds(samples).into_iter();
    let Some((mut from_ns, mut from)) = rounds.next() else { return moments };
    for (to_ns, to) in rounds {
        if to_ns - from_ns < MOMENT_NS {
            continue;
        }
        let window = Window::of_rows(&from, &to);
        let facts = FigureFacts { layer, window: &window, achieved: None, ios: None };
        let figures = (kind.figures)(&facts);
        let figure = |id: &str| figures.get(id).copied().flatten();
        let seconds = |at: u64| (at - start) as f64 / 1e9;
        if let Some(hits) = figure(ids.hits) {
            moments.push(CacheMoment {
                from_s: seconds(from_ns),
                to_s: seconds(to_ns),
                hits,
                used: figure(ids.used),
                moved: ids.moves.iter().map(|id| figure(id)).sum(),
            });
        }
        (from_ns, from) = (to_ns, to);
    }
    moments
}

/// Returns for each round of readings when it began, and the latest reading of every source at its end.
fn rounds<'a>(samples: impl Iterator<Item = &'a SampleRow>) -> Vec<(u64, Vec<&'a SampleRow>)> {
    let mut latest: BTreeMap<&str, &SampleRow> = BTreeMap::new();
    let mut rounds: Vec<(u64, Vec<&SampleRow>)> = Vec::new();
    for row in samples {
        latest.insert(&row.source, row);
        let all = latest.values().copied().collect();
        match rounds.last_mut() {
            Some((began, readings)) if row.at_ns.saturating_sub(*began) < ROUND_NS => {
                *readings = all;
            }
            _ => rounds.push((row.at_ns, all)),
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of 5 s, each with hits, how full the cache is, and what moved.
    fn of(moments: &[(f64, f64, f64)]) -> Vec<CacheMoment> {
        let moment = |(at, (hits, used, moved)): (usize, &(f64, f64, f64))| CacheMoment {
            from_s: 5.0 * at as f64,
            to_s: 5.0 * at as f64 + 5.0,
            hits: *hits,
            used: Some(*used),
            moved: Some(*moved),
        };
        moments.iter().enumerate().map(moment).collect()
    }

    fn words(moments: &[CacheMoment], best: f64) -> Vec<(&'static str, f64, f64)> {
        let spells = spells(moments, best).into_iter();
        spells.map(|spell| (spell.word.word(), spell.from_s, spell.to_s)).collect()
    }

    #[test]
    fn a_cache_that_fills_is_cold_until_it_hits_what_it_can_and_goes_no_further() {
        let moments =
            of(&[(10.0, 5.0, 90.0), (60.0, 40.0, 50.0), (99.0, 80.0, 5.0), (99.5, 81.0, 0.0)]);
        assert_eq!(words(&moments, 99.5), [("cold", 0.0, 15.0), ("warm", 15.0, 20.0)]);
    }

    #[test]
    fn a_warm_cache_is_warm_from_the_start_also_where_blocks_still_come_and_go() {
        let moments = of(&[(80.0, 100.0, 9.0), (79.0, 100.0, 9.0), (80.5, 100.0, 9.0)]);
        assert_eq!(words(&moments, 80.5), [("warm", 0.0, 15.0)]);
    }

    #[test]
    fn a_full_cache_that_hits_less_than_others_is_full_of_junk_and_stalled_while_nothing_moves() {
        let moments = of(&[
            (0.0, 100.0, 0.0),
            (40.0, 100.0, 300.0),
            (91.0, 100.0, 0.0),
            (91.0, 100.0, 0.0),
            (91.2, 100.0, 0.0),
            (99.0, 100.0, 200.0),
            (99.8, 100.0, 0.0),
        ]);
        let junk = [("junk", 0.0, 10.0), ("stalled", 10.0, 25.0), ("junk", 25.0, 30.0)];
        let warm = ("warm", 30.0, 35.0);
        assert_eq!(words(&moments, 99.8), [&junk[..], &[warm]].concat());
        let still = moments[3].hits;
        assert_eq!(words(&moments[2..5], still)[0].0, "warm", "nobody did better");
    }

    #[test]
    fn a_stall_takes_ten_seconds_and_what_nothing_is_known_of_does_not_stall() {
        let once = of(&[(50.0, 100.0, 9.0), (50.0, 100.0, 0.0), (50.0, 100.0, 9.0)]);
        assert_eq!(words(&once, 99.0), [("junk", 0.0, 15.0)]);
        let unknown = |moment| CacheMoment { moved: None, used: None, ..moment };
        let unknown: Vec<_> = of(&[(50.0, 0.0, 0.0); 3]).into_iter().map(unknown).collect();
        assert_eq!(words(&unknown, 99.0), [("cold", 0.0, 15.0)]);
    }
}
