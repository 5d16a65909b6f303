//! Attributes and limits of a device of the lab: `limit`, `logical_block`, `rotational`, `write_cache`, `discard`, `destage`.

use std::ops::Range;

use disk::{Attributes, Destage, Limit, Throughput};
use serde::de::DeserializeOwned;
use toml::Spanned;
use units::{Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;

const SWITCH: &str = "true or false";
const LIMIT: Key =
    key("limit", "a table of limits", "{ read_iops = 120, write_throughput = \"100M/s\" }");
const LOGICAL_BLOCK: Key = key("logical_block", "512 or 4096", "4096");
const ROTATIONAL: Key = key("rotational", SWITCH, "true");
const WRITE_CACHE: Key = key("write_cache", SWITCH, "false");
const DISCARD: Key = key("discard", SWITCH, "false");
const DESTAGE: Key = key("destage", "\"at_flush\" or \"never\"", "\"at_flush\"");

const REQUESTS: &str = "how many in a second, a whole number";
const BYTES: &str = "how many bytes in a second";
const IOPS: Key = key("iops", REQUESTS, "500");
const READ_IOPS: Key = key("read_iops", REQUESTS, "120");
const WRITE_IOPS: Key = key("write_iops", REQUESTS, "500");
const THROUGHPUT: Key = key("throughput", BYTES, "\"100M/s\"");
const READ_THROUGHPUT: Key = key("read_throughput", BYTES, "\"100M/s\"");
const WRITE_THROUGHPUT: Key = key("write_throughput", BYTES, "\"100M/s\"");

/// Takes the attributes and limits out of the table of a device.
pub(crate) fn take(keys: &mut Table) -> Result<Attributes, Diagnostic> {
    let mut places: Vec<(&str, Range<usize>)> = Vec::new();
    let limit = match keys.table(&LIMIT, "A limit")? {
        None => Limit::default(),
        Some(mut table) => {
            places.push(("limit", table.at()));
            let p = &mut places;
            let limit = Limit {
                iops: one(&mut table, &IOPS, p)?,
                read_iops: one(&mut table, &READ_IOPS, p)?,
                write_iops: one(&mut table, &WRITE_IOPS, p)?,
                throughput: one::<Throughput>(&mut table, &THROUGHPUT, p)?,
                read_throughput: one(&mut table, &READ_THROUGHPUT, p)?,
                write_throughput: one(&mut table, &WRITE_THROUGHPUT, p)?,
            };
            table.finish()?;
            limit
        }
    };
    let p = &mut places;
    let attributes = Attributes {
        limit,
        logical_block: one(keys, &LOGICAL_BLOCK, p)?,
        rotational: one(keys, &ROTATIONAL, p)?,
        write_cache: one(keys, &WRITE_CACHE, p)?,
        discard: one(keys, &DISCARD, p)?,
        destage: one::<Destage>(keys, &DESTAGE, p)?,
    };
    attributes.check().map_err(|error| {
        let message = error.to_string();
        let path = message.split(':').next().unwrap_or_default();
        let name = path.rsplit('.').next().unwrap_or_default();
        let at = places.iter().find(|(key, _)| *key == name).map(|(_, at)| at.clone());
        Diagnostic { message, span: at, help: Some(error.help()), ..Diagnostic::default() }
    })?;
    Ok(attributes)
}

/// Takes one key out, and notes where it is written.
fn one<T: DeserializeOwned>(
    table: &mut Table,
    key: &Key,
    places: &mut Vec<(&'static str, Range<usize>)>,
) -> Result<Option<T>, Diagnostic> {
    let value: Option<Spanned<T>> = table.take(key)?;
    Ok(value.map(|value| {
        places.push((key.name, value.span()));
        value.into_inner()
    }))
}
