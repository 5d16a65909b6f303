//! JSON lines: one object per row.

use std::io::{self, Write};

use crate::table::{Rows, Table, To, Value};

struct Lines {
    to: To,
    table: &'static Table,
}

pub(crate) fn begin(to: To, table: &'static Table) -> io::Result<Box<dyn Rows>> {
    Ok(Box::new(Lines { to, table }))
}

impl Rows for Lines {
    fn row(&mut self, values: &[Value]) -> io::Result<()> {
        let json = |value: &Value| match *value {
            Value::Text(text) => text.into(),
            Value::Integer(number) => number.into(),
            Value::Number(number) => number.into(),
            Value::Truth(truth) => truth.into(),
            Value::Missing => serde_json::Value::Null,
        };
        let names = self.table.columns.iter().map(|column| column.name.to_owned());
        let object: serde_json::Map<_, _> = names.zip(values.iter().map(json)).collect();
        serde_json::to_writer(&mut self.to, &object)?;
        self.to.write_all(b"\n")
    }

    fn end(mut self: Box<Self>) -> io::Result<()> {
        self.to.flush()
    }
}
