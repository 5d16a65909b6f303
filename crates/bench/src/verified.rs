//! What verification of reads costs: ours (recomputing content) beside fio's crc32c, on tmpfs, synchronously.
//!
//! Each side writes a file of its own in its own way, then reads it in random order with and without verification.
//! The cost is the difference, so that what reading itself costs cancels. That is a small number beside two large ones: only many
//! short runs in turn say anything, and only where reading costs much the same each time. So all reads are of a part of the files
//! that the processor's caches hold; what is compared or summed up was just copied to the program's buffer, wherever it came from.
//!
//! Ours is measured twice on the same blocks: where all that was written follows from the load that wrote it, so that nothing is
//! held for each block, and where a table holds what each block must be, as after random overwrites.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::Figure;
use sys::interrupt::Interrupt;

use crate::BenchError;
use crate::child::{self, Line};
use crate::contest::{Contestant, Programs, Sample, Who};
use crate::fio::{Candidate, Engine};
use crate::goal::{Goal, Word};
use crate::repeats::order;
use crate::target::Target;

/// Verification of a read may cost this share of fio's crc32c.
const GOAL: Goal = Goal::AtMost(0.15);
/// A block, bytes.
const BLOCK: u64 = 4096;
/// The part of the files that is read, bytes.
const PART: u64 = 16 << 20;
/// How often starting is measured.
const STARTS: usize = 5;

/// What verification cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Command lines: ours without verification, with, and with a table; fio's without and with.
    pub lines: Vec<String>,
    /// Ours per read where nothing is held for each block, microseconds of CPU time.
    pub ours_us: Figure,
    /// fio's per read, microseconds of CPU time.
    pub fio_us: Figure,
    /// Ours over fio's, of medians.
    pub ratio: Figure,
    /// What it should be.
    pub goal: Goal,
    /// Whether it is.
    pub word: Word,
    /// Ours with a table.
    #[serde(default)]
    pub with_table: Option<Cost>,
}

/// What one way of verifying cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Per read, microseconds of CPU time.
    pub ours_us: Figure,
    /// Over fio's, of medians.
    pub ratio: Figure,
    /// Whether it is what it should be.
    pub word: Word,
}

/// Repeats and milliseconds of each that an interval needs to be narrow beside the goal.
pub fn pace(quick: bool) -> (usize, u64) {
    if quick { (20, 400) } else { (50, 500) }
}

/// Measures it on two files of the same size; `states` is where our verification keeps what was written, without and with a table.
pub fn verified(
    programs: &Programs,
    files: [&Target; 2],
    states: [&str; 2],
    (repeats, millis): (usize, u64),
    interrupt: &Interrupt,
) -> Result<Verified, BenchError> {
    let [ours, theirs] = files;
    // The last block is not read: it is what makes the difference between the states.
    let size = ours.size.min(PART) - BLOCK;
    prepare(programs, ours, size, states, interrupt)?;
    let ours = |more: &[&str], state: Option<&str>| fathom(programs, ours, size, more, state);
    let theirs = |more: &[&str]| fio(programs, theirs, size, more);
    child::run(&theirs(&["--rw=write", "--verify=crc32c", "--do_verify=0"]), interrupt)?;

    let run = format!("{millis}ms");
    let runtime = format!("--runtime={run}");
    let who = [
        Who::Fathom("sync".into()),
        Who::Fio(Candidate { engine: Engine::Psync, batch: 1, whole: false }),
    ];
    let reads = ["--ops", "randread=100", "--pattern", "permutation", "--depth", "1"];
    let one_of_ours = |checked: &[&str], state: Option<&str>| {
        let line = |until: [&str; 2]| ours(&[&reads[..], &until, checked].concat(), state);
        Contestant::of(&who[0], line(["--duration", &run]), line(["--bytes", "4k"]))
    };
    let one_of_fio = |checked: &[&str]| {
        let line = |until: &[&str]| theirs(&[&["--rw=randread"], checked, until].concat());
        Contestant::of(&who[1], line(&["--time_based", &runtime]), line(&["--number_ios=1"]))
    };
    let check = ["--verify", "read"];
    let all = [
        one_of_ours(&[], None),
        one_of_ours(&check, Some(states[0])),
        one_of_ours(&check, Some(states[1])),
        one_of_fio(&[]),
        one_of_fio(&["--verify=crc32c"]),
    ];
    for (one, has_table) in all[1..3].iter().zip([false, true]) {
        look_at(&one.line, has_table, interrupt)?;
    }
    let samples = interleave(all.clone(), repeats, interrupt)?;
    Ok(judge(all.iter().map(|one| one.line.to_string()).collect(), &samples))
}

/// Writes every block that will be read, in one pass: all follows from that. With a random write of the block behind them nothing
/// does, and there is a table of the same contents.
fn prepare(
    programs: &Programs,
    ours: &Target,
    size: u64,
    [known, table]: [&str; 2],
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let behind = size.to_string();
    let write = ["--ops", "write=100", "--passes", "1", "--destroy-data"];
    let random = ["--ops", "randwrite=100", "--bytes", "4k", "--destroy-data", "--offset", &behind];
    child::run(&fathom(programs, ours, size, &write, Some(known)), interrupt)?;
    child::run(&fathom(programs, ours, size, &write, Some(table)), interrupt)?;
    child::run(&fathom(programs, ours, BLOCK, &random, Some(table)), interrupt)?;
    Ok(())
}

/// Whether a load verifies what it reads, with a table or without one, as it is meant to.
fn look_at(line: &Line, has_table: bool, interrupt: &Interrupt) -> Result<(), BenchError> {
    let stdout = child::run(line, interrupt)?.stdout;
    let mut lines = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let summary = lines.rfind(|line| line["event"] == "summary").unwrap_or_default();
    let count = |name: &str| summary["verify"][name].as_u64().unwrap_or(0);
    let (checked, right, table) = (count("checked"), count("correct"), count("table_bytes"));
    if checked > 0 && right == checked && (table > 0) == has_table {
        return Ok(());
    }
    let why = format!("{checked} blocks verified, {right} right, with a table of {table} bytes");
    Err(BenchError::Output { line: line.to_string(), why })
}

fn interleave(
    mut all: [Contestant; 5],
    repeats: usize,
    interrupt: &Interrupt,
) -> Result<[Vec<Sample>; 5], BenchError> {
    for one in &mut all {
        one.measure_start(STARTS, interrupt)?;
    }
    let mut samples: [Vec<Sample>; 5] = Default::default();
    for repeat in 0..repeats {
        for place in order(all.len(), repeat) {
            samples[place].push(all[place].run(0, interrupt)?);
        }
    }
    Ok(samples)
}

fn judge(
    lines: Vec<String>,
    [plain, checked, table, fio_plain, fio_checked]: &[Vec<Sample>; 5],
) -> Verified {
    let cost = |with: &[Sample], without: &[Sample]| -> Vec<f64> {
        with.iter().zip(without).map(|(with, w)| with.cpu_per_io_us - w.cpu_per_io_us).collect()
    };
    let fio = cost(fio_checked, fio_plain);
    let of = |with: &[Sample]| {
        let ours = cost(with, plain);
        // Noise may make a small cost negative.
        let ratio = stats::ratio_of_medians(&fio, &ours);
        Cost { ours_us: stats::figure(&ours), word: GOAL.judge(&ratio), ratio }
    };
    let Cost { ours_us, ratio, word } = of(checked);
    let (fio_us, with_table) = (stats::figure(&fio), Some(of(table)));
    Verified { lines, ours_us, fio_us, ratio, goal: GOAL, word, with_table }
}

fn fathom(
    programs: &Programs,
    file: &Target,
    size: u64,
    more: &[&str],
    state: Option<&str>,
) -> Line {
    let (path, size) = (file.path.clone().unwrap_or_default(), size.to_string());
    let words = ["load", &path, "--size", &size, "--block-size", "4k", "--backend", "sync"];
    let seed = ["--seed", "2", "--json"];
    let state: Vec<&str> = state.map(|file| vec!["--verify-state", file]).unwrap_or_default();
    let words = words.iter().chain(more).chain(&state).chain(&seed);
    Line::new(&programs.fathom.program, words.map(ToString::to_string).collect())
}

fn fio(programs: &Programs, file: &Target, size: u64, more: &[&str]) -> Line {
    let path = file.path.clone().unwrap_or_default();
    let mut words: Vec<String> = ["--name=bench", "--thread", "--bs=4k", "--ioengine=psync"]
        .iter()
        .chain(more)
        .map(ToString::to_string)
        .collect();
    words.extend([format!("--filename={path}"), format!("--size={size}"), "--direct=1".into()]);
    // Else fio leaves a file with what it wrote where it was started.
    words.push("--verify_state_save=0".into());
    words.push("--output-format=json".into());
    Line::new(&programs.fio.path, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Said;
    use crate::cpu::Used;

    fn samples(cpu: &[f64]) -> Vec<Sample> {
        let sample = |&cpu_per_io_us: &f64| Sample {
            said: Said::default(),
            used: Used::default(),
            cpu_per_io_us,
            system_per_io_us: cpu_per_io_us,
            foreign_share: 0.0,
            again: 0,
        };
        cpu.iter().map(sample).collect()
    }

    #[test]
    fn the_cost_is_what_verification_adds_and_not_what_reading_costs() {
        let all = [1.0, 1.05, 1.2, 2.0, 3.0].map(|cpu| samples(&[cpu; 4]));
        let verified = judge(Vec::new(), &all);
        assert!((verified.ratio.median.unwrap() - 0.05).abs() < 1e-9);
        assert_eq!(verified.word, Word::Reached);
        let table = verified.with_table.unwrap();
        assert!((table.ratio.median.unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(table.word, Word::NotReached);
    }

    #[test]
    fn a_peer_that_verifies_for_nothing_gives_no_ratio() {
        let all = [1.0, 1.05, 1.05, 2.0, 2.0].map(|cpu| samples(&[cpu; 4]));
        assert_eq!(judge(Vec::new(), &all).word, Word::Undecided);
    }
}
