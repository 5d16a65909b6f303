//! `[[reported]]`: figures that the source of an experiment reported, which the page shows next to those found here.

mod check;

use results::model::{ReportedFacts, ReportedSpread, ReportedValue};
use units::{Key, key};

use crate::checked::bounds;
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};
use crate::written::names;
use crate::written::subject::Subject;
use crate::written::variant_figure::VariantFigure;

const WHAT: Key = key("what", "what the source calls the figures", "\"table 5.1\"");
const UNIT: Key = key("unit", "their unit, as the source writes it", "\"MB/s\"");
const VALUES: Key = key(
    "values",
    "a list of values, each of a variant, a stage, a metric or several of these",
    "[{ variant = \"default\", value = 166.24 }]",
);
const VALUE: Key = key("value", "a number", "166.24");
const HERE: Key = key(
    "here",
    "the quantity here, if it differs from the source's",
    "\"throughput of all threads together\"",
);
const SPREAD: Key = key(
    "spread",
    "the source's spread around its median",
    "{ q1 = 116.82, q3 = 229.1, min = 6.99, max = 953.87, std_dev = 89 }",
);
const PARTS: [Key; 5] = {
    const fn part(name: &'static str) -> Key {
        Key { name, takes: "a number", example: "89" }
    }
    [part("q1"), part("q3"), part("min"), part("max"), part("std_dev")]
};

/// The metric that has a spread within a run: of each I/O's bandwidth.
const OF_EACH_IO: &str = "io_bandwidth_p50_bytes_per_s";

/// `[[reported]]` as written.
pub(crate) struct Reported {
    what: String,
    unit: String,
    here: Option<String>,
    values: Vec<Value>,
    places: Places,
}

/// A value as written.
struct Value {
    figure: VariantFigure,
    value: f64,
    spread: Option<ReportedSpread>,
}

impl Value {
    fn read(mut table: Table, base: &Subject) -> Result<Self, Diagnostic> {
        let figure = VariantFigure::read(&mut table, Some(base))?;
        let places = table.places();
        let value = number(&mut table, &VALUE)?;
        let spread = table.table(&SPREAD, "The spread of a reported value")?;
        let spread = spread.map(|mut spread| {
            let mut next = |at: usize| number(&mut spread, &PARTS[at]);
            let (q1, q3, min, max, std_dev) = (next(0)?, next(1)?, next(2)?, next(3)?, next(4)?);
            spread.finish().map(|()| ReportedSpread { q1, q3, min, max, std_dev })
        });
        let spread = spread.transpose()?;
        table.finish()?;
        if spread.is_some() && figure.subject.metric != OF_EACH_IO {
            let message = format!("'{}' has no spread within a run", figure.subject.metric);
            let help = format!("remove the spread, or write metric = \"{OF_EACH_IO}\"");
            return Err(Diagnostic::at(places.at("spread"), message, help));
        }
        Ok(Self { figure, value, spread })
    }
}

/// A number that is finite.
fn number(table: &mut Table, key: &Key) -> Result<f64, Diagnostic> {
    let value = table.need::<f64>(key)?;
    if !value.get_ref().is_finite() {
        let message = format!("{} cannot be {}", key.name, value.get_ref());
        return Err(Diagnostic::of_key(value.span(), message, key));
    }
    Ok(value.into_inner())
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
        let here = table.take(&HERE)?.map(toml::Spanned::into_inner);
        let values = table.tables(&VALUES, "A reported value")?;
        let values = values.into_iter().map(|one| Value::read(one, &subject));
        let values = values.collect::<Result<Vec<_>, Diagnostic>>()?;
        table.finish()?;
        if !(1..=bounds::REPORTED).contains(&values.len()) {
            let message = format!("{} values are reported", values.len());
            let help = format!("name 1 to {}: {}", bounds::REPORTED, VALUES.help(VALUES.name));
            return Err(Diagnostic::at(places.at("values"), message, help));
        }
        Ok(Self { what: what.into_inner(), unit: unit.into_inner(), here, values, places })
    }

    /// Name of the layer that its figures belong to, if they belong to one.
    pub(crate) fn layer(&self) -> Option<&str> {
        self.values.iter().find_map(|one| one.figure.subject.layer.as_deref())
    }

    /// Returns where it stands.
    pub(crate) fn at(&self) -> std::ops::Range<usize> {
        self.places.table()
    }

    /// Returns it in the form of results; values that name no variant belong to the variant `otherwise`.
    pub(crate) fn facts(&self, otherwise: &str) -> ReportedFacts {
        let value = |one: &Value| ReportedValue {
            figure: one.figure.name(otherwise),
            value: one.value,
            spread: one.spread,
        };
        let (what, unit, here) = (self.what.clone(), self.unit.clone(), self.here.clone());
        ReportedFacts { what, unit, here, values: self.values.iter().map(value).collect() }
    }
}
