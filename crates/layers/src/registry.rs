//! The registry of layer kinds, one line each, with the queries over all of them: metrics, parsers by id (so that a plan can name them on another
//! machine), objects that outlive a run, facts of a machine. No other code needs to know a single kind.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use units::Metric;

use crate::kind::{Headline, Kind};
use crate::objects::{Fact, Objects};
use crate::parse::{ParseError, Parsed};
use crate::{ageing, commands, loads, machine, turn};

/// The kinds that Fathom brings.
const KINDS: &[Kind] = &[
    crate::linear::KIND,
    crate::vdo::KIND,
    crate::lvmcache::KIND,
    crate::writecache::KIND,
    crate::bcache::KIND,
    crate::thin::KIND,
    crate::crypt::KIND,
    crate::striped::KIND,
    crate::raid1::KIND,
    crate::delay::KIND,
    crate::flakey::KIND,
    crate::error::KIND,
    crate::xfs::KIND,
    crate::ext4::KIND,
    crate::btrfs::KIND,
];

static ALL: OnceLock<Vec<Kind>> = OnceLock::new();

/// Every kind of layer.
pub fn kinds() -> &'static [Kind] {
    ALL.get_or_init(|| KINDS.to_vec())
}

/// Registers additional kinds; returns false, and adds none, if [`kinds`] was called before.
pub fn register(more: impl IntoIterator<Item = Kind>) -> bool {
    ALL.set(KINDS.iter().copied().chain(more).collect()).is_ok()
}

/// The kind called `name`.
pub fn kind(name: &str) -> Option<&'static Kind> {
    kinds().iter().find(|kind| kind.name == name)
}

/// Tells whether any of these kinds deduplicates and packs what is written ([`Kind::reduces`]).
pub fn any_reduces<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    names.into_iter().filter_map(kind).any(|kind| kind.reduces)
}

/// Returns every metric of the catalogue once: those of loads, commands, devices and kinds of layers, without the layers' counters. Where kinds
/// share a metric id, as caches do, it means the same in each.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    let mut known = BTreeSet::new();
    every().filter(move |metric| known.insert(metric.id))
}

fn every() -> impl Iterator<Item = &'static Metric> {
    let of_loads = loads::METRICS.iter().chain(loads::OF_TREE_OPERATIONS).chain(loads::OF_TREES);
    let common = of_loads.chain(commands::METRICS).chain(ageing::METRICS);
    let of_devices = machine::metrics();
    let turns = turn::OF_LOADS.iter().chain(turn::OF_FILLED);
    common.chain(of_devices).chain(kinds().iter().flat_map(|kind| kind.metrics)).chain(turns)
}

/// Every counter of every kind of layer.
pub fn counters() -> impl Iterator<Item = &'static Metric> {
    kinds().iter().flat_map(Kind::counters)
}

/// Everything that can have a given metric.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricOwners {
    /// Each operation of a load, or the load.
    pub loads: bool,
    /// Each operation of a load of a tree.
    pub tree_operations: bool,
    /// A load of a tree as a whole.
    pub trees: bool,
    /// Commands.
    pub commands: bool,
    /// The ageing of a file system.
    pub ageings: bool,
    /// Block devices under a stack.
    pub devices: bool,
    /// Layers of these kinds.
    pub kinds: Vec<&'static str>,
}

/// Returns everything that can have the metric with this id; nothing if no such metric exists.
pub fn owners_of_metric(id: &str) -> MetricOwners {
    let among = |metrics: &[Metric]| metrics.iter().any(|metric| metric.id == id);
    let has = |kind: &&Kind| {
        let turns = among(turn::OF_FILLED) && turn::has_fill(kind);
        among(kind.metrics) || kind.counter(id).is_some() || turns
    };
    let kinds = kinds().iter().filter(has);
    MetricOwners {
        loads: among(loads::METRICS) || among(turn::OF_LOADS),
        tree_operations: among(loads::OF_TREE_OPERATIONS),
        trees: among(loads::OF_TREES),
        commands: among(commands::METRICS),
        ageings: among(ageing::METRICS),
        devices: machine::metrics().any(|metric| metric.id == id),
        kinds: kinds.map(|kind| kind.name).collect(),
    }
}

/// Tells whether a metric measures the purpose of a kind of layer.
pub fn is_headline(id: &str) -> bool {
    headlines().any(|headline| headline.metric == id)
}

/// Returns the words that follow the value of a headline metric in a sentence, if its kind of layer has any.
pub fn headline_words(id: &str) -> Option<&'static str> {
    headlines().find(|headline| headline.metric == id)?.words
}

/// Returns verb and object around the value of a headline metric (`saves` 75 % `of the space`), if its kind of layer has them.
pub fn headline_verb_and_object(id: &str) -> Option<(&'static str, &'static str)> {
    headlines().find(|headline| headline.metric == id)?.does
}

/// Returns a layer's thread with its work first: `looks for duplicates (hashQ0)`; the name alone if no kind knows it.
pub fn thread(name: &str) -> String {
    kinds().iter().find_map(|kind| kind.threads.with_work(name)).unwrap_or_else(|| name.to_owned())
}

fn headlines() -> impl Iterator<Item = Headline> {
    kinds().iter().filter_map(|kind| kind.headline)
}

/// The metric with this id: one of the catalogue, or a counter of a layer.
pub fn metric(id: &str) -> Option<&'static Metric> {
    every().chain(counters()).find(|metric| metric.id == id)
}

/// Reads `text` with the parser called `parser`.
///
/// # Errors
/// If there is no such parser, or it does not understand the text.
pub fn parse(parser: &str, text: &str) -> Result<Parsed, ParseError> {
    let of_layers = kinds().iter().flat_map(|kind| kind.parsers);
    let found = machine::PARSERS.iter().chain(of_layers).find(|known| known.id == parser);
    found.map_or_else(|| Err(ParseError::Unknown(parser.to_owned())), |known| (known.read)(text))
}

/// Returns the sorts of objects that all kinds of layers make, each once.
pub fn objects() -> Vec<&'static Objects> {
    unique(kinds().iter().flat_map(|kind| kind.objects))
}

/// The facts that all kinds of layers name, each once.
pub fn facts() -> Vec<&'static Fact> {
    unique(kinds().iter().flat_map(|kind| kind.facts))
}

fn unique<T: PartialEq>(all: impl Iterator<Item = &'static T>) -> Vec<&'static T> {
    let mut unique: Vec<&T> = Vec::new();
    for one in all {
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use results::model::LayerFigures;

    use super::*;
    use crate::{FigureFacts, Window};

    #[test]
    fn a_metric_that_several_kinds_have_is_listed_once() {
        let mut ids: Vec<_> = metrics().map(|metric| metric.id).collect();
        assert!(ids.contains(&"hit_percent"));
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }

    #[test]
    fn an_id_means_the_same_wherever_it_stands() {
        let metrics = || every().chain(counters());
        for one in metrics() {
            assert!(
                metrics().filter(|other| other.id == one.id).all(|other| other == one),
                "{}",
                one.id
            );
        }
        for kind in kinds() {
            let ids: BTreeSet<_> = kind.metrics.iter().map(|m| m.id).collect();
            assert_eq!(ids.len(), kind.metrics.len(), "{}", kind.name);
            assert!(kind.headline.is_none_or(|of| ids.contains(of.metric)), "{}", kind.name);
        }
    }

    #[test]
    fn every_setting_takes_its_own_example() {
        for kind in kinds() {
            for key in kind.keys {
                let text = format!("{} = {}", key.name, key.example());
                let table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
                assert!((kind.parse)(&table).is_ok(), "{}: {text}", kind.name);
            }
        }
    }

    #[test]
    fn every_kind_gives_exactly_the_figures_it_describes() {
        for kind in kinds() {
            let facts = FigureFacts {
                layer: kind.name,
                window: &Window::default(),
                achieved: None,
                ios: None,
            };
            let figures: LayerFigures = (kind.figures)(&facts);
            let described: BTreeSet<_> = kind.metrics.iter().map(|m| m.id.to_owned()).collect();
            assert_eq!(
                figures.keys().cloned().collect::<BTreeSet<_>>(),
                described,
                "{}",
                kind.name
            );
            assert!(figures.values().all(Option::is_none), "no samples, no figures: {}", kind.name);
        }
    }

    #[test]
    fn every_setting_stands_in_the_manual() {
        for kind in kinds() {
            for key in kind.keys {
                let item = format!("`{}`", key.name);
                assert!(kind.manual.contains(&item), "{}: {item}", kind.name);
            }
            for action in kind.actions {
                let item = format!("`{}`", action.name);
                assert!(kind.manual.contains(&item), "{}: {item}", kind.name);
            }
            for fills in kind.fills {
                let item = format!("`of = \"{}\"`", fills.of);
                assert!(kind.manual.contains(&item), "{}: {item}", kind.name);
                let percent =
                    |m: &&units::Metric| m.id == fills.metric && m.unit == units::Unit::Percent;
                assert!(kind.metrics.iter().any(|m| percent(&m)), "{}: {item}", kind.name);
            }
            for metric in kind.metrics {
                let item = format!("`{}`", metric.id);
                assert!(kind.manual.contains(&item), "{}: {item}", kind.name);
            }
        }
    }

    #[test]
    fn every_setting_refuses_what_is_not_of_its_type() {
        for (kind, key) in
            kinds().iter().flat_map(|kind| kind.keys.iter().map(move |key| (kind, key)))
        {
            let refused = |value: toml::Value| {
                let error =
                    (kind.parse)(&toml::Table::from_iter([(key.name.to_owned(), value)])).err();
                error.is_some_and(|error| error.message.contains("cannot be"))
            };
            let (switch, size) = (refused(true.into()), refused("1T".into()));
            let expected = match key.takes() {
                "switch" => (false, true),
                "number" => (true, true),
                _ => (true, size),
            };
            assert_eq!(
                (switch, size),
                expected,
                "{}.{} takes a {}",
                kind.name,
                key.name,
                key.takes()
            );
        }
    }

    #[test]
    fn every_kind_lives_on_its_defaults_and_shows_all_its_settings() {
        for kind in kinds() {
            let layer = (kind.parse)(&toml::Table::new()).unwrap();
            let shown: Vec<_> = layer.settings().into_keys().collect();
            let mut keys: Vec<_> = kind.keys.iter().map(|k| k.name.to_owned()).collect();
            keys.sort();
            assert_eq!(shown, keys, "{}", kind.name);
        }
    }

    #[test]
    fn what_several_kinds_declare_alike_is_there_once() {
        for all in kinds() {
            for sort in all.objects {
                let same = objects().into_iter().filter(|objects| *objects == sort);
                assert_eq!(same.count(), 1, "{}: {}", all.name, sort.called);
            }
            for fact in all.facts {
                let same = facts().into_iter().filter(|other| other.name == fact.name);
                assert_eq!(same.count(), 1, "{}: {}", all.name, fact.name);
            }
        }
    }

    #[test]
    fn every_sort_of_objects_is_removed_by_actions_about_the_one_that_is_named() {
        for objects in objects() {
            let removed = (objects.remove)("this-one");
            assert!(!removed.is_empty(), "{}", objects.called);
            assert!(removed.iter().all(|a| a.show().contains("this-one")), "{}", objects.called);
        }
    }
}
