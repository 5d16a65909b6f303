//! Parquet: columns, compressed with zstd, in groups of rows; the file's metadata has the meaning of each column.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::table::{Column, Kind, Rows, Table, To, Value};

/// Number of rows that are collected in memory before they are written together.
const GROUP: usize = 64 << 10;

/// The values of one column that are waiting to be written.
enum Waiting {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Number(Vec<f64>),
    Truth(Vec<bool>),
}

impl Waiting {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(Vec::new()),
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Number => Self::Number(Vec::new()),
            Kind::Truth => Self::Truth(Vec::new()),
        }
    }

    /// Adds a value; returns false if it is missing or of another kind.
    fn push(&mut self, value: &Value) -> bool {
        match (self, *value) {
            (Self::Text(all), Value::Text(text)) => all.push(ByteArray::from(text)),
            (Self::Integer(all), Value::Integer(number)) => {
                all.push(i64::try_from(number).unwrap_or(i64::MAX));
            }
            (Self::Number(all), Value::Number(number)) => all.push(number),
            (Self::Truth(all), Value::Truth(truth)) => all.push(truth),
            _ => return false,
        }
        true
    }

    /// Writes the values; `known` has a 1 for each row with a value, and a 0 for each without.
    fn write(
        &mut self,
        column: &mut SerializedColumnWriter,
        known: &[i16],
    ) -> Result<(), ParquetError> {
        match self {
            Self::Text(all) => {
                column.typed::<ByteArrayType>().write_batch(all, Some(known), None)?;
                all.clear();
            }
            Self::Integer(all) => {
                column.typed::<Int64Type>().write_batch(all, Some(known), None)?;
                all.clear();
            }
            Self::Number(all) => {
                column.typed::<DoubleType>().write_batch(all, Some(known), None)?;
                all.clear();
            }
            Self::Truth(all) => {
                column.typed::<BoolType>().write_batch(all, Some(known), None)?;
                all.clear();
            }
        }
        Ok(())
    }
}

struct File {
    to: SerializedFileWriter<To>,
    columns: Vec<(Waiting, Vec<i16>)>,
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let physical = match column.kind {
        Kind::Text => Physical::BYTE_ARRAY,
        Kind::Integer => Physical::INT64,
        Kind::Number => Physical::DOUBLE,
        Kind::Truth => Physical::BOOLEAN,
    };
    let text = (column.kind == Kind::Text).then_some(LogicalType::String);
    let field = Type::primitive_type_builder(column.name, physical);
    field.with_repetition(Repetition::OPTIONAL).with_logical_type(text).build().map(Arc::new)
}

pub(crate) fn begin(to: To, table: &'static Table) -> io::Result<Box<dyn Rows>> {
    let fields: Result<_, _> = table.columns.iter().map(field).collect();
    let schema =
        Type::group_type_builder(table.name).with_fields(fields.map_err(io_error)?).build();
    let about = table.columns.iter().map(|column| (column.name, column.about));
    let about = std::iter::once((table.name, table.about)).chain(about);
    let about = about.map(|(name, about)| KeyValue::new(name.to_owned(), about.to_owned()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(about.collect()))
        .set_created_by("fathom".to_owned())
        .build();
    let schema = Arc::new(schema.map_err(io_error)?);
    let to = SerializedFileWriter::new(to, schema, Arc::new(properties)).map_err(io_error)?;
    let columns = table.columns.iter().map(|column| (Waiting::new(column.kind), Vec::new()));
    Ok(Box::new(File { to, columns: columns.collect() }))
}

impl File {
    fn write(&mut self) -> Result<(), ParquetError> {
        let mut group = self.to.next_row_group()?;
        for (values, known) in &mut self.columns {
            if let Some(mut column) = group.next_column()? {
                values.write(&mut column, known)?;
                column.close()?;
            }
            known.clear();
        }
        group.close()?;
        Ok(())
    }

    fn waiting(&self) -> usize {
        self.columns.first().map_or(0, |(_, known)| known.len())
    }
}

impl Rows for File {
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        for ((values, known), value) in self.columns.iter_mut().zip(row) {
            known.push(i16::from(values.push(value)));
        }
        if self.waiting() == GROUP {
            self.write().map_err(io_error)?;
        }
        Ok(())
    }

    fn end(mut self: Box<Self>) -> io::Result<()> {
        if self.waiting() > 0 {
            self.write().map_err(io_error)?;
        }
        self.to.close().map(|_| ()).map_err(io_error)
    }
}
