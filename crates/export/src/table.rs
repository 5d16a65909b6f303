//! Tables as data, and the trait for writers of their rows.

use std::fs::File;
use std::io::{self, BufWriter};

use results::ResultSet;

/// The type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// A whole number from 0 to 2^63 - 1.
    Integer,
    /// A floating-point number of 64 bits.
    Number,
    /// True or false.
    Truth,
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type of its values; each of them may be missing.
    pub kind: Kind,
    /// The meaning of its values, with their unit.
    pub about: &'static str,
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A value of [`Kind::Text`].
    Text(&'a str),
    /// A value of [`Kind::Integer`].
    Integer(u64),
    /// A value of [`Kind::Number`].
    Number(f64),
    /// A value of [`Kind::Truth`].
    Truth(bool),
    /// A missing value: it is not known.
    Missing,
}

impl<'a> Value<'a> {
    /// Makes a text value, or a missing one.
    pub fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Missing, Self::Text)
    }

    /// Makes a whole number, or a missing value.
    pub fn integer(number: Option<u64>) -> Self {
        number.map_or(Self::Missing, Self::Integer)
    }

    /// Makes a number, or a missing value if there is none or it is not finite.
    pub fn number(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Missing, Self::Number)
    }
}

/// A function that takes one row: as many values as the table has columns, in their order.
pub type Take<'t> = dyn FnMut(&[Value]) -> io::Result<()> + 't;

/// A table of a result.
pub struct Table {
    /// Its name, also that of its file without the extension.
    pub name: &'static str,
    /// The meaning of one row.
    pub about: &'static str,
    /// Its columns in order.
    pub columns: &'static [Column],
    /// Passes the rows of a result to a function one by one.
    pub rows: fn(&ResultSet, &mut Take) -> io::Result<()>,
}

/// A file that takes the rows of a table.
pub trait Rows {
    /// Takes one row.
    fn row(&mut self, values: &[Value]) -> io::Result<()>;
    /// Writes what is left; without this call the file is incomplete.
    fn end(self: Box<Self>) -> io::Result<()>;
}

/// The file that rows go to.
pub type To = BufWriter<File>;

/// Begins the file of a table.
pub type Begin = fn(To, &'static Table) -> io::Result<Box<dyn Rows>>;
