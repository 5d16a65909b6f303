//! `[[reported]]`: figures that the source of an experiment reported, which the page shows beside those found here.

mod check;

use results::model::{ReportedFacts, ReportedValue};
use units::Key;

use crate::bounds;
use crate::diagnostic::Diagnostic;
use crate::document::{Places, Table};
use crate::names;
use crate::subject::Subject;
use crate::variant_figure::VariantFigure;

const WHAT: Key =
    Key { name: "what", takes: "what the source calls the figures", example: "\"table 5.1\"" };
const UNIT: Key =
    Key { name: "unit", takes: "their unit, as the source writes it", example: "\"MB/s\"" };
const VALUES: Key = Key {
    name: "values",
    takes: "a list of values, each of a variant, a stage, a metric or several of these",
    example: "[{ variant = \"default\", value = 166.24 }]",
};
const VALUE: Key = Key { name: "value", takes: "a number", example: "166.24" };

/// `[[reported]]` as written.
pub(crate) struct Reported {
    what: String,
    unit: String,
    values: Vec<(VariantFigure, f64)>,
    places: Places,
}

impl Reported {
    pub(crate) fn read(mut table: Table) -> Result<Self, Diagnostic> {
        let places = table.places();
        let (what, unit) = (table.need::<String>(&WHAT)?, table.need::<String>(&UNIT)?);
        for (key, text) in [("what", &what), ("unit", &unit)] {
            if let Some(wrong) = names::check_text(key, text.get_ref(), &text.span()) {
                return Err(wrong);
            }
        }
        let subject = Subject::read(&mut table, None)?;
        let value = |mut one: Table| {
            let figure = VariantFigure::read(&mut one, Some(&subject))?;
            let value = one.need::<f64>(&VALUE)?;
            one.finish()?;
            if !value.get_ref().is_finite() {
                let message = format!("value cannot be {}", value.get_ref());
                return Err(Diagnostic::of_key(value.span(), message, &VALUE));
            }
            Ok((figure, value.into_inner()))
        };
        let values = table.tables(&VALUES, "A reported value")?;
        let values = values.into_iter().map(value).collect::<Result<Vec<_>, Diagnostic>>()?;
        table.finish()?;
        if !(1..=bounds::REPORTED).contains(&values.len()) {
            let message = format!("{} values are reported", values.len());
            let help = format!("name 1 to {}: {}", bounds::REPORTED, VALUES.help(VALUES.name));
            return Err(Diagnostic::at(places.at("values"), message, help));
        }
        Ok(Self { what: what.into_inner(), unit: unit.into_inner(), values, places })
    }

    /// Name of the layer that its figures are of, where they are of one.
    pub(crate) fn layer(&self) -> Option<&str> {
        self.values.iter().find_map(|(figure, _)| figure.subject.layer.as_deref())
    }

    /// Returns where it stands.
    pub(crate) fn at(&self) -> std::ops::Range<usize> {
        self.places.table()
    }

    /// As results keep it; of `otherwise` where no variant is named.
    pub(crate) fn facts(&self, otherwise: &str) -> ReportedFacts {
        let value = |(figure, value): &(VariantFigure, f64)| ReportedValue {
            figure: figure.name(otherwise),
            value: *value,
        };
        let (what, unit) = (self.what.clone(), self.unit.clone());
        ReportedFacts { what, unit, values: self.values.iter().map(value).collect() }
    }
}
