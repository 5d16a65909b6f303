//! `[[expect]]`: what a figure is expected to be, by itself or against another, and where that was found.

mod check;

use results::model::{Bound, ExpectedFigure, Grounds};
use toml::Spanned;
use units::{Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use crate::written::subject::Subject;
use crate::written::variant_figure::{VariantFigure, name_of};

const ABOVE: Key = key("above", "a number", "1.5");
const BELOW: Key = key("below", "a number", "0.2");
const NEAR: Key = key("near", "a number", "74.6");
const TOLERANCE: Key = key("tolerance", "percent of what is expected, or points", "\"3 points\"");
const OF: Key = key(
    "of",
    "the keys of the figure that it is divided by, as far as they differ",
    "{ variant = \"plain\" }",
);
const SCALE: Key = key("scale", "the scale at which it is expected", "\"full\"");
const BECAUSE: Key = key(
    "because",
    "why it is expected at that scale alone",
    "\"two emulated CPUs show no scaling\"",
);
const DIFFERS: Key = key(
    "differs",
    "why it may be otherwise today, or at this scale",
    "\"the source's disk was a slower one\"",
);
const EVIDENCE: Key = key(
    "evidence",
    "a list of figures that show why",
    "[{ metric = \"journal_entries\", layer = \"vdo\" }]",
);
const SOURCE: Key = key("source", "a text", "\"58 against 35 s\"");

const GROUNDS: Key = key("grounds", "the kind of source that this rests on", "\"conclusion\"");

/// A figure, or its ratio to another figure, and the bound that it is expected to keep.
pub(crate) struct Expectation {
    figure: VariantFigure,
    bound: Bound,
    of: Option<VariantFigure>,
    source: Option<String>,
    grounds: Grounds,
    differs: Option<String>,
    /// Figures that show why, each for the figure's variant and for that of its divisor.
    evidence: Vec<Subject>,
    /// The only scale at which it is expected; `None`: at each.
    scale: Option<Spanned<String>>,
    /// The reason why it is expected at that scale alone.
    because: Option<String>,
}

impl Expectation {
    pub(crate) fn read(mut table: Table) -> Result<Self, Diagnostic> {
        let figure = VariantFigure::read(&mut table, None)?;
        let (at, bound) = (table.at(), bound(&mut table)?);
        let of = match table.table(&OF, "The figure that it is divided by")? {
            None => None,
            Some(mut other) => {
                let base = VariantFigure::read(&mut other, Some(&figure.subject))?;
                other.finish()?;
                Some(base.or_of(&figure))
            }
        };
        let source = table.take(&SOURCE)?.map(Spanned::into_inner);
        let grounds = grounds(&mut table)?;
        let differs = table.take(&DIFFERS)?.map(Spanned::into_inner);
        let scale = table.take(&SCALE)?;
        let because = table.take::<String>(&BECAUSE)?;
        if let (None, Some(because)) = (&scale, &because) {
            let help = "add scale = \"full\", or remove it";
            let message = "What is expected at every scale needs no reason for that";
            return Err(Diagnostic::at(because.span(), message, help).fix_by_removing());
        }
        let because = because.map(Spanned::into_inner);
        let read = |mut one: Table| {
            let subject = Subject::read(&mut one, Some(&figure.subject))?;
            one.finish().map(|()| subject)
        };
        let evidence = table.tables(&EVIDENCE, "Evidence")?;
        let evidence = evidence.into_iter().map(read).collect::<Result<_, Diagnostic>>()?;
        table.finish()?;
        let bound = bound.ok_or_else(|| {
            let message = "An expectation needs one of 'above', 'below' and 'near'";
            Diagnostic::of_key(at, message, &NEAR).add(&ABOVE)
        })?;
        Ok(Self { figure, bound, of, source, grounds, differs, evidence, scale, because })
    }

    /// Returns the figure, and the one that it is divided by.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &VariantFigure> {
        [Some(&self.figure), self.of.as_ref()].into_iter().flatten()
    }

    /// Tells whether it is expected of a run at `scale`.
    pub(crate) fn is_at(&self, scale: &str) -> bool {
        self.scale.as_ref().is_none_or(|only| only.get_ref() == scale)
    }

    /// Names of the layers whose figures it uses.
    pub(crate) fn layers(&self) -> impl Iterator<Item = &str> {
        let subjects = self.figures().map(|figure| &figure.subject).chain(&self.evidence);
        subjects.filter_map(|subject| subject.layer.as_deref())
    }

    /// Checks that its scale is one of the file's, or a usual one.
    pub(crate) fn check_scale(&self, scales: &[&str]) -> Option<Diagnostic> {
        let scale = self.scale.as_ref()?;
        let known: Vec<&str> = ["lab", "full"].into_iter().chain(scales.iter().copied()).collect();
        (!known.contains(&scale.get_ref().as_str())).then(|| {
            let message = format!("There is no scale '{}'", scale.get_ref());
            Diagnostic::unknown(scale.span(), message, scale.get_ref(), known)
        })
    }

    /// Returns it in the form of results, for a run at `scale`; its variant is `otherwise` unless it names one.
    pub(crate) fn facts(&self, otherwise: &str, scale: &str) -> ExpectedFigure {
        let mut variants = vec![self.figure.variant(otherwise)];
        variants.extend(self.of.as_ref().map(|base| base.variant(otherwise)));
        variants.dedup();
        let of_each =
            |variant: &&str| self.evidence.iter().map(|s| name_of(s, variant)).collect::<Vec<_>>();
        let elsewhere = self.scale.as_ref().map(Spanned::get_ref).filter(|only| *only != scale);
        ExpectedFigure {
            figure: self.figure.name(otherwise),
            bound: self.bound,
            of: self.of.as_ref().map(|base| base.name(otherwise)),
            source: self.source.clone(),
            grounds: self.grounds,
            scale: elsewhere.cloned(),
            because: elsewhere.and(self.because.clone()),
            differs: self.differs.clone(),
            evidence: variants.iter().flat_map(of_each).collect(),
        }
    }
}

/// The kind of source; a document unless another is written.
fn grounds(table: &mut Table) -> Result<Grounds, Diagnostic> {
    let Some(word) = table.take::<String>(&GROUNDS)? else { return Ok(Grounds::default()) };
    let found = Grounds::ALL.into_iter().find(|kind| kind.word() == word.get_ref());
    found.ok_or_else(|| {
        let message = format!("There are no grounds '{}'", word.get_ref());
        let known = Grounds::ALL.into_iter().map(Grounds::word);
        Diagnostic::unknown(word.span(), message, word.get_ref(), known)
    })
}

/// One of `above`, `below` and `near` with its tolerance; `None` where none is written.
fn bound(table: &mut Table) -> Result<Option<Bound>, Diagnostic> {
    let (at, places) = (table.at(), table.places());
    let above = table.take::<f64>(&ABOVE)?.map(Spanned::into_inner);
    let below = table.take::<f64>(&BELOW)?.map(Spanned::into_inner);
    let near = table.take::<f64>(&NEAR)?.map(Spanned::into_inner);
    for (key, value) in [(&ABOVE, above), (&BELOW, below), (&NEAR, near)] {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            let message = format!("{} cannot be {value}", key.name);
            return Err(Diagnostic::of_key(places.at(key.name), message, key));
        }
    }
    let tolerance = table.take::<String>(&TOLERANCE)?;
    let needless = |tolerance: &Spanned<String>| {
        let help = "use it with near = ..., or remove it";
        Err(Diagnostic::at(tolerance.span(), "Only near = ... can have a tolerance", help)
            .fix_by_removing())
    };
    match (above, below, near, &tolerance) {
        (Some(_), None, None, Some(t)) | (None, Some(_), None, Some(t)) => needless(t),
        (None, None, None, _) => Ok(None),
        (Some(value), None, None, None) => Ok(Some(Bound::Above(value))),
        (None, Some(value), None, None) => Ok(Some(Bound::Below(value))),
        (None, None, Some(value), Some(tolerance)) => {
            Ok(Some(Bound::Near { value, by: distance(tolerance, value)? }))
        }
        (None, None, Some(_), None) => {
            let help = TOLERANCE.help(TOLERANCE.name);
            let message = "near = ... has no tolerance";
            Err(Diagnostic::at(at, message, help).add(&TOLERANCE))
        }
        _ => {
            let message = "An expectation has only one of 'above', 'below' and 'near'";
            let key = if near.is_some() { "near" } else { "below" };
            Err(Diagnostic::at(places.at(key), message, "remove the others").fix_by_removing())
        }
    }
}

/// Returns how far from `value` a figure may be: `15 %` of it, or `3 points`.
fn distance(tolerance: &Spanned<String>, value: f64) -> Result<f64, Diagnostic> {
    let text = tolerance.get_ref().trim();
    let (number, share) = match (text.strip_suffix('%'), text.strip_suffix("points")) {
        (Some(number), _) => (number, true),
        (None, Some(number)) => (number, false),
        (None, None) => (text.strip_suffix("point").unwrap_or(""), false),
    };
    match number.trim().parse::<f64>() {
        Ok(_) if share && value == 0.0 => {
            let message = "There is no share of 0: nothing but 0 itself would be near";
            let help = "write points: tolerance = \"3 points\"";
            Err(Diagnostic::at(tolerance.span(), message, help))
        }
        Ok(number) if number > 0.0 && number.is_finite() => {
            Ok(if share { value.abs() * number / 100.0 } else { number })
        }
        _ => {
            let message = format!("tolerance cannot be '{text}'");
            Err(Diagnostic::of_key(tolerance.span(), message, &TOLERANCE))
        }
    }
}
