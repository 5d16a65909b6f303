//! All mistakes of a file at once. The reader of a table stops at its first mistake, and checks of the whole come after those of its
//! parts: so what is wrong is mended in a copy of the text, and the copy is read again. First those mistakes are told and mended that
//! are ones whatever the rest says; those that rest on names, or on the rest of the file, only if they are left then. Where something
//! was left out, or an example stands for what is meant, nothing is told that may be so for that reason.

mod copy;

use std::ops::Range;

use crate::ExperimentError;
use crate::checked::whole;
use crate::planned::compose::PlanOptions;
use crate::written::diagnostic::{Diagnostic, Mend, RestsOn, STAND_IN, nearest};
use copy::{Copy, Done, overlap};
use plan::Plan;

/// Times that a file is read again; each mends at least one mistake.
const ROUNDS: usize = 100;
/// Keys by which other parts of a file name what has them.
const NAMES: [&str; 6] = ["name", "ops", "levels", "key", "do", "layer"];
/// Keys of devices and layers on which rests what all others find.
const BEARING: [&str; 4] = ["on", "size", "file", "name"];
/// Tables whose entries other parts name.
const NAMED: [&str; 7] = ["devices", "corpora", "trees", "stack", "variant", "factor", "stage"];
/// Other tables on which rests what is planned.
const PLANNED: [&str; 5] = ["machine", "environment", "scale", "set", "given"];

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
    /// Names that stand for others, with those.
    stand_ins: Vec<(String, String)>,
    /// Places of keys that are gone, or have another name.
    strange: Vec<Range<usize>>,
    doubts: Vec<Doubt>,
}

/// Something of which nobody knows what it should be.
struct Doubt {
    /// The place of all that belongs to it.
    at: Range<usize>,
    about: About,
    /// It is of a device or a layer.
    of_stack: bool,
}

/// Words of mistakes that may come of a doubt.
enum About {
    /// Anything may be, but a name that nothing has.
    Anything,
    /// Mistakes that have one of the words, and those that rest on the rest.
    Words(String),
    /// Mistakes about this name.
    Name(String),
    /// Mistakes that are told in one of these words: it may be meant to have any name.
    Said(&'static [&'static str]),
    /// A stage of this name: nobody knows which variants it is for.
    Variants(String),
    /// Nothing elsewhere: no other part rests on it.
    Itself,
}

impl<'t> Reading<'t> {
    fn of(text: &'t str) -> Self {
        let (told, strange) = (Vec::new(), Vec::new());
        let (stand_ins, doubts) = (Vec::new(), Vec::new());
        Self { copy: Copy::of(text), told, stand_ins, strange, doubts }
    }

    /// Tells and mends those of the mistakes whose turn it is; tells whether any could be mended.
    fn go_on(&mut self, found: &[Diagnostic]) -> bool {
        (0..4).any(|turn| {
            let now: Vec<_> = found.iter().filter(|mistake| turn_of(mistake) == turn).collect();
            let sure = now.iter().filter(|mistake| self.is_sure(mistake));
            let mut sure: Vec<Diagnostic> = sure.map(|mistake| self.with_names(mistake)).collect();
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

    /// Returns the mistake with the names of the file.
    fn with_names(&self, mistake: &Diagnostic) -> Diagnostic {
        let named = |text: &str| {
            let one =
                |text: String, (stand_in, own): &(String, String)| text.replace(stand_in, own);
            self.stand_ins.iter().fold(text.to_owned(), one)
        };
        let help = mistake.help.as_deref().map(named);
        Diagnostic { message: named(&mistake.message), help, ..mistake.clone() }
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
        // A part of what it is about may be what is told already.
        let inside = self.strange.iter().any(|key| overlap(key, span));
        if told.into_iter().any(|told| overlap(told, span)) || inside || self.lacks_strange(span) {
            return false;
        }
        is_alone(mistake)
            || self.doubts.iter().all(|doubt| doubt.spares(mistake, span, self.copy.text))
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
        let table = split(header).next().unwrap_or_default();
        let of_stack = matches!(table, "devices" | "stack")
            || table == "variant" && split(header).any(|word| word == "stack");
        let named = NAMED.contains(&table);
        let (at, about) = match done {
            Done::Key | Done::Value if stand_in(mistake).is_some() => {
                let name = self.copy.text[at.clone()].trim_matches(['"', '\'']).to_owned();
                if let Some(stand_in) = stand_in(mistake) {
                    self.stand_ins.push((stand_in.to_owned(), name.clone()));
                }
                let of_any = any_name(table).filter(|_| name.trim().is_empty());
                (at, of_any.map_or(About::Name(name), About::Said))
            }
            Done::Value => return,
            Done::Key => {
                if mistake.instead == Some(Mend::Without) {
                    self.may_lack(&at);
                }
                return self.strange.push(at);
            }
            Done::Example if key == "only" => {
                let name = self.copy.name_of(&entry);
                (entry, About::Variants(name.to_owned()))
            }
            Done::Example if key == "name" && any_name(table).is_some() => {
                (0..0, About::Said(any_name(table).unwrap_or_default()))
            }
            Done::Example if NAMES.contains(&key) && named => (0..0, About::Anything),
            Done::Example if part.is_table => (entry, About::Words(String::new())),
            Done::Example if key.ends_with("size") => (0..0, About::Words(String::new())),
            Done::Example => return,
            Done::LeftOut => {
                let is_known = !part.is_table && self.strange.iter().any(|key| overlap(key, &at));
                self.strange.push(at.clone());
                if is_known {
                    return;
                }
                // Whatever comes after stands on it.
                let bears = (part.is_table || BEARING.contains(&key)) && of_stack;
                // It may be meant to be any of those that there are.
                let known = mistake.help.as_deref().and_then(|help| help.split_once(": "));
                let known = known.map_or("", |(_, known)| known);
                let words = format!("{header} {} {known}", &self.copy.text[at]);
                let about = match (bears, named || PLANNED.contains(&table)) {
                    (true, _) => About::Anything,
                    (false, true) => About::Words(words),
                    (false, false) => About::Itself,
                };
                (entry, about)
            }
        };
        self.doubts.push(Doubt { at, about, of_stack });
    }
}

/// Returns the name that stands for another where a mistake is mended by one.
fn stand_in(mistake: &Diagnostic) -> Option<&str> {
    let name = match &mistake.instead {
        Some(Mend::With(name) | Mend::Named(name)) => name.trim_matches('"'),
        _ => return None,
    };
    name.starts_with(STAND_IN).then_some(name)
}

/// Returns the words in which mistakes are told that a right name in such a table may mend, whatever it is.
fn any_name(table: &str) -> Option<&'static [&'static str]> {
    match table {
        "variant" => Some(&["variant '"]),
        "factor" => Some(&["variant '", "factor", "level of"]),
        "stage" => Some(&["stage is called", "names nothing", "No layout", "measured stage '"]),
        _ => None,
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
    /// Tells whether a mistake at `span` of `text` is one whatever is meant here.
    fn spares(&self, mistake: &Diagnostic, span: &Range<usize>, text: &str) -> bool {
        let apart = !overlap(&self.at, span);
        if apart && self.of_stack && matches!(mistake.rests_on, RestsOn::Stages(_)) {
            return true;
        }
        let name = match &mistake.rests_on {
            RestsOn::Name(name) | RestsOn::Stages(name) | RestsOn::UseOf(name) => Some(&**name),
            RestsOn::Nothing | RestsOn::File => None,
        };
        let is_strange = |name: &str| {
            !matches!(mistake.rests_on, RestsOn::UseOf(_)) && text.matches(name).count() == 1
        };
        match &self.about {
            About::Itself => apart,
            About::Anything => {
                apart && name.is_some_and(|name| is_strange(name) && !of_layers(name))
            }
            About::Name(own) => apart && name.is_none_or(|name| !may_be(name, own)),
            About::Said(words) => {
                apart && !words.iter().any(|words| mistake.message.contains(words))
            }
            About::Variants(own) => match name {
                Some(name) if is_strange(name) => true,
                Some(name) => {
                    let rest = name.strip_prefix(own.as_str());
                    apart && !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
                }
                None => apart,
            },
            About::Words(words) => match name {
                Some(name) if apart => has_none(name, words),
                _ => apart && mistake.rests_on == RestsOn::Nothing,
            },
        }
    }
}

/// Tells whether a name, or a part of it, may be that of a kind of layer, or of what one has.
fn of_layers(name: &str) -> bool {
    let is_word = |word: &str| {
        layers::kinds().iter().any(|kind| {
            let keys = kind.keys.iter().map(|key| key.name);
            let metrics = kind.metrics.iter().map(|metric| metric.id);
            let actions = kind.actions.iter().map(|action| action.name);
            let states = kind.states.iter().map(|state| state.name);
            let fills = kind.fills.iter().map(|fill| fill.of);
            keys.chain(metrics)
                .chain(actions)
                .chain(states)
                .chain(fills)
                .chain([kind.name])
                .any(|known| known == word)
        })
    };
    is_word(name) || split(name).any(is_word)
}

/// Tells whether a name that nothing has may be meant for what was refused as `own`.
fn may_be(name: &str, own: &str) -> bool {
    name.is_empty() || own.is_empty() || name.contains(own) || nearest(own, [name]).is_some()
}

/// Tells whether a name has none of these words.
fn has_none(name: &str, words: &str) -> bool {
    let known: Vec<&str> = split(words).collect();
    // Names of several words are put together of others.
    let is_one = |word: &&str| word.len() > 2 || word.len() == name.len();
    let mut own = split(name).filter(is_one).peekable();
    own.peek().is_some() && !own.any(|word| known.contains(&word))
}

/// The words of a text: names, and parts of names with blanks or dots.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.split(move |c| !word(c)).filter(|word| !word.is_empty())
}
