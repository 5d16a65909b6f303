//! The tables of a result, each with its columns and its rows.

use std::io;

use results::model::{
    Accelerator, CellState, IntervalRow, LatencySummary, LayerFigures, MachineFacts,
    OperationSummary, Row, SampleRow, StageRecord,
};
use results::{CellData, ResultSet, Seal};

use crate::table::{Column, Kind, Table, Take, Value};

/// Every table, the largest last.
pub static TABLES: &[&Table] =
    &[&RUNS, &CELLS, &STAGES, &OPERATIONS, &LAYERS, &INTERVALS, &SAMPLES];

const fn text(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Text, about }
}

const fn integer(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Integer, about }
}

const fn number(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Number, about }
}

const fn truth(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Truth, about }
}

const RUN_ID: Column = text("run_id", "id of the run, unique");
const CELL: Column = integer("cell", "the cell's place in the order of running, from 0");
const VARIANT: Column = text("variant", "name of the cell's variant");
const REPEAT: Column = integer("repeat", "the cell's repeat, from 1");
const STAGE: Column = integer("stage", "the stage's place in the cell, from 0");
const OPERATION: Column = text("operation", "the operation as given (randwrite)");
const START: Column = integer("start_ns", "start, nanoseconds since the run's epoch");
const END: Column = integer("end_ns", "end, nanoseconds since the run's epoch");
const IOS: Column = integer("ios", "I/Os that completed without error");
const BYTES: Column = integer("bytes", "bytes that they moved");
const ERRORS: Column = integer("errors", "I/Os that failed");
const MEAN: Column = number("latency_mean_ns", "mean latency of the completed I/Os, nanoseconds");
const MIN: Column = integer("latency_min_ns", "smallest latency, nanoseconds");
const P50: Column = integer("latency_p50_ns", "median latency, nanoseconds");
const P99: Column = integer("latency_p99_ns", "99th percentile of the latency, nanoseconds");
const P999: Column = integer("latency_p999_ns", "99.9th percentile of the latency, nanoseconds");
const MAX: Column = integer("latency_max_ns", "largest latency, nanoseconds");

/// The values of a latency, in the order of its columns.
fn latency(of: Option<LatencySummary>) -> [Value<'static>; 6] {
    let whole = |part: fn(LatencySummary) -> u64| Value::integer(of.map(part));
    [
        Value::number(of.map(|of| of.mean_ns)),
        whole(|of| of.min_ns),
        whole(|of| of.p50_ns),
        whole(|of| of.p99_ns),
        whole(|of| of.p999_ns),
        whole(|of| of.max_ns),
    ]
}

/// The values that say of which cell a row is: run, cell, variant, repeat.
fn key<'a>(set: &'a ResultSet, cell: &'a CellData) -> [Value<'a>; 4] {
    [
        Value::Text(&set.manifest.run_id),
        Value::Integer(cell.entry.index as u64),
        Value::Text(&cell.entry.variant),
        Value::Integer(cell.entry.repeat.into()),
    ]
}

fn fact<'a>(facts: &'a MachineFacts, name: &str) -> Value<'a> {
    Value::text(facts.0.get(name).map(String::as_str))
}

/// Every stage that a cell's record has, with the cell.
fn stages(set: &ResultSet) -> impl Iterator<Item = (&CellData, &StageRecord)> {
    let records = set.cells.iter().filter_map(|cell| Some((cell, cell.record.as_ref()?)));
    records.flat_map(|(cell, record)| record.stages.iter().map(move |stage| (cell, stage)))
}

static RUNS: Table = Table {
    name: "runs",
    about: "one row: the run",
    columns: &[
        RUN_ID,
        text("experiment", "name of the experiment"),
        text("scale", "the scale that it ran at"),
        text("started_utc", "when it started: UTC, RFC 3339"),
        text("ended_utc", "when it ended; missing while it runs and after a kill"),
        text("outcome", "how it ended"),
        text("tool_version", "version of Fathom"),
        text("seed", "the seed that everything random came from"),
        text("accelerator", "kvm or tcg (an emulated CPU) in the lab, none without a lab"),
        truth("simulated", "true where layers and engine were simulated: no figure is real"),
        text("host_kernel", "kernel of the machine that Fathom was started on"),
        text("host_cpu", "processor of that machine"),
        text("guest_kernel", "kernel of the lab's machine"),
        text("incomplete", "why the result is not whole; missing where it is"),
        truth("unchanged", "true where every file is as the run left it; missing without a seal"),
    ],
    rows: runs,
};

fn runs(set: &ResultSet, take: &mut Take) -> io::Result<()> {
    let run = &set.manifest;
    let seed = run.seed.0.to_string();
    let guest = run.guest.as_ref();
    take(&[
        Value::Text(&run.run_id),
        Value::Text(&run.plan.experiment),
        Value::text(run.plan.scale.as_deref()),
        Value::Text(&run.started_utc),
        Value::text(run.ended_utc.as_deref()),
        Value::text(run.outcome.as_deref()),
        Value::Text(&run.tool_version),
        Value::Text(&seed),
        Value::Text(match run.accelerator {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
            Accelerator::None => "none",
        }),
        Value::Truth(run.simulated),
        fact(&run.host, "kernel"),
        fact(&run.host, "cpu"),
        guest.map_or(Value::Missing, |guest| fact(guest, "kernel")),
        Value::text(set.incomplete.as_deref()),
        match set.seal {
            Seal::None => Value::Missing,
            Seal::Whole => Value::Truth(true),
            Seal::Broken(_) => Value::Truth(false),
        },
    ])
}

static CELLS: Table = Table {
    name: "cells",
    about: "one row a cell: one repeat of one variant",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        text("levels", "level of each factor, as a JSON object"),
        text(
            "state",
            "pending, running, done, failed, interrupted or skipped; figures of done cells count alone",
        ),
        text("reason", "why it failed or was interrupted"),
        START,
        END,
        text("kernel", "kernel of the machine that ran it"),
        text("cpu", "processor of the machine that ran it"),
        text("memory", "bytes of memory of the machine that ran it"),
        number(
            "others_percent",
            "CPU time of programs that are not the run's, percent of all CPUs of that machine",
        ),
        number(
            "steal_percent",
            "CPU time that the machine's own host took from it, percent of all CPUs",
        ),
    ],
    rows: cells,
};

fn cells(set: &ResultSet, take: &mut Take) -> io::Result<()> {
    for cell in &set.cells {
        let record = cell.record.as_ref();
        let variants = &set.manifest.plan.variants;
        let variant = variants.iter().find(|one| one.name == cell.entry.variant);
        let levels = variant.map(|one| serde_json::to_string(&one.levels)).transpose()?;
        let load = record.and_then(|record| record.machine);
        let ran_on = |name| record.map_or(Value::Missing, |record| fact(&record.ran_on, name));
        let [run, index, variant, repeat] = key(set, cell);
        take(&[
            run,
            index,
            variant,
            repeat,
            Value::text(levels.as_deref()),
            Value::Text(word(cell.state())),
            Value::text(cell.reason()),
            Value::integer(record.map(|record| record.start_ns)),
            Value::integer(record.and_then(|record| record.end_ns)),
            ran_on("kernel"),
            ran_on("cpu"),
            ran_on("memory"),
            Value::number(load.and_then(|load| load.others_percent)),
            Value::number(load.and_then(|load| load.steal_percent)),
        ])?;
    }
    Ok(())
}

fn word(state: CellState) -> &'static str {
    match state {
        CellState::Pending => "pending",
        CellState::Running => "running",
        CellState::Done => "done",
        CellState::Failed => "failed",
        CellState::Interrupted => "interrupted",
        CellState::Skipped => "skipped",
    }
}

static STAGES: Table = Table {
    name: "stages",
    about: "one row a stage of a cell",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        STAGE,
        text("name", "name of the stage"),
        text("kind", "what it does (load, fill, command, ...)"),
        truth("measured", "true where its figures are the measured ones"),
        START,
        END,
        integer("load_ns", "how long its load was measured, nanoseconds"),
        text("ended_by", "why its load ended"),
        number("cpu_user_s", "CPU seconds of its load or command in user mode"),
        number("cpu_system_s", "CPU seconds of its load or command in the kernel"),
        number("machine_busy_s", "CPU seconds in which a CPU of the machine was not idle"),
        number("elapsed_s", "how long its command, or what is done to the stack, took, seconds"),
        text("error", "why it failed"),
    ],
    rows: |set, take| {
        for (cell, stage) in stages(set) {
            let (load, command) = (stage.load.as_ref(), stage.command.as_ref());
            let cpu = load.and_then(|load| load.cpu);
            let cpu = cpu.map(|cpu| (Some(cpu.user_s), Some(cpu.system_s)));
            let cpu = cpu.or(command.map(|own| (own.cpu_user_s, own.cpu_system_s)));
            let [run, index, variant, repeat] = key(set, cell);
            take(&[
                run,
                index,
                variant,
                repeat,
                Value::Integer(stage.index as u64),
                Value::Text(&stage.name),
                Value::Text(&stage.kind),
                Value::Truth(stage.measured),
                Value::Integer(stage.start_ns),
                Value::integer(stage.end_ns),
                Value::integer(load.map(|load| load.duration_ns)),
                Value::text(load.map(|load| load.ended_by.as_str())),
                Value::number(cpu.and_then(|cpu| cpu.0)),
                Value::number(cpu.and_then(|cpu| cpu.1)),
                Value::number(stage.machine.get("busy_s").copied().flatten()),
                Value::number(
                    command.and_then(|command| command.elapsed_s).or_else(|| stage.timed_s()),
                ),
                Value::text(stage.error.as_deref()),
            ])?;
        }
        Ok(())
    },
};

static OPERATIONS: Table = Table {
    name: "operations",
    about: "one row an operation of a stage's load, over the whole load; of several targets one row each besides",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        STAGE,
        text("stage_name", "name of the stage"),
        truth("measured", "true where the stage's figures are the measured ones"),
        text("target", "the target; missing in the row over all targets"),
        OPERATION,
        IOS,
        BYTES,
        ERRORS,
        number("iops", "completed I/Os per second"),
        number("throughput", "bytes per second"),
        MEAN,
        MIN,
        P50,
        P99,
        P999,
        MAX,
        integer("attempted", "operations on a tree that were tried; missing for other loads"),
        integer("expected_errors", "those of them that failed as they had to"),
        integer("skipped", "operations on a tree that were not tried"),
    ],
    rows: operations,
};

fn operations(set: &ResultSet, take: &mut Take) -> io::Result<()> {
    for (cell, stage) in stages(set) {
        let Some(load) = &stage.load else { continue };
        let all = load.operations.iter().map(|(name, figures)| (None, name, figures));
        let targets = load.targets.iter().flat_map(|target| {
            let own = target.operations.iter();
            own.map(|(name, figures)| (Some(target.target.as_str()), name, figures))
        });
        for (target, name, figures) in all.chain(targets) {
            take(&operation(key(set, cell), stage, (target, name), figures))?;
        }
    }
    Ok(())
}

fn operation<'a>(
    [run, index, variant, repeat]: [Value<'a>; 4],
    stage: &'a StageRecord,
    (target, name): (Option<&'a str>, &'a str),
    figures: &'a OperationSummary,
) -> [Value<'a>; 23] {
    let [mean, min, p50, p99, p999, max] = latency(figures.latency);
    let expected = figures.expected_errors.as_ref();
    [
        run,
        index,
        variant,
        repeat,
        Value::Integer(stage.index as u64),
        Value::Text(&stage.name),
        Value::Truth(stage.measured),
        Value::text(target),
        Value::Text(name),
        Value::Integer(figures.ios),
        Value::Integer(figures.bytes),
        Value::Integer(figures.errors.values().sum()),
        Value::number(figures.iops),
        Value::number(figures.throughput_bytes_per_s),
        mean,
        min,
        p50,
        p99,
        p999,
        max,
        Value::integer(figures.attempted),
        Value::integer(expected.map(|errors| errors.values().sum())),
        Value::integer(figures.skipped),
    ]
}

static LAYERS: Table = Table {
    name: "layers",
    about: "one row a figure of a layer or device, over a stage or the whole cell",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        integer("stage", "the stage's place in the cell; missing for figures over the whole cell"),
        text("layer", "name of the layer or device in the experiment"),
        text("figure", "id of the figure: fathom layers LAYER says what it is"),
        number("value", "its value; missing where the layer does not tell it"),
    ],
    rows: |set, take| {
        for cell in &set.cells {
            let Some(record) = &cell.record else { continue };
            let over_cell = record.layers.iter().map(|(layer, own)| (None, layer, own));
            let over_stages = record.stages.iter().flat_map(|stage| {
                let all = stage.layers.iter();
                all.map(|(layer, own)| (Some(stage.index as u64), layer, own))
            });
            for (stage, layer, figures) in over_cell.chain(over_stages) {
                layer_figures(key(set, cell), stage, layer, figures, take)?;
            }
        }
        Ok(())
    },
};

fn layer_figures(
    [run, index, variant, repeat]: [Value; 4],
    stage: Option<u64>,
    layer: &str,
    figures: &LayerFigures,
    take: &mut Take,
) -> io::Result<()> {
    let stage = Value::integer(stage);
    figures.iter().try_for_each(|(figure, value)| {
        let (layer, figure) = (Value::Text(layer), Value::Text(figure));
        take(&[run, index, variant, repeat, stage, layer, figure, Value::number(*value)])
    })
}

static INTERVALS: Table = Table {
    name: "intervals",
    about: "one row an operation and interval of a load; of a load with per_job one row each job besides",
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

static SAMPLES: Table = Table {
    name: "samples",
    about: "one row a counter that a source gave at one moment; one that could not be read is one row with its error",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        integer("at_ns", "when reading began, nanoseconds since the run's epoch"),
        text("source", "id of what was read (vdo.stats, machine.diskstats)"),
        text(
            "mark",
            "the defined moment that it was read at (stage_start, settled); missing between them",
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
