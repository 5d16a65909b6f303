//! `fathom disk bench`: a load on a modelled disk, in model time.

use std::io::BufWriter;
use std::process::ExitCode;

use disk::bench::{Load, LoadResult, run_on};
use disk::trace::{Header, Writer};
use disk::{Disk, Op, Profile, Shape};
use serde_json::json;
use units::Bytes;
use units::show::{bytes, count};
use workload::{OpKind, OpName};

use super::table::{significant, table, time};
use crate::args::DiskBenchArgs;
use crate::failure::Failure;
use crate::outputs::{self, Output, OutputKind};
use crate::terminal::{Text, answer, json as put_json, say};

/// Requests after which a load ends in any case.
const MAX_REQUESTS: u64 = 2_000_000;
/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;
/// The largest disk: offsets in a trace have 56 bits.
const LARGEST: Bytes = Bytes(1 << 50);

pub fn run(args: &DiskBenchArgs) -> Result<ExitCode, Failure> {
    let profile = args.like.profile()?;
    let load = load(args)?;
    let output =
        args.trace.as_ref().map(|path| Output { option: "--trace", path, kind: OutputKind::Trace });
    outputs::check(output.as_slice(), &[])?;
    let (mut rows, mut written) = (Vec::new(), Ok(()));
    for (i, depth) in args.depth.iter().enumerate() {
        let load = Load { depth: *depth, ..load.clone() };
        let traced = output.as_ref().filter(|_| i == 0);
        let (reached, trace) = one(args, &profile, &load, traced)?;
        rows.push((*depth, reached));
        written = written.and(trace);
    }
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(depth, figures)| json!({"depth": depth, "figures": figures}))
            .collect();
        let document = json!({
            "schema": 1, "like": args.like, "size": args.size, "block_size": args.block_size,
            "ops": args.ops, "seed": args.seed, "rows": rows,
        });
        put_json(&document.to_string());
    } else {
        answer(&page(args, &rows));
    }
    // The figures come first: they are not lost with a trace.
    written.map(|()| ExitCode::SUCCESS)
}

/// Runs one depth on a fresh disk, with a trace of it where that is wanted. Returns what it reached, and the outcome of writing the trace.
fn one(
    args: &DiskBenchArgs,
    profile: &Profile,
    load: &Load,
    traced: Option<&Output>,
) -> Result<(LoadResult, Result<(), Failure>), Failure> {
    let disk = Disk::new(profile, args.size.0);
    let Some(output) = traced else {
        return Ok((run_on(disk, args.size.0, load, &mut |_| {}).0, Ok(())));
    };
    let refused = |error: std::io::Error| output.not_written(&error);
    let header = Header {
        role: args.like.base.clone(),
        size: args.size.0,
        like: args.like.clone(),
        faults: Vec::new(),
        attributes: disk::Attributes::default(),
    };
    let draft = output.begin()?;
    let file = BufWriter::new(draft.file().try_clone().map_err(refused)?);
    let mut writer = Writer::begin(file, &header, MAX_REQUESTS).map_err(refused)?;
    let mut lost = None;
    let (reached, ..) = run_on(disk, args.size.0, load, &mut |record| {
        if lost.is_none() {
            lost = writer.add(record).err();
        }
    });
    let written = lost.map_or(Ok(()), Err).and_then(|()| writer.finish().map(drop));
    let written = written.and_then(|()| draft.finish().map(drop)).map_err(refused);
    if written.is_ok() {
        say(&format!("trace of depth {}: {}", load.depth, output.path.display()));
    }
    Ok((reached, written))
}

/// Refuses sizes that no disk has.
pub(super) fn check_size(size: Bytes, block: Bytes) -> Result<(), Failure> {
    let least = Bytes((64 * Bytes::MIB).max(block.0));
    if size < least || size > LARGEST || !size.0.is_multiple_of(4096) {
        return Err(Failure::usage(format!("--size {size} is not a size of a modelled disk"))
            .with_help(format!("give a multiple of 4 KiB from {least} to {LARGEST}")));
    }
    Ok(())
}

fn load(args: &DiskBenchArgs) -> Result<Load, Failure> {
    let block = args.block_size;
    if block.0 < 512 || block.0 > 64 * Bytes::MIB || !block.0.is_multiple_of(512) {
        return Err(Failure::usage(format!("--block-size {block} is not a size of a request"))
            .with_help("give a multiple of 512 from 512 to 64M"));
    }
    check_size(args.size, block)?;
    let sum: f64 = args.ops.shares().map(|(_, share)| share.0).sum();
    if (sum - 100.0).abs() > 1e-6 {
        return Err(Failure::usage(format!("the shares of --ops sum to {sum}, not to 100"))
            .with_help("write them as in randread=70,randwrite=30"));
    }
    if args.duration.0 == 0 || args.duration.0 > HOUR || args.ramp.0 > HOUR || args.think.0 > HOUR {
        return Err(Failure::usage(
            "--duration, --ramp and --think are an hour at most, and --duration is above 0",
        )
        .with_help("a minute of model time is enough for most loads, as in --duration 60s"));
    }
    let ops = args.ops.shares().map(|(op, share)| Ok((kind(op)?, shape(op, args), share.0)));
    Ok(Load {
        ops: ops.collect::<Result<_, Failure>>()?,
        block: block.0,
        depth: 1,
        think: args.think.0,
        ramp: args.ramp.0,
        duration: args.duration.0,
        most: MAX_REQUESTS,
        seed: args.seed,
    })
}

fn kind(op: OpName) -> Result<Op, Failure> {
    match op.kind() {
        OpKind::Read => Ok(Op::Read),
        OpKind::Write => Ok(Op::Write),
        OpKind::Discard => Ok(Op::Discard),
        OpKind::Flush => Ok(Op::Flush),
        OpKind::WriteZeroes => {
            Err(Failure::usage(format!("--ops {op}: models know no such operation"))
                .with_help("take read, write, discard, randread, randwrite, randdiscard or flush"))
        }
    }
}

fn shape(op: OpName, args: &DiskBenchArgs) -> Shape {
    if op.is_random() { Shape::Random(args.range.fraction()) } else { Shape::Sequential(0.0) }
}

fn page(args: &DiskBenchArgs, rows: &[(u32, LoadResult)]) -> Text {
    let mut text = Text::from(format!(
        "{} of {}, {} in requests of {}, in model time",
        args.like, args.size, args.ops, args.block_size
    ));
    let cells = |(depth, reached): &(u32, LoadResult)| {
        vec![
            depth.to_string(),
            count(significant(reached.iops)),
            format!("{}/s", bytes(reached.throughput_bytes_per_s)),
            time(reached.latency_p50_ns as f64),
            time(reached.latency_p99_ns as f64),
            count(reached.requests as f64),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    text.append(&table(&["depth", "IOPS", "throughput", "p50", "p99", "requests"], &rows));
    text
}
