//! Checks that everything that pictures name exists and can be drawn that way.

use results::model::Show;

use super::{LEVELS, MOST, Picture};
use crate::stages::Stage;
use crate::written::diagnostic::{Diagnostic, nearest};
use crate::written::factors::Factor;
use crate::written::stacks::VariantStack;
use crate::written::subject::unrecorded;

impl Picture {
    /// Returns the mistake if something that the picture names does not exist, or cannot be drawn in this way.
    fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        factors: &[Factor],
    ) -> Vec<Diagnostic> {
        let wrong = match self.facts.show {
            Show::Curve | Show::Comparison => {
                let mut wrong: Vec<_> =
                    self.subject.iter().flat_map(|s| s.check(stages, stacks)).collect();
                wrong.extend(self.check_curve(stages, factors));
                return wrong;
            }
            Show::Series => self.check_layer(stages, stacks),
            _ => self.check_load(stages),
        };
        wrong.into_iter().collect()
    }

    fn check_curve(&self, stages: &[Stage], factors: &[Factor]) -> Option<Diagnostic> {
        if self.facts.show != Show::Curve {
            return None;
        }
        let of_factors = factors.iter().map(|f| (f.name.get_ref().clone(), f.levels.len()));
        let sweeps = stages.iter().map(|stage| stage.task.points());
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
        let help = format!("factors and swept keys: {there}; show = \"comparison\" draws bars");
        let (key, message) = match &self.facts.by {
            Some(by) if !names.contains(&by.as_str()) => {
                let message = format!("There is no factor and no swept key '{by}'");
                let mistake = Diagnostic::at(self.places.at("by"), message, help);
                return Some(mistake.near(by, names));
            }
            Some(by) => {
                ("by", format!("'{by}' has fewer than {LEVELS} values, too few for a curve"))
            }
            None => {
                ("show", format!("Nothing is varied at {LEVELS} values, and a curve needs as many"))
            }
        };
        Some(Diagnostic::at(self.places.at(key), message, help).if_rest_is_right())
    }

    /// Checks that the stage is a single load, which has interval rows and latencies; a sweep has several loads.
    fn check_load(&self, stages: &[Stage]) -> Option<Diagnostic> {
        let show = self.facts.show.word();
        let single = |stage: &&Stage| {
            let drives = !stage.task.operations().is_empty();
            stage.head.measured && drives && stage.task.points().is_empty()
        };
        let loads = || stages.iter().filter(single);
        let names: Vec<&str> = loads().map(|stage| stage.head.name.as_str()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let wrong = |key: &str, message: String, help: String| {
            Some(Diagnostic::at(self.places.at(key), message, help).if_rest_is_right())
        };
        if let Some(name) = &self.facts.stage
            && let Some(mistake) = self.unknown_stage(stages, name)
        {
            return Some(mistake);
        }
        let is_named =
            |stage: &&Stage| self.facts.stage.as_ref().is_none_or(|name| stage.head.name == *name);
        if !loads().any(|stage| is_named(&stage)) {
            let message = match &self.facts.stage {
                Some(name) => format!("Stage '{name}' is not a single load, so it has no {show}"),
                None => format!("No measured stage is a single load, so there is no {show}"),
            };
            let help = format!("measured loads: {there}; for a sweep: show = \"curve\"");
            return wrong(if self.facts.stage.is_some() { "stage" } else { "show" }, message, help);
        }
        let operation = self.facts.operation.as_ref()?;
        let done = loads().filter(is_named).flat_map(|stage| stage.task.operations());
        let mut done: Vec<String> = done.collect();
        done.sort();
        done.dedup();
        let message = format!("No such stage does '{operation}'");
        let known = done.iter().map(String::as_str);
        let at = self.places.at("operation");
        (!done.contains(operation)).then(|| Diagnostic::unknown(at, message, operation, known))
    }

    fn unknown_stage(&self, stages: &[Stage], name: &str) -> Option<Diagnostic> {
        let mut names: Vec<&str> =
            stages.iter().filter(|s| s.head.measured).map(|s| s.head.name.as_str()).collect();
        names.dedup();
        if names.contains(&name) {
            return None;
        }
        let message = format!("No measured stage is called '{name}'");
        Some(Diagnostic::unknown(self.places.at("stage"), message, name, names))
    }

    /// Checks that at least one variant has the layer, and that each series is a metric of it or a line of its charts.
    fn check_layer(&self, stages: &[Stage], stacks: &[VariantStack]) -> Option<Diagnostic> {
        if let Some(name) = &self.facts.stage
            && let Some(mistake) = self.unknown_stage(stages, name)
        {
            return Some(mistake);
        }
        let layer = self.facts.layer.as_ref()?;
        let all = || stacks.iter().flat_map(|stack| &stack.layers);
        let kinds: Vec<&'static layers::Kind> = all()
            .filter(|placed| placed.name == *layer)
            .filter_map(|placed| layers::kind(&placed.kind))
            .collect();
        let mut names: Vec<&str> = stacks.iter().flat_map(VariantStack::names).collect();
        names.sort_unstable();
        names.dedup();
        if !names.contains(&layer.as_str()) {
            let message = format!("No stack has a layer or device '{layer}'");
            return Some(Diagnostic::unknown(self.places.at("layer"), message, layer, names));
        }
        let counters: Vec<&str> =
            kinds.iter().flat_map(|kind| kind.counters()).map(|counter| counter.id).collect();
        let mut known: Vec<&str> = Vec::new();
        if kinds.is_empty() {
            known.extend(layers::machine::metrics().map(|metric| metric.id));
        }
        for kind in &kinds {
            let lines = kind.charts.iter().flat_map(|chart| chart.series);
            let lines = lines.filter(|line| line.field != "*").map(|line| line.label);
            for name in kind.metrics.iter().map(|metric| metric.id).chain(lines) {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        let is_known = |name: &&String| known.contains(&&***name) || counters.contains(&&***name);
        let strange = self.facts.series.iter().find(|name| !is_known(name));
        let Some(strange) = strange else {
            let series = self.facts.series.iter();
            return series
                .filter_map(|name| unrecorded(name, layer, stacks, &self.places))
                .map(|mistake| Diagnostic { span: Some(self.places.at("series")), ..mistake })
                .next();
        };
        let message = format!("'{layer}' has no series '{strange}'");
        let series = self.facts.series.iter().filter(is_known);
        let all = || known.iter().chain(&counters).copied();
        let near = nearest(strange, all());
        let others: Vec<String> = series.cloned().chain(near.map(str::to_owned)).collect();
        let meant = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let mut help = format!("{meant}There are: {}", known.join(", "));
        for kind in kinds.iter().filter(|kind| !kind.counters.is_empty()) {
            help.push_str(&format!(", and the counters that fathom layers {} lists", kind.name));
        }
        let mistake = Diagnostic::at(self.places.at("series"), message, help).near(strange, all());
        Some(mistake.with(format!("{others:?}")))
    }
}

/// Returns the mistakes in the pictures: too many of them, or of something that does not exist.
pub(crate) fn check(
    pictures: &[Picture],
    stages: &[Stage],
    stacks: &[VariantStack],
    factors: &[Factor],
) -> Vec<Diagnostic> {
    let extra = pictures.get(MOST).map(|extra| {
        let message = format!("There are {} pictures; at most {MOST} are possible", pictures.len());
        let help = "the first screen has no room for more; the page has all other charts below";
        Diagnostic::at(extra.at(), message, help)
    });
    let wrong = pictures.iter().flat_map(|picture| picture.check(stages, stacks, factors));
    let twice = pictures.iter().enumerate().filter_map(|(i, picture)| {
        let before = pictures[..i].iter().any(|other| other.facts == picture.facts);
        let message = format!("Two pictures draw the same '{}'", picture.facts.show.word());
        before.then(|| Diagnostic::at(picture.at(), message, "leave one of the two out"))
    });
    extra.into_iter().chain(wrong).chain(twice).collect()
}
