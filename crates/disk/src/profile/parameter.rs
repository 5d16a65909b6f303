//! A parameter of a profile: how it is written, its range, what it does.

use units::{Bytes, Nanos, Percent};

use crate::scalar::Scalar;

/// The form that a parameter is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// A duration: `"8ms"`.
    Time,
    /// A size: `"64M"`.
    Size,
    /// Megabytes (10^6) per second, a number, as data sheets write it.
    Rate,
    /// true or false.
    Switch,
    /// `"stretched"`, or a share: `"0.4%"`.
    Stroke,
}

/// All of the stroke, in words.
const STRETCHED: &str = "stretched";

/// A parameter of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// The form that it is written in.
    pub quantity: Quantity,
    /// The least value, in the base unit.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// A description of its effect.
    pub about: &'static str,
}

impl Parameter {
    /// Tells whether `value` is in its range.
    pub fn allows(&self, value: f64) -> bool {
        let whole = !matches!(self.quantity, Quantity::Count) || value.fract() == 0.0;
        whole && (self.least..=self.most).contains(&value)
    }

    /// `value` as people write and read it.
    pub fn show(&self, value: f64) -> String {
        match self.quantity {
            Quantity::Count | Quantity::Number => units::show::readable(value, 6),
            Quantity::Time => units::show::nanos(value),
            Quantity::Size => units::show::bytes(value),
            Quantity::Rate => format!("{} MB/s", units::show::readable(value / 1e6, 4)),
            Quantity::Switch => if value == 0.0 { "false" } else { "true" }.into(),
            Quantity::Stroke if value == 1.0 => STRETCHED.into(),
            Quantity::Stroke => Percent(value * 100.0).to_string(),
        }
    }

    /// Returns the values that it takes, in words that follow "takes".
    pub fn takes(&self) -> String {
        let (least, most) = (self.show(self.least), self.show(self.most));
        match self.quantity {
            Quantity::Switch => "true or false".into(),
            Quantity::Count => format!("a whole number from {least} to {most}"),
            Quantity::Number => format!("a number from {least} to {most}"),
            Quantity::Time => format!("a duration from {least} to {most}, as in \"0.5ms\""),
            Quantity::Size => format!("a size from {least} to {most}, as in \"2M\""),
            Quantity::Rate => format!("megabytes per second from {least} to {most}, as in 227"),
            Quantity::Stroke => {
                format!("\"{STRETCHED}\", or a share of the stroke from {least} up, as in \"0.4%\"")
            }
        }
    }

    /// Reads what was written for it; `None` where that is not a value that it takes.
    pub(crate) fn read(&self, given: &Scalar) -> Option<f64> {
        let value = match (self.quantity, given) {
            (Quantity::Switch, Scalar::Switch(on)) => f64::from(u8::from(*on)),
            (Quantity::Switch, Scalar::Text(text)) => match text.as_str() {
                "true" | "on" => 1.0,
                "false" | "off" => 0.0,
                _ => return None,
            },
            (Quantity::Count | Quantity::Number, given) => given.number()?,
            (Quantity::Rate, Scalar::Text(text)) => {
                text.trim_end_matches("MB/s").trim().parse::<f64>().ok()? * 1e6
            }
            (Quantity::Rate, given) => given.number()? * 1e6,
            (Quantity::Time, Scalar::Text(text)) if text.ends_with('s') => {
                text.parse::<Nanos>().ok()?.0 as f64
            }
            (Quantity::Size, Scalar::Text(text)) => text.parse::<Bytes>().ok()?.0 as f64,
            (Quantity::Size, Scalar::Whole(bytes)) => *bytes as f64,
            (Quantity::Stroke, Scalar::Text(text)) if text == STRETCHED => 1.0,
            (Quantity::Stroke, Scalar::Text(text)) if text.ends_with('%') => {
                text.parse::<Percent>().ok()?.fraction()
            }
            _ => return None,
        };
        self.allows(value).then_some(value)
    }
}
