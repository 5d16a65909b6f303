//! Tables as data, and what takes their rows.

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
    /// One of [`Kind::Text`].
    Text(&'a str),
    /// One of [`Kind::Integer`].
    Integer(u64),
    /// One of [`Kind::Number`].
    Number(f64),
    /// One of [`Kind::Truth`].
    Truth(bool),
    /// None: it is not known.
    Missing,
}

impl<'a> Value<'a> {
    /// Makes a text, or none.
    pub fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Missing, Self::Text)
    }

    /// Makes a whole number, or none.
    pub fn integer(number: Option<u64>) -> Self {
        number.map_or(Self::Missing, Self::Integer)
    }

    /// Makes a number, or none.
    pub fn number(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Missing, Self::Number)
    }
}

/// Takes one row: as many values as the table has columns, in their order.
pub type Take<'t> = dyn FnMut(&[Value]) -> io::Result<()> + 't;

/// A table of a result.
pub struct Table {
    /// Its name, that of its file without the ending.
    pub name: &'static str,
    /// The meaning of one row.
    pub about: &'static str,
    /// Its columns in order.
    pub columns: &'static [Column],
    /// Hands out the rows of a result one by one.
    pub rows: fn(&ResultSet, &mut Take) -> io::Result<()>,
}

/// A file that takes the rows of a table.
pub trait Rows {
    /// Takes one row.
    fn row(&mut self, values: &[Value]) -> io::Result<()>;
    /// Writes what is left; without it the file is not whole.
    fn end(self: Box<Self>) -> io::Result<()>;
}

/// The file that rows go to.
pub type To = BufWriter<File>;

/// Begins the file of a table.
pub type Begin = fn(To, &'static Table) -> io::Result<Box<dyn Rows>>;
