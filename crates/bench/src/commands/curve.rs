//! `fathom-bench curve`: the sampled curve of a cache compared with the whole one, and how fast it is made.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use advise::{Shards, Touch};
use serde_json::{Value, json};
use units::Seed;
use workload::{LoadSpec, Range, Stream};

use crate::args::CurveArgs;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json_line};

/// Loads whose curves are made: skewed ones, and a mix with a loop over everything.
const LOADS: [(&str, &str, u64); 3] = [
    ("zipf:0.8", "zipf:0.8", 0),
    ("zipf:1.1", "zipf:1.1", 0),
    ("zipf:0.9 and a loop", "zipf:0.9", 2),
];
/// Largest share of the chunks that is followed.
const PART: f64 = 0.01;
const CHUNK: u64 = 64 << 10;
/// Points of percent by which the curves may differ on average.
const MOST_POINTS: f64 = 0.1;
/// Number of turns of each loop; the fastest counts.
const TURNS: usize = 3;

/// One load, measured.
struct Measured {
    name: &'static str,
    followed: usize,
    error_points: f64,
    /// I/Os per second of one core: a bare loop, all chunks followed, the sample.
    bare: f64,
    whole: f64,
    sample: f64,
}

pub fn curve(args: &CurveArgs) -> Result<ExitCode, Failure> {
    let measured = LOADS.map(|(name, pattern, every)| measure(args, name, (pattern, every)));
    let measured: Vec<Measured> = measured.into_iter().collect::<Result<_, _>>()?;
    if args.json {
        let loads: Vec<_> = measured.iter().map(row).collect();
        json_line(&json!({ "schema": 1, "ios": args.ios, "chunks": args.chunks, "loads": loads }));
    } else {
        let mut text = Text::from(format!(
            "{} I/Os to {} chunks, at most one in 100 of those touched is followed",
            args.ios, args.chunks
        ));
        for one in &measured {
            text.line(format!(
                "{:20} off by {:.3} points with {} followed; million I/Os a second: {:.0} ({:.2} of a bare loop), all followed {:.1}",
                one.name,
                one.error_points,
                one.followed,
                one.sample / 1e6,
                one.sample / one.bare,
                one.whole / 1e6,
            ));
        }
        answer(&text);
    }
    let missed = measured.iter().any(|one| one.error_points > MOST_POINTS);
    Ok(ExitCode::from(u8::from(missed)))
}

fn row(one: &Measured) -> Value {
    json!({
        "load": one.name, "followed": one.followed, "error_points": one.error_points,
        "bare_ios_per_second": one.bare, "whole_ios_per_second": one.whole, "ios_per_second": one.sample,
    })
}

/// Returns the chunks that a load touches; one I/O in `every` is one of a loop over all of them.
fn chunks(args: &CurveArgs, pattern: &str, every: u64) -> Result<Vec<u64>, Failure> {
    let text = json!({ "ops": "randread", "pattern": pattern, "block_size": "64k" }).to_string();
    let load: LoadSpec = serde_json::from_str(&text).map_err(Failure::usage)?;
    let range = Range { start: 0, bytes: args.chunks * CHUNK };
    let stream = Stream::new(&load, &range, Seed(7), 0, 1);
    let at = |(at, io): (u64, workload::Io)| match every {
        0 => io.offset / CHUNK,
        every if at.is_multiple_of(every) => at / every % args.chunks,
        _ => io.offset / CHUNK,
    };
    Ok((0..args.ios).zip(stream).map(at).collect())
}

fn measure(
    args: &CurveArgs,
    name: &'static str,
    (pattern, every): (&str, u64),
) -> Result<Measured, Failure> {
    let chunks = chunks(args, pattern, every)?;
    let fastest = |turn: &dyn Fn()| {
        let seconds = (0..TURNS).map(|_| {
            let begun = Instant::now();
            turn();
            begun.elapsed().as_secs_f64()
        });
        chunks.len() as f64 / seconds.fold(f64::INFINITY, f64::min)
    };
    let followed = |most| {
        let mut shards = Shards::new(most);
        chunks.iter().for_each(|chunk| shards.touch(*chunk, Touch::Read, 1));
        shards
    };
    let bare = fastest(&|| {
        chunks.iter().for_each(|chunk| {
            black_box(*chunk);
        });
    });
    let begun = Instant::now();
    let all = followed(usize::MAX);
    let whole = chunks.len() as f64 / begun.elapsed().as_secs_f64();
    let most = (all.followed() as f64 * PART) as usize;
    let sample = fastest(&|| drop(black_box(followed(most))));
    let part = followed(most);
    let ([whole_curve, _], [curve, _]) = (all.curves(), part.curves());
    let off = |step: u64| {
        let size = (args.chunks * (2 * step + 1) / 200) as f64;
        let [one, other] =
            [&whole_curve, &curve].map(|curve| curve.hits_percent(size).unwrap_or(0.0));
        (one - other).abs()
    };
    let error_points = (0..100).map(off).sum::<f64>() / 100.0;
    Ok(Measured { name, followed: part.followed(), error_points, bare, whole, sample })
}
