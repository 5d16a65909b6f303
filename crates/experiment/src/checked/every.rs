//! All mistakes of a file at once. The reader of a table stops at its first mistake, and checks of the whole file come after those of its
//! parts; so each mistake is mended in a copy of the text, and the copy is read again. Mistakes that are certain whatever the rest of the file
//! says are reported and mended first; those that depend on names, or on the rest of the file, only if they are still found after that. Where
//! something was left out, or replaced by an example, mistakes that may be a consequence of that are not reported.

mod copy;

use std::ops::Range;

use crate::ExperimentError;
use crate::checked::whole;
use crate::planned::compose::PlanOptions;
use crate::written::diagnostic::{Diagnostic, Mend, RestsOn, STAND_IN, nearest};
use copy::{Copy, Done, overlap};
use plan::Plan;

/// Most times that a file is read again; each time at least one mistake is mended.
const ROUNDS: usize = 100;
/// Keys whose values are names that other parts of a file use.
const NAMES: [&str; 6] = ["name", "ops", "levels", "key", "do", "layer"];
/// Keys of devices and layers that affect the checks of all other parts.
const BEARING: [&str; 4] = ["on", "size", "file", "name"];
/// Tables whose entries other parts name.
const NAMED: [&str; 7] = ["devices", "corpora", "trees", "stack", "variant", "factor", "stage"];
/// Other tables that affect the whole plan.
const PLANNED: [&str; 5] = ["machine", "environment", "scale", "set", "given"];

/// Reads, checks and plans the experiment in `text`; `file` names it in errors. All mistakes are reported together, those at other scales
/// too, except those that may vanish once another one is corrected.
pub fn compose(file: &str, text: &str, choices: &PlanOptions) -> Result<Plan, ExperimentError> {
    let mut error = match whole::compose(file, text, choices) {
        Ok(plan) => return Ok(plan),
        Err(error) => error,
    };
    let mut reading = Reading::of(text);
    let mut found = std::mem::take(&mut error.mistakes);
    for _ in 0..ROUNDS {
        if !reading.report_and_mend(&found) {
            break;
        }
        let Err(again) = whole::compose(file, &reading.copy.read(), choices) else { break };
        found = again.mistakes.into_iter().map(|mistake| reading.copy.placed(mistake)).collect();
    }
    error.mistakes = reading.reported;
    error.mistakes.sort_by_key(|mistake| mistake.span.as_ref().map(|span| span.start));
    Err(error)
}

/// The mistakes found so far, and the mended copy of the text.
struct Reading<'t> {
    copy: Copy<'t>,
    reported: Vec<Diagnostic>,
    /// Stand-in names, each with the name of the file that it replaces.
    stand_ins: Vec<(String, String)>,
    /// Places of keys that were removed or renamed in the copy.
    strange: Vec<Range<usize>>,
    doubts: Vec<Doubt>,
}

/// A part of the file whose intended content is not known.
struct Doubt {
    /// The place of all that belongs to it.
    at: Range<usize>,
    about: About,
    /// Tells whether it belongs to a device or a layer.
    of_stack: bool,
}

/// Mistakes that may be consequences of a doubt, and are not reported for that reason.
enum About {
    /// Any mistake, except one about a name that occurs nowhere else.
    Anything,
    /// Mistakes about a name with one of these words, and those without a name that depend on the rest of the file.
    Words(String),
    /// Mistakes about this name.
    Name(String),
    /// Mistakes with one of these phrases in their message: the part may be meant to have any name.
    Said(&'static [&'static str]),
    /// Mistakes about the stage of this name, since it is not known which variants it is for.
    Variants(String),
    /// No mistakes elsewhere, since no other part depends on it.
    Itself,
}

impl<'t> Reading<'t> {
    fn of(text: &'t str) -> Self {
        let (reported, strange) = (Vec::new(), Vec::new());
        let (stand_ins, doubts) = (Vec::new(), Vec::new());
        Self { copy: Copy::of(text), reported, stand_ins, strange, doubts }
    }

    /// Reports and mends the mistakes turn by turn, until some of a turn could be mended; returns false if none could.
    fn report_and_mend(&mut self, found: &[Diagnostic]) -> bool {
        (0..4).any(|turn| {
            let now: Vec<_> = found.iter().filter(|mistake| turn_of(mistake) == turn).collect();
            let sure = now.iter().filter(|mistake| self.is_sure(mistake));
            let mut sure: Vec<Diagnostic> = sure.map(|mistake| self.with_names(mistake)).collect();
            // Mistakes of the whole file are found again at each scale.
            sure.dedup();
            self.reported.extend(sure);
            let mut mended: Vec<Range<usize>> = Vec::new();
            for mistake in now {
                let Some(span) = mistake.span.clone() else { continue };
                // Of two mistakes at one place, the second is left for a later call.
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

    /// Returns the mistake with stand-ins replaced by the file's own names.
    fn with_names(&self, mistake: &Diagnostic) -> Diagnostic {
        let named = |text: &str| {
            let one = |text: String, (stand_in, written): &(String, String)| {
                text.replace(stand_in, written)
            };
            self.stand_ins.iter().fold(text.to_owned(), one)
        };
        let help = mistake.help.as_deref().map(named);
        Diagnostic { message: named(&mistake.message), help, ..mistake.clone() }
    }

    /// Tells whether a mistake is new, and no consequence of how others were mended.
    fn is_sure(&self, mistake: &Diagnostic) -> bool {
        if self.reported.contains(mistake) {
            return false;
        }
        let Some(span) = &mistake.span else {
            return self.doubts.is_empty() || is_alone(mistake);
        };
        let known = self.reported.iter().filter_map(|known| known.span.as_ref());
        // The mistake may be about a larger part around one that was reported already.
        let inside = self.strange.iter().any(|key| overlap(key, span));
        if known.into_iter().any(|known| overlap(known, span)) || inside || self.lacks_strange(span)
        {
            return false;
        }
        is_alone(mistake)
            || self.doubts.iter().all(|doubt| doubt.spares(mistake, span, self.copy.text))
    }

    /// Tells whether a mistake is about a whole table in which a key was removed or renamed: that key may be the one that the table lacks.
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

    /// Withdraws mistakes about a missing key of a table, since the unknown one at `key` may be meant for it.
    fn may_lack(&mut self, key: &Range<usize>) {
        let copy = &self.copy;
        self.reported.retain(|earlier| {
            let adds = matches!(earlier.instead, Some(Mend::Add(_)));
            let table =
                earlier.span.as_ref().filter(|_| adds).and_then(|at| copy.holding(at).next());
            !table.is_some_and(|table| overlap(&table.at, key))
        });
    }

    /// Notes what is in doubt since `mistake` was mended in this way.
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
                // Everything that stands on it depends on it.
                let bears = (part.is_table || BEARING.contains(&key)) && of_stack;
                // It may be meant to be any of the known names, which the help lists.
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

/// Returns the stand-in name by which a mistake is mended; `None` where it is mended in another way.
fn stand_in(mistake: &Diagnostic) -> Option<&str> {
    let name = match &mistake.instead {
        Some(Mend::With(name) | Mend::Named(name)) => name.trim_matches('"'),
        _ => return None,
    };
    name.starts_with(STAND_IN).then_some(name)
}

/// Returns phrases in the messages of mistakes that may vanish once an entry of such a table has a valid name.
fn any_name(table: &str) -> Option<&'static [&'static str]> {
    match table {
        "variant" => Some(&["variant '"]),
        "factor" => Some(&["variant '", "factor", "level of"]),
        "stage" => Some(&["stage is called", "names nothing", "No layout", "measured stage '"]),
        _ => None,
    }
}

/// Tells whether a mistake is certain whatever the rest says, and has a mend.
fn is_alone(mistake: &Diagnostic) -> bool {
    mistake.instead.is_some() && mistake.rests_on == RestsOn::Nothing
}

/// Returns the turn, of four, in which a mistake is reported and mended.
fn turn_of(mistake: &Diagnostic) -> u8 {
    let rests = mistake.rests_on != RestsOn::Nothing;
    u8::from(rests) * 2 + u8::from(mistake.instead.is_none())
}

impl Doubt {
    /// Tells whether a mistake at `span` of `text` is certain in spite of this doubt.
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
            About::Name(refused) => apart && name.is_none_or(|name| !may_be(name, refused)),
            About::Said(words) => {
                apart && !words.iter().any(|words| mistake.message.contains(words))
            }
            About::Variants(stage) => match name {
                Some(name) if is_strange(name) => true,
                Some(name) => {
                    let rest = name.strip_prefix(stage.as_str());
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

/// Tells whether a name, or a part of it, is that of a kind of layer, or of a key, metric, action or state of one.
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

/// Tells whether an unknown name may mean the thing whose own name was refused as `refused`.
fn may_be(name: &str, refused: &str) -> bool {
    name.is_empty()
        || refused.is_empty()
        || name.contains(refused)
        || nearest(refused, [name]).is_some()
}

/// Tells whether a name has none of these words.
fn has_none(name: &str, words: &str) -> bool {
    let known: Vec<&str> = split(words).collect();
    // Very short words count only where they are the whole name.
    let is_one = |word: &&str| word.len() > 2 || word.len() == name.len();
    let mut words_of_name = split(name).filter(is_one).peekable();
    words_of_name.peek().is_some() && !words_of_name.any(|word| known.contains(&word))
}

/// The words of a text: names, and parts of names with blanks or dots.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.split(move |c| !word(c)).filter(|word| !word.is_empty())
}
