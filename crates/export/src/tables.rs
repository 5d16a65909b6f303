//! The tables of a result, each with its columns and its rows.

use std::io;

use results::model::{
    Accelerator, CellState, LayerFigures, MachineFacts, OperationSummary, StageRecord,
};
use results::{CellData, ResultSet, Seal};

use crate::columns::{
    BYTES, CELL, END, ERRORS, IOS, MAX, MEAN, MIN, OPERATION, P50, P99, P999, REPEAT, RUN_ID,
    STAGE, START, VARIANT, integer, key, latency, number, text, truth,
};
use crate::over_time::{INTERVALS, SAMPLES};
use crate::table::{Table, Take, Value};

/// All tables, the largest last.
pub static TABLES: &[&Table] =
    &[&RUNS, &CELLS, &STAGES, &OPERATIONS, &LAYERS, &INTERVALS, &SAMPLES];

fn fact<'a>(facts: &'a MachineFacts, name: &str) -> Value<'a> {
    Value::text(facts.0.get(name).map(String::as_str))
}

/// Returns every stage in the cells' records, with its cell.
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
        text("incomplete", "why the result is incomplete; missing where it is complete"),
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
    about: "one row per cell: one repeat of one variant",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        text("levels", "level of each factor, as a JSON object"),
        text(
            "state",
            "pending, running, done, failed, interrupted or skipped; only figures of done cells count",
        ),
        text("reason", "why it failed or was interrupted"),
        START,
        END,
        text("kernel", "kernel of the machine that ran it"),
        text("cpu", "processor of the machine that ran it"),
        text("memory", "bytes of memory of the machine that ran it"),
        number(
            "others_percent",
            "CPU time of programs that do not belong to the run, percent of all CPUs of that machine",
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
    about: "one row per stage of a cell",
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
        number(
            "machine_busy_s",
            "CPU seconds in which a CPU of the machine was not idle, from the beginning of the load until the stack had come to rest",
        ),
        number("elapsed_s", "duration of its command, or of its action on the stack, seconds"),
        text("error", "why it failed"),
    ],
    rows: |set, take| {
        for (cell, stage) in stages(set) {
            let (load, command) = (stage.load.as_ref(), stage.command.as_ref());
            let cpu = load.and_then(|load| load.cpu);
            let cpu = cpu.map(|cpu| (Some(cpu.user_s), Some(cpu.system_s)));
            let cpu = cpu.or(command.map(|command| (command.cpu_user_s, command.cpu_system_s)));
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
    about: "one row per operation of a stage's load, over the whole load; with several targets also one row per target",
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
        integer("attempted", "operations on a tree that were attempted; missing for other loads"),
        integer("expected_errors", "attempted operations that failed as expected"),
        integer("skipped", "operations on a tree that were not attempted"),
    ],
    rows: operations,
};

fn operations(set: &ResultSet, take: &mut Take) -> io::Result<()> {
    for (cell, stage) in stages(set) {
        let Some(load) = &stage.load else { continue };
        let all = load.operations.iter().map(|(name, figures)| (None, name, figures));
        let targets = load.targets.iter().flat_map(|target| {
            let operations = target.operations.iter();
            operations.map(|(name, figures)| (Some(target.target.as_str()), name, figures))
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
    about: "one row per figure of a layer or device, over a stage or the whole cell",
    columns: &[
        RUN_ID,
        CELL,
        VARIANT,
        REPEAT,
        integer("stage", "the stage's place in the cell; missing for figures over the whole cell"),
        text("layer", "name of the layer or device in the experiment"),
        text("figure", "id of the figure: fathom layers LAYER says what it is"),
        number("value", "its value; missing where the layer does not report it"),
    ],
    rows: |set, take| {
        for cell in &set.cells {
            let Some(record) = &cell.record else { continue };
            let over_cell = record.layers.iter().map(|(layer, figures)| (None, layer, figures));
            let over_stages = record.stages.iter().flat_map(|stage| {
                let all = stage.layers.iter();
                all.map(|(layer, figures)| (Some(stage.index as u64), layer, figures))
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
