//! The default twin: it answers the commands that the layer itself plans, and it answers reads with text that a real layer printed once
//! (`recorded/` in the layer's folder). So a layer needs no model of itself, and its parsers are tested with recorded text.

use std::collections::BTreeMap;

use results::model::AskedContent;

use crate::argv::{is_planned, show_argv};
use crate::layer::RaisePlan;
use crate::probe::Source;
use crate::step::{Action, Condition, Step};
use crate::twin::{Twin, TwinAnswer, Writes};

/// Separator of two recorded texts of one source in a file.
const NEXT: &str = "\n---\n";

/// A layer that answers as planned and as recorded.
pub(crate) struct Recorded {
    /// Output of a real layer, by the parser that reads it.
    texts: &'static [(&'static str, &'static str)],
    raised: RaisePlan,
    /// Positions of the steps that began and were not undone.
    made: Vec<usize>,
    /// Number of times that each parser's text was read.
    reads: BTreeMap<&'static str, usize>,
    /// Tells whether something worked on the layer.
    worked_on: bool,
}

impl Recorded {
    pub(crate) fn new(texts: &'static [(&'static str, &'static str)], raised: RaisePlan) -> Self {
        Self { texts, raised, made: Vec::new(), reads: BTreeMap::new(), worked_on: false }
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        let raised = &self.raised;
        raised.up.iter().chain(&raised.ready).chain(&raised.settle)
    }

    /// Returns the parser of a source that a probe or a step plans to read. Once something has worked on the layer, only names are read
    /// (`Action::Bind`): the rest of the record no longer holds.
    fn parser_of(&self, source: &Source) -> Option<&str> {
        let planned = |own: &Source| is_planned(&own.show(), &source.show());
        let probes = self.raised.probes.iter().filter(|_| !self.worked_on);
        let of_probes = probes.map(|p| (&p.source, p.parser.as_str()));
        let of_steps = self.steps().filter_map(|step| match &step.action {
            Action::Wait { source, parser, .. } if !self.worked_on => {
                Some((source, parser.as_str()))
            }
            Action::Bind { source, parser, .. } => Some((source, parser.as_str())),
            _ => None,
        });
        of_probes.chain(of_steps).find(|(own, _)| planned(own)).map(|(_, parser)| parser)
    }
}

impl Twin for Recorded {
    fn command(&mut self, argv: &[String]) -> TwinAnswer {
        let command = show_argv(argv);
        let is = |action: &Action| {
            matches!(action, Action::Command { .. }) && is_planned(&action.show(), &command)
        };
        if let Some(at) = self.raised.up.iter().position(|step| is(&step.action)) {
            // A wipe undoes content of a device, not an object that could be left over.
            if self.raised.up[at].undo.iter().any(|a| matches!(a, Action::Command { .. })) {
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

    /// Grants what the layer itself waits for, just as its commands succeed: the recorded text comes from other settings.
    fn grants(&self, source: &Source, until: &Condition) -> bool {
        let wait = source.show();
        self.steps().any(|step| match &step.action {
            Action::Wait { source, until: own, .. } => {
                own == until && is_planned(&source.show(), &wait)
            }
            _ => false,
        })
    }

    fn wrote(&mut self, _: &Writes, _: &AskedContent) {
        self.worked_on = true;
    }

    fn lost_track(&mut self) {
        self.worked_on = true;
    }

    fn leftovers(&self) -> Vec<String> {
        let of =
            |at: &usize| self.raised.up.get(*at).map(|step| format!("what '{}' made", step.about));
        self.made.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, kinds, on_device, parse};

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
                    Action::Wait { source, until, .. } => assert!(twin.grants(source, until)),
                    _ => {}
                }
            }
            let command = |action: &Action| matches!(action, Action::Command { .. });
            let makes = |step: &Step| command(&step.action) && step.undo.iter().any(command);
            assert_eq!(!twin.leftovers().is_empty(), raised.up.iter().any(makes), "{}", kind.name);
            for probe in &raised.probes {
                parse(&probe.parser, &twin.read(&probe.source).unwrap()).unwrap();
            }
            twin.wrote(&Writes::default(), &AskedContent::default());
            let message = raised.probes.iter().find(|probe| twin.read(&probe.source).is_some());
            assert_eq!(message, None, "{}: recorded before anything worked on it", kind.name);
            for action in raised.up.iter().rev().flat_map(|step| &step.undo) {
                if let Action::Command { argv, .. } = action {
                    assert_eq!(twin.command(argv), TwinAnswer::ok(""));
                }
            }
            assert_eq!(twin.leftovers(), Vec::<String>::new(), "{}", kind.name);
        }
    }
}
