//! `fathom bisect step`: one candidate, for `git bisect run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use run::ExperimentSource;
use serde_json::json as object;
use stats::bisect::{Decision, Pair, Reading};
use sys::interrupt::{Interrupt, Level};
use units::Better;

use super::kept::{self, good_stands};
use super::measure::{Bench, default_out, rules};
use super::texts::{reading_json, reading_text};
use crate::args::BisectStepArgs;
use crate::failure::Failure;
use crate::terminal::{json, say};

/// Exit code at which `git bisect run` takes another commit.
const SKIP: u8 = 125;
/// Exit code at which `git bisect run` stops: every error, whatever code it has elsewhere.
pub const STOP: u8 = 128;

/// Decides the candidate. An error does not count as a verdict on it.
pub fn run(args: &BisectStepArgs) -> ExitCode {
    let code = shielded(|| decide(args));
    ExitCode::from(if Failure::lost_output().is_some() { STOP } else { code })
}

/// The exit code of `decide`; [`STOP`] after an error or a panic, whose own codes git would take for a bad candidate.
fn shielded(decide: impl FnOnce() -> Result<u8, Failure>) -> u8 {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(decide)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            let _ = failure.report();
            STOP
        }
        Err(_) => STOP,
    }
}

fn decide(args: &BisectStepArgs) -> Result<u8, Failure> {
    let figure = &args.figure;
    let source = ExperimentSource::find(&figure.experiment)?;
    let allowed = figure.host.allow_commands || source.is_shipped();
    let source = source.with_values(&figure.set);
    if args.good == args.candidate {
        return Err(Failure::usage(format!("--good and --candidate both name '{}'", args.good))
            .with_help("name two variants of the experiment"));
    }
    let only = [args.good.clone(), args.candidate.clone()];
    let mut bench = Bench::new(figure, source, figure.lab, allowed, &only)?;
    bench.good.clone_from(&args.good);
    bench.seed = figure.seed.unwrap_or(bench.seed);
    let rules = rules(figure, 0.0);
    let border = border(args.worse_by.fraction(), rules.better)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&bench.facts().experiment));
    sys::new_file::create_directories(&out).map_err(|error| {
        let message = format!("--out {} cannot be made: {error}", out.display());
        Failure::usage(message).with_help("name a directory that can be written")
    })?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let name = free(&out);
    let (mut pairs, mut folders): (Vec<Pair>, Vec<PathBuf>) = Default::default();
    let read = loop {
        let read = rules.read(&pairs, border);
        if read.word != Decision::Open {
            break read;
        }
        let more = rules.missing(pairs.len());
        let folder = format!("{name}-{}", folders.len() + 1);
        folders.push(out.join(&folder));
        let other = Some(args.candidate.as_str());
        let measured = bench.measure(other, more, &folder, &out)?;
        let Some(measured) = measured.filter(|_| interrupt.level() == Level::None) else {
            say("stopped before it was decided");
            return Ok(130);
        };
        let found = analysis::analyse(&measured);
        good_stands((&measured, &found), &args.good, &bench.asked, more)?;
        let names = [args.good.as_str(), args.candidate.as_str()];
        pairs.extend(kept::pairs(&found, names, &bench.asked, more)?);
    };
    say(&format!("{}: {}", args.candidate, reading_text(&read)));
    if figure.json {
        let document = document(args, (&read, &pairs), &folders);
        json(&serde_json::to_string_pretty(&document).map_err(Failure::data)?);
    }
    Ok(match read.word {
        Decision::Good => 0,
        Decision::Bad => 1,
        _ => SKIP,
    })
}

/// The border between good and bad, a positive difference of logarithms.
fn border(worse_by: f64, better: Better) -> Result<f64, Failure> {
    let border = match better {
        Better::Higher => -(-worse_by).ln_1p(),
        _ => worse_by.ln_1p(),
    };
    if border > 0.0 && border.is_finite() {
        return Ok(border);
    }
    Err(Failure::usage("--worse-by leaves no border between good and bad")
        .with_help("give half of the difference between the ends, above 0 % and below 100 %"))
}

/// The name of the next step in `out`.
fn free(out: &Path) -> String {
    let taken = |n: &u32| !out.join(format!("step-{n:03}-1")).exists();
    let n = (1..).find(taken).unwrap_or(u32::MAX);
    format!("step-{n:03}")
}

fn document(
    args: &BisectStepArgs,
    (read, pairs): (&Reading, &[Pair]),
    folders: &[PathBuf],
) -> serde_json::Value {
    let results: Vec<_> = folders.iter().map(|path| path.display().to_string()).collect();
    let mut document = object!({
        "schema": 1, "experiment": args.figure.experiment, "metric": args.figure.metric,
        "good": args.good, "candidate": args.candidate, "worse_by_percent": args.worse_by.0,
    });
    if let (Some(all), serde_json::Value::Object(more)) =
        (document.as_object_mut(), reading_json(read, pairs, &results))
    {
        all.extend(more);
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_goes_wrong_stops_git_and_is_no_word_on_a_candidate() {
        assert_eq!(shielded(|| Ok(1)), 1);
        assert_eq!(shielded(|| Err(Failure::usage("a mistake"))), STOP);
        assert_eq!(shielded(|| panic!("a defect")), STOP);
    }
}
