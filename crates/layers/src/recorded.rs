//! The default twin: it answers the commands that the layer itself plans, and reads with text that a real layer printed once
//! (`recorded/` in the layer's folder). So no layer owes a model of itself, and its parsers are tested by what was recorded.

use std::collections::BTreeMap;

use results::model::AskedContent;

use crate::argv::show_argv;
use crate::layer::Raised;
use crate::probe::Source;
use crate::step::{Action, Step};
use crate::twin::{Twin, TwinAnswer, Writes};

/// What stands between two recorded texts of one source in a file.
const NEXT: &str = "\n---\n";

/// A layer that answers as planned and as recorded.
pub(crate) struct Recorded {
    /// What a real layer printed, by the parser that reads it.
    texts: &'static [(&'static str, &'static str)],
    raised: Raised,
    /// Positions of the steps that began and were not undone.
    made: Vec<usize>,
    /// How often each parser's text was read.
    reads: BTreeMap<&'static str, usize>,
}

impl Recorded {
    pub(crate) fn new(texts: &'static [(&'static str, &'static str)], raised: Raised) -> Self {
        Self { texts, raised, made: Vec::new(), reads: BTreeMap::new() }
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        let raised = &self.raised;
        raised.up.iter().chain(&raised.ready).chain(&raised.settle)
    }

    /// The parser of the source that a probe or a step plans.
    fn parser_of(&self, source: &Source) -> Option<&str> {
        let planned = |own: &Source| matches(&own.show(), &source.show());
        let of_probes = self.raised.probes.iter().map(|p| (&p.source, p.parser.as_str()));
        let of_steps = self.steps().filter_map(|step| match &step.action {
            Action::Wait { source, parser, .. } | Action::Bind { source, parser, .. } => {
                Some((source, parser.as_str()))
            }
            _ => None,
        });
        of_probes.chain(of_steps).find(|(own, _)| planned(own)).map(|(_, parser)| parser)
    }
}

impl Twin for Recorded {
    fn command(&mut self, argv: &[String]) -> TwinAnswer {
        let said = show_argv(argv);
        let is = |action: &Action| {
            matches!(action, Action::Command { .. }) && matches(&action.show(), &said)
        };
        if let Some(at) = self.raised.up.iter().position(|step| is(&step.action)) {
            if !self.raised.up[at].undo.is_empty() {
                self.made.push(at);
            }
            return TwinAnswer::ok("");
        }
        let undoes = |step: &Step| step.undo.iter().any(is);
        if self.raised.up.iter().any(undoes) {
            let up = &self.raised.up;
            self.made.retain(|at| !up.get(*at).is_some_and(undoes));
            return TwinAnswer::ok("");
        }
        if self.steps().any(|step| is(&step.action)) {
            return TwinAnswer::ok("");
        }
        TwinAnswer::NotMine
    }

    fn read(&mut self, source: &Source) -> Option<String> {
        let parser = self.parser_of(source)?;
        let (id, text) = self.texts.iter().find(|(id, _)| *id == parser)?;
        let read = self.reads.entry(id).or_default();
        let texts: Vec<&str> = text.split(NEXT).collect();
        let now = texts.get(*read).or(texts.last()).map(|text| (*text).to_owned());
        *read += 1;
        now
    }

    fn wrote(&mut self, _: &Writes, _: &AskedContent) {}

    fn leftovers(&self) -> Vec<String> {
        let of =
            |at: &usize| self.raised.up.get(*at).map(|step| format!("what '{}' made", step.about));
        self.made.iter().filter_map(of).collect()
    }
}

/// Whether `text` is `pattern` with something in place of each placeholder in braces.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('{') else { return pattern == text };
    let Some((_, after)) = rest.split_once('}') else { return pattern == text };
    let Some(tail) = text.strip_prefix(before) else { return false };
    tail.char_indices().map(|(at, _)| at).chain([tail.len()]).any(|at| matches(after, &tail[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, kinds, on_device, parse};

    #[test]
    fn a_placeholder_stands_for_anything() {
        assert!(matches("pvcreate {device.data} x", "pvcreate /dev/vda x"));
        assert!(matches("{a}{b}", ""));
        assert!(!matches("pvcreate {device.data} x", "pvcreate /dev/vda y"));
        assert!(!matches("a", "ab"));
    }

    #[test]
    fn every_recorded_text_is_read_by_its_parser() {
        for (id, text) in kinds().iter().flat_map(|kind| kind.recorded) {
            for part in text.split(NEXT) {
                let parsed = parse(id, part).unwrap_or_else(|error| panic!("{id}: {error}"));
                assert!(!parsed.numbers.is_empty() || !parsed.texts.is_empty(), "{id}");
            }
        }
    }

    #[test]
    fn what_is_planned_is_answered_and_what_is_made_is_left_until_undone() {
        for kind in kinds().iter().filter(|kind| !kind.recorded.is_empty()) {
            let offer = on_device("/dev/sim", 7 << 30).remove("data").unwrap();
            let inputs = kind.inputs.iter().map(|i| (i.name.to_owned(), offer.clone())).collect();
            let at = Place { name: kind.name, run_tag: "00000001", inputs: &inputs };
            let layer = (kind.parse)(&toml::Table::new()).unwrap();
            let raised = layer.raise(&at).unwrap();
            let mut twin = Recorded::new(kind.recorded, raised.clone());
            for step in &raised.up {
                match &step.action {
                    Action::Command { argv, .. } => {
                        assert_eq!(twin.command(argv), TwinAnswer::ok(""));
                    }
                    Action::Bind { source, .. } => {
                        assert!(twin.read(source).is_some(), "{source:?}");
                    }
                    _ => {}
                }
            }
            let command = |action: &Action| matches!(action, Action::Command { .. });
            let makes = |step: &Step| command(&step.action) && !step.undo.is_empty();
            assert_eq!(!twin.leftovers().is_empty(), raised.up.iter().any(makes), "{}", kind.name);
            for probe in &raised.probes {
                parse(&probe.parser, &twin.read(&probe.source).unwrap()).unwrap();
            }
            for action in raised.up.iter().rev().flat_map(|step| &step.undo) {
                if let Action::Command { argv, .. } = action {
                    assert_eq!(twin.command(argv), TwinAnswer::ok(""));
                }
            }
            assert_eq!(twin.leftovers(), Vec::<String>::new(), "{}", kind.name);
        }
    }
}
