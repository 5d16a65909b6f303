//! A trace as JSON.

use advise::{Grid, ROWS};
use disk::Op;
use disk::trace::Trace as DiskTrace;
use serde_json::{Map, Value, json};

use super::shown::Shown;
use crate::commands::disk::trace as disk_trace;

/// Returns the figures of a recording, and the further facts of a modelled disk.
pub(super) fn document(shown: Option<&Shown>, modelled: Option<&DiskTrace>) -> Value {
    let mut all = Map::from_iter([("schema".to_owned(), json!(1))]);
    let parts = [modelled.map(disk_trace::document), shown.map(figures)];
    for part in parts.into_iter().flatten() {
        if let Value::Object(part) = part {
            all.extend(part);
        }
    }
    Value::Object(all)
}

fn figures(shown: &Shown) -> Value {
    let Shown { trace, figures } = shown;
    let growth = figures.growth().into_iter();
    let growth = growth.map(|(end, bytes)| json!({ "end": end, "bytes": bytes }));
    let ops = Op::ALL.into_iter().filter(|op| figures.analysis().pattern().counts_of(*op).ios > 0);
    let over_time = ops.map(|op| (op.name().to_owned(), json!(figures.ios_over_time(op))));
    let mut over_time: Map<_, _> = over_time.collect();
    over_time.insert("seeks".into(), json!(figures.seeks_over_time()));
    let grids = Op::ALL.into_iter().filter_map(|op| Some((op, figures.grid(op)?)));
    let grids = grids.map(|(op, grid)| (op.name().to_owned(), json!(cells(grid))));
    let extent = figures.extent();
    json!({
        "files": trace.files(),
        "not_named": trace.unnamed_siblings().iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "seconds": figures.seconds(),
        "over": if figures.timed() { "nanoseconds" } else { "ios" },
        "span": extent.span(),
        "ios": figures.ops(),
        "seeks": figures.seeks(),
        "most_seeks_per_second": figures.most_per_second(figures.seeks_over_time()),
        "touched": figures.analysis().touched(),
        "growth": growth.collect::<Vec<_>>(),
        "reuse": figures.reuse(),
        "over_time": over_time,
        "picture": {
            "columns": advise::COLUMNS, "rows": ROWS,
            "low_byte": extent.low(), "row_bytes": extent.row_bytes(),
            "cells": grids.collect::<Map<_, _>>(),
        },
    })
}

/// Returns the cells with bytes: column, row, bytes.
fn cells(grid: &Grid) -> Vec<(usize, usize, u64)> {
    let row = |row: usize| {
        let all = grid.row(row).iter().enumerate();
        all.filter(|(_, bytes)| **bytes > 0).map(move |(column, bytes)| (column, row, *bytes))
    };
    (0..ROWS).flat_map(row).collect()
}
