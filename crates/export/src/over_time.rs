//! The tables over time: intervals of loads, and samples.

use std::io;

use results::model::{IntervalRow, Row, SampleRow};

use crate::columns::{
    BYTES, CELL, END, ERRORS, IOS, MAX, MEAN, MIN, OPERATION, P50, P99, P999, REPEAT, RUN_ID,
    STAGE, START, VARIANT, integer, key, latency, number, text,
};
use crate::table::{Table, Take, Value};

pub(crate) static INTERVALS: Table = Table {
    name: "intervals",
    about: "one row per operation and interval of a load; for a load with per_job also one row per job",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        STAGE,
        integer("job", "the job, from 0; missing in the row over all jobs"),
        OPERATION,
        START,
        END,
        IOS,
        BYTES,
        ERRORS,
        MEAN,
        MIN,
        P50,
        P99,
        P999,
        MAX,
    ],
    rows: |set, take| {
        for cell in &set.cells {
            for row in &cell.rows {
                let (job, row) = match row {
                    Row::Interval(row) => (None, row),
                    Row::Job(job) => (Some(job.job.into()), &job.part),
                    Row::Sample(_) | Row::Stage(_) => continue,
                };
                take(&interval(key(set, cell), job, row))?;
            }
        }
        Ok(())
    },
};

fn interval<'a>(
    [run, index, variant, repeat]: [Value<'a>; 4],
    job: Option<u64>,
    row: &'a IntervalRow,
) -> [Value<'a>; 18] {
    let [mean, min, p50, p99, p999, max] = latency(row.latency);
    [
        run,
        index,
        variant,
        repeat,
        Value::Integer(row.stage as u64),
        Value::integer(job),
        Value::Text(&row.operation),
        Value::Integer(row.start_ns),
        Value::Integer(row.end_ns),
        Value::Integer(row.ios),
        Value::Integer(row.bytes),
        Value::Integer(row.errors),
        mean,
        min,
        p50,
        p99,
        p999,
        max,
    ]
}

pub(crate) static SAMPLES: Table = Table {
    name: "samples",
    about: "one row per counter that a source gave at one moment; a source that could not be read gives one row with the error",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        integer("at_ns", "when reading began, nanoseconds since the run's epoch"),
        text("source", "id of what was read (vdo.stats, machine.diskstats)"),
        text(
            "mark",
            "the defined moment at which it was read (stage_start, settled); missing for the samples in between",
        ),
        text("counter", "name of the counter, nested names joined with dots"),
        number("value", "its value; missing where the source had none"),
        text("error", "why nothing could be read"),
    ],
    rows: |set, take| {
        for cell in &set.cells {
            for row in &cell.rows {
                if let Row::Sample(sample) = row {
                    counters(key(set, cell), sample, take)?;
                }
            }
        }
        Ok(())
    },
};

fn counters(
    [run, index, variant, repeat]: [Value; 4],
    sample: &SampleRow,
    take: &mut Take,
) -> io::Result<()> {
    let mut one = |counter, value| {
        take(&[
            run,
            index,
            variant,
            repeat,
            Value::Integer(sample.at_ns),
            Value::Text(&sample.source),
            Value::text(sample.mark.as_deref()),
            counter,
            value,
            Value::text(sample.error.as_deref()),
        ])
    };
    if sample.fields.is_empty() {
        return one(Value::Missing, Value::Missing);
    }
    let mut fields = sample.fields.iter();
    fields.try_for_each(|(name, value)| one(Value::Text(name), Value::number(*value)))
}
