//! All mistakes of a file at once. The reader of a table stops at its first mistake, and checks of the whole come after those of its
//! parts: so what is wrong is mended in a copy of the text, and the copy is read again. First those mistakes are told and mended that
//! are ones whatever the rest says; those that rest on names, or on the rest of the file, only if they are left then. Where something
//! was left out, or an example stands for what is meant, nothing is told that may be so for that reason.

mod copy;

use std::ops::Range;

use crate::ExperimentError;
use crate::compose::PlanOptions;
use crate::diagnostic::{Diagnostic, Mend, RestsOn};
use crate::plan::Plan;
use crate::whole;
use copy::{Copy, Done, overlap};

/// Times that a file is read again; each mends at least one mistake.
const ROUNDS: usize = 100;
/// Keys by which other parts of a file name what has them.
const NAMES: [&str; 6] = ["name", "ops", "levels", "key", "do", "layer"];
/// Keys of devices and layers on which rests what all others find.
const BEARING: [&str; 4] = ["on", "size", "file", "name"];
/// Tables whose entries other parts name.
const NAMED: [&str; 7] = ["devices", "corpora", "trees", "stack", "variant", "factor", "stage"];

/// Reads, checks and plans the experiment in `text`; `file` names it in errors. All that is wrong is told together, that at other scales
/// too, but what may be right once something else is.
pub fn compose(file: &str, text: &str, choices: &PlanOptions) -> Result<Plan, ExperimentError> {
    let mut error = match whole::compose(file, text, choices) {
        Ok(plan) => return Ok(plan),
        Err(error) => error,
    };
    let mut reading = Reading::of(text);
    let mut found = std::mem::take(&mut error.mistakes);
    for _ in 0..ROUNDS {
        if !reading.go_on(&found) {
            break;
        }
        let Err(again) = whole::compose(file, &reading.copy.read(), choices) else { break };
        found = again.mistakes.into_iter().map(|mistake| reading.copy.placed(mistake)).collect();
    }
    error.mistakes = reading.told;
    error.mistakes.sort_by_key(|mistake| mistake.span.as_ref().map(|span| span.start));
    Err(error)
}

/// The mistakes found so far, and the text as it is read on.
struct Reading<'t> {
    copy: Copy<'t>,
    told: Vec<Diagnostic>,
    /// Places of keys that are gone, or have another name.
    strange: Vec<Range<usize>>,
    doubts: Vec<Doubt>,
}

/// Something of which nobody knows what it should be.
struct Doubt {
    /// The place of all that belongs to it.
    at: Range<usize>,
    /// The words that are about it; `None`: anything may be.
    words: Option<String>,
    /// It is of a device or a layer.
    of_stack: bool,
}

impl<'t> Reading<'t> {
    fn of(text: &'t str) -> Self {
        let (told, strange, doubts) = (Vec::new(), Vec::new(), Vec::new());
        Self { copy: Copy::of(text), told, strange, doubts }
    }

    /// Tells and mends those of the mistakes whose turn it is; tells whether any could be mended.
    fn go_on(&mut self, found: &[Diagnostic]) -> bool {
        (0..4).any(|turn| {
            let now: Vec<_> = found.iter().filter(|mistake| turn_of(mistake) == turn).collect();
            let sure = now.iter().filter(|mistake| self.is_sure(mistake));
            let mut sure: Vec<Diagnostic> = sure.map(|&mistake| mistake.clone()).collect();
            // Each scale finds those of the whole file.
            sure.dedup();
            self.told.extend(sure);
            let mut mended: Vec<Range<usize>> = Vec::new();
            for mistake in now {
                let Some(span) = mistake.span.clone() else { continue };
                // Two at one place are mended one after the other.
                if !mended.iter().any(|other| overlap(other, &span))
                    && let Some((at, done)) = self.copy.mend(mistake)
                {
                    self.doubt(mistake, at, done);
                    mended.push(span);
                }
            }
            !mended.is_empty()
        })
    }

    /// Tells whether a mistake is a new one, and none that comes of what was done to others.
    fn is_sure(&self, mistake: &Diagnostic) -> bool {
        if self.told.contains(mistake) {
            return false;
        }
        let Some(span) = &mistake.span else {
            return self.doubts.is_empty() || is_alone(mistake);
        };
        let told = self.told.iter().filter_map(|told| told.span.as_ref());
        if told.into_iter().any(|told| overlap(told, span)) || self.lacks_strange(span) {
            return false;
        }
        is_alone(mistake) || self.doubts.iter().all(|doubt| doubt.spares(mistake, span))
    }

    /// Tells whether a whole table is at fault of which a key is strange: that may be the one that it lacks.
    fn lacks_strange(&self, span: &Range<usize>) -> bool {
        let table = self.copy.holding(span).next();
        if span.is_empty() {
            let of_file = |key: &Range<usize>| !self.copy.holding(key).any(|part| part.is_table);
            return self.strange.iter().any(of_file);
        }
        let table = table.filter(|_| {
            self.copy.text.get(span.clone()).is_some_and(|at| at.starts_with(['[', '{']))
        });
        table.is_some_and(|table| self.strange.iter().any(|key| overlap(key, &table.at)))
    }

    /// Takes back that a table lacks a key: the strange one at `key` may be meant.
    fn may_lack(&mut self, key: &Range<usize>) {
        let copy = &self.copy;
        self.told.retain(|told| {
            let adds = matches!(told.instead, Some(Mend::Add(_)));
            let table = told.span.as_ref().filter(|_| adds).and_then(|at| copy.holding(at).next());
            !table.is_some_and(|table| overlap(&table.at, key))
        });
    }

    /// Notes what nobody knows since `mistake` was mended so.
    fn doubt(&mut self, mistake: &Diagnostic, at: Range<usize>, done: Done) {
        let Some(part) = self.copy.holding(&at).next() else { return };
        let key = match &mistake.instead {
            Some(Mend::Add(line)) => line.split(' ').next().unwrap_or_default(),
            _ => self.copy.key_of(part),
        };
        let entry = self.copy.holding(&at).filter(|part| part.is_table).last();
        let entry = entry.map_or(at.clone(), |entry| entry.at.clone());
        let header = self.copy.text[entry.clone()].lines().next().unwrap_or_default();
        let is_of = |tables: &[&str]| tables.iter().any(|table| header.contains(table));
        let of_stack = is_of(&["devices", "stack"]);
        let (at, words) = match done {
            Done::Value => return,
            Done::Key => {
                if mistake.instead == Some(Mend::Without) {
                    self.may_lack(&at);
                }
                return self.strange.push(at);
            }
            Done::Example if NAMES.contains(&key) && is_of(&NAMED) => (0..0, None),
            Done::Example if part.is_table => (entry, Some(String::new())),
            Done::Example if key.ends_with("size") => (0..0, Some(String::new())),
            Done::Example => return,
            Done::LeftOut => {
                // Whatever comes after stands on it.
                let bears = part.is_table || BEARING.contains(&key);
                let bears = bears && of_stack;
                let is_known = !part.is_table && self.strange.iter().any(|key| overlap(key, &at));
                self.strange.push(at.clone());
                if is_known {
                    return;
                }
                // It may be meant to be any of those that there are.
                let known = mistake.help.as_deref().and_then(|help| help.split_once(": "));
                let known = known.map_or("", |(_, known)| known);
                let words = format!("{header} {} {known}", &self.copy.text[at]);
                (entry, (!bears).then_some(words))
            }
        };
        self.doubts.push(Doubt { at, words, of_stack });
    }
}

/// Tells whether a mistake is one whatever the rest says, and is mended for sure.
fn is_alone(mistake: &Diagnostic) -> bool {
    mistake.instead.is_some() && mistake.rests_on == RestsOn::Nothing
}

/// Returns in which of four turns a mistake is told and mended.
fn turn_of(mistake: &Diagnostic) -> u8 {
    let rests = mistake.rests_on != RestsOn::Nothing;
    u8::from(rests) * 2 + u8::from(mistake.instead.is_none())
}

impl Doubt {
    /// Tells whether a mistake at `span` is one whatever is meant here.
    fn spares(&self, mistake: &Diagnostic, span: &Range<usize>) -> bool {
        let apart = !overlap(&self.at, span);
        if apart && self.of_stack && matches!(mistake.rests_on, RestsOn::Stages(_)) {
            return true;
        }
        let Some(words) = self.words.as_ref().filter(|_| apart) else { return false };
        let known: Vec<&str> = split(words).collect();
        match &mistake.rests_on {
            RestsOn::Nothing => true,
            RestsOn::Name(name) | RestsOn::Stages(name) => {
                // Names of several words are put together of others.
                let is_one = |word: &&str| word.len() > 2 || word.len() == name.len();
                let mut own = split(name).filter(is_one).peekable();
                own.peek().is_some() && !own.any(|word| known.contains(&word))
            }
            RestsOn::File => false,
        }
    }
}

/// The words of a text: names, and parts of names with blanks or dots.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.split(move |c| !word(c)).filter(|word| !word.is_empty())
}
