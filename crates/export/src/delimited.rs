//! CSV as in RFC 4180: a line of names, then one line per row; a missing value is an empty field.

use std::io::{self, Write};

use crate::table::{Rows, Table, To, Value};

struct Delimited(To);

pub(crate) fn begin(to: To, table: &'static Table) -> io::Result<Box<dyn Rows>> {
    let mut file = Delimited(to);
    let names: Vec<_> = table.columns.iter().map(|column| Value::Text(column.name)).collect();
    file.row(&names)?;
    Ok(Box::new(file))
}

impl Rows for Delimited {
    fn row(&mut self, values: &[Value]) -> io::Result<()> {
        for (place, value) in values.iter().enumerate() {
            if place > 0 {
                self.0.write_all(b",")?;
            }
            match value {
                Value::Text(text) => self.0.write_all(quoted(text).as_bytes())?,
                Value::Integer(number) => write!(self.0, "{number}")?,
                Value::Number(number) => write!(self.0, "{number}")?,
                Value::Truth(truth) => write!(self.0, "{truth}")?,
                Value::Missing => {}
            }
        }
        self.0.write_all(b"\r\n")
    }

    fn end(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns a text as a field. An empty text is quoted, to distinguish it from a missing value.
fn quoted(text: &str) -> String {
    match text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
