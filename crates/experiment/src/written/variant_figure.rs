//! A figure of one variant, as expectations and reports name it.

mod check;

use results::model::FigureName;
use toml::Spanned;
use units::{Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use crate::written::subject::Subject;

const VARIANT: Key = key("variant", "the name of a variant", "\"vdo\"");

/// A figure of one variant, as written.
pub(crate) struct VariantFigure {
    pub subject: Subject,
    variant: Option<Spanned<String>>,
}

impl VariantFigure {
    /// Takes its keys out of a table; those of the subject that are not written are `base`'s.
    pub(crate) fn read(table: &mut Table, base: Option<&Subject>) -> Result<Self, Diagnostic> {
        Ok(Self { subject: Subject::read(table, base)?, variant: table.take(&VARIANT)? })
    }

    /// Returns the figure; its variant is that of `base` unless it names one.
    pub(crate) fn or_of(self, base: &Self) -> Self {
        Self { variant: self.variant.or_else(|| base.variant.clone()), ..self }
    }

    /// The variant that it names, or `otherwise`.
    pub(crate) fn variant<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.variant.as_ref().map_or(otherwise, |variant| variant.get_ref())
    }

    /// Returns its name in results; its variant is `otherwise` unless it names one.
    pub(crate) fn name(&self, otherwise: &str) -> FigureName {
        name_of(&self.subject, self.variant(otherwise))
    }
}

/// The figure of this variant, as results name it.
pub(crate) fn name_of(subject: &Subject, variant: &str) -> FigureName {
    let Subject { metric, stage, operation, layer, .. } = subject.clone();
    FigureName { metric, stage, operation, layer, variant: variant.to_owned() }
}
