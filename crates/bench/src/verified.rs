//! Cost of verification of reads: ours (recomputing content) compared with fio's crc32c, on tmpfs, synchronously.
//!
//! Each side writes a file of its own in its own way, then reads it in random order with and without verification.
//! The cost is the difference, so that the cost of reading itself cancels. That is a small difference of two large numbers, and a
//! machine's slow half-seconds are larger than both. So all reads go to a part of the files that the nearest caches hold, where
//! reading costs little and much the same each time; and our loads take some milliseconds, by turns in one process, so that
//! the loads to compare run side by side. fio has no such turns: its runs with and without verification follow each other.
//!
//! Ours is measured in two ways on the same blocks: without a table, since all contents follow from the load that wrote them, so that nothing is held
//! for each block; and with a table that holds the expected content of each block, which is needed after random overwrites.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::{Figure, Sorted};
use sys::interrupt::Interrupt;

use crate::BenchError;
use crate::child::{self, Line};
use crate::contest::{Contestant, ContestantKind, Programs};
use crate::fio::{Candidate, Engine};
use crate::goal::{Goal, GoalVerdict};
use crate::repeats::order;
use crate::target::{Target, TargetMaker};

/// Verification of a read may cost this share of fio's crc32c.
const GOAL: Goal = Goal::AtMost(0.15);
/// A block, bytes.
const BLOCK: u64 = 4096;
/// The part of the files that is read, bytes.
const PART: u64 = 512 << 10;
/// A turn of a load of ours, milliseconds, and turns of each load in a repeat.
const TURN: u64 = 20;
const TURNS: usize = 20;
/// Number of times that starting is measured.
const STARTS: usize = 5;

/// Cost of verification of reads, ours compared with fio's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Command lines: ours, which runs loads without verification, with it, and with a table by turns; then fio's without and with verification.
    pub lines: Vec<String>,
    /// Ours per read where nothing is held for each block, microseconds of CPU time.
    pub ours_us: Figure,
    /// fio's per read, microseconds of CPU time.
    pub fio_us: Figure,
    /// Ours over fio's, of medians.
    pub ratio: Figure,
    /// The goal for the ratio.
    pub goal: Goal,
    /// Verdict on the goal.
    pub word: GoalVerdict,
    /// Ours with a table.
    #[serde(default)]
    pub with_table: Option<Cost>,
}

/// Cost of one way of verifying.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Per read, microseconds of CPU time.
    pub ours_us: Figure,
    /// Over fio's, of medians.
    pub ratio: Figure,
    /// Verdict on the goal.
    pub word: GoalVerdict,
}

/// Returns the repeats, and the milliseconds of a run of fio, that make the interval narrow compared with the goal.
pub fn pace(quick: bool) -> (usize, u64) {
    if quick { (15, 400) } else { (40, 500) }
}

/// Measures it on two files of `size` bytes in memory, which are removed again.
pub fn in_memory(
    programs: &Programs,
    size: u64,
    pace: (usize, u64),
    interrupt: &Interrupt,
) -> Result<Verified, BenchError> {
    let maker = TargetMaker::new(size, Path::new("."));
    let [ours, theirs] = maker.pair()?;
    let state = |name| {
        let file = format!("fathom-bench-{}-verify-{name}", std::process::id());
        maker.memory.join(file).display().to_string()
    };
    let states = [state("state"), state("table")];
    let files = [&ours.target, &theirs.target];
    let found = verified(programs, files, states.each_ref().map(String::as_str), pace, interrupt);
    for state in &states {
        // It is not there when nothing needed to be kept.
        let _ = std::fs::remove_file(state);
    }
    found
}

/// Measures it on two files of the same size; `states` is where our verification keeps what was written, without and with a table.
fn verified(
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

    let turn = format!("{TURN}ms");
    let reads =
        ["--ops", "randread=100", "--pattern", "permutation", "--depth", "1", "--duration", &turn];
    let check = |state| ours(&[&reads[..], &["--verify", "read"]].concat(), Some(state));
    let loads = [ours(&reads, None), check(states[0]), check(states[1])];
    for (line, has_table) in loads[1..].iter().zip([false, true]) {
        look_at(line, has_table, interrupt)?;
    }
    let ours = turns(programs, &loads);

    let who = ContestantKind::Fio(Candidate { engine: Engine::Psync, batch: 1, whole: false });
    let runtime = format!("--runtime={millis}ms");
    let one_of_fio = |checked: &[&str]| {
        let line = |until: &[&str]| theirs(&[&["--rw=randread"], checked, until].concat());
        Contestant::of(&who, line(&["--time_based", &runtime]), line(&["--number_ios=1"]))
    };
    let fio = [one_of_fio(&[]), one_of_fio(&["--verify=crc32c"])];
    let lines = [&ours, &fio[0].line, &fio[1].line].map(ToString::to_string).to_vec();
    Ok(judge(lines, &interleave(&ours, fio, repeats, interrupt)?))
}

/// The command line of `loads` by turns.
fn turns(programs: &Programs, loads: &[Line]) -> Line {
    let rounds = TURNS.to_string();
    let start = ["turns", "--rounds", &rounds, "--"].map(str::to_owned).to_vec();
    let then = ["--then".to_owned()];
    // The words `fathom load` are left out.
    let words: Vec<_> = loads.iter().map(|load| &load.arguments[2..]).collect();
    Line::new(&programs.fathom.program, [start, words.join(&then[..])].concat())
}

/// Writes every block that will be read, in one pass, from which all contents follow. For the table, a random write of the block behind them makes
/// sure that they do not, so that there is a table of the same contents.
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

/// Checks that a run of a load does what it is meant to do.
fn look_at(line: &Line, has_table: bool, interrupt: &Interrupt) -> Result<(), BenchError> {
    let stdout = child::run(line, interrupt)?.stdout;
    let mut lines = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let summary = lines.rfind(|line| line["event"] == "summary").unwrap_or_default();
    unlike(&summary, has_table)
        .map_or(Ok(()), |why| Err(BenchError::Output { line: line.to_string(), why }))
}

/// Describes what a load did, unless it did what it is meant to: read one block at a time and verify it, with a table or without one.
fn unlike(summary: &Value, has_table: bool) -> Option<String> {
    let count = |name: &str| summary["verify"][name].as_u64().unwrap_or(0);
    let (checked, right, table) = (count("checked"), count("correct"), count("table_bytes"));
    let depth = summary["engine"]["depth"].as_u64().unwrap_or(0);
    let meant = checked > 0 && right == checked && (table > 0) == has_table && depth == 1;
    (!meant).then(|| {
        format!(
            "{checked} blocks verified, {right} right, with a table of {table} bytes at depth {depth}"
        )
    })
}

/// Cost of verification in each repeat, microseconds of CPU time per read.
#[derive(Debug, Clone, Default)]
struct Costs {
    /// Ours where nothing is held for each block.
    checked: Vec<f64>,
    /// Ours with a table.
    table: Vec<f64>,
    fio: Vec<f64>,
}

fn interleave(
    ours: &Line,
    mut fio: [Contestant; 2],
    repeats: usize,
    interrupt: &Interrupt,
) -> Result<Costs, BenchError> {
    for one in &mut fio {
        one.measure_start(STARTS, interrupt)?;
    }
    let mut costs = Costs::default();
    for repeat in 0..repeats {
        let stdout = child::run(ours, interrupt)?.stdout;
        let [plain, checked, table] = parse(&stdout)
            .ok_or_else(|| BenchError::Output { line: ours.to_string(), why: stdout.clone() })?;
        costs.checked.push(median_difference(&checked, &plain));
        costs.table.push(median_difference(&table, &plain));
        let mut both = [0.0; 2];
        for place in order(fio.len(), repeat) {
            both[place] = fio[place].run(0, interrupt)?.cpu_per_io_us;
        }
        costs.fio.push(both[1] - both[0]);
    }
    Ok(costs)
}

/// Parses the output of `fathom-bench turns`: for each load the CPU time per read in each turn, microseconds.
fn parse(text: &str) -> Option<[Vec<f64>; 3]> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let loads: Vec<Vec<f64>> = serde_json::from_value(value["cpu_per_io_us"].clone()).ok()?;
    let loads: [Vec<f64>; 3] = loads.try_into().ok()?;
    loads.iter().all(|turns| turns.len() == loads[0].len()).then_some(loads)
}

/// Returns the median of the differences between neighbouring turns of the two.
fn median_difference(one: &[f64], other: &[f64]) -> f64 {
    let differences: Sorted = one.iter().zip(other).map(|(one, other)| one - other).collect();
    differences.median().unwrap_or_default()
}

fn judge(lines: Vec<String>, Costs { checked, table, fio }: &Costs) -> Verified {
    let of = |ours: &[f64]| {
        // Noise may make a small cost negative.
        let ratio = stats::ratio_of_medians(fio, ours);
        Cost { ours_us: stats::figure(ours), word: GOAL.judge(&ratio), ratio }
    };
    let Cost { ours_us, ratio, word } = of(checked);
    let (fio_us, with_table) = (stats::figure(fio), Some(of(table)));
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
    programs.fathom.command(&[&words[..], more, &state, &seed].concat())
}

fn fio(programs: &Programs, file: &Target, size: u64, more: &[&str]) -> Line {
    let path = file.path.clone().unwrap_or_default();
    let mut words: Vec<String> = ["--name=bench", "--thread", "--bs=4k", "--ioengine=psync"]
        .iter()
        .chain(more)
        .map(ToString::to_string)
        .collect();
    words.extend([format!("--filename={path}"), format!("--size={size}"), "--direct=1".into()]);
    // Otherwise fio leaves a file about what it wrote in the directory where it was started.
    words.push("--verify_state_save=0".into());
    words.push("--output-format=json".into());
    Line::new(&programs.fio.path, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_what_verification_adds_in_the_turn_beside() {
        // The machine is slow in the second turn.
        let text = "{\"cpu_per_io_us\": [[1.0, 2.0, 1.0], [1.1, 2.2, 1.1], [1.2, 2.1, 1.2]]}\n";
        let [plain, checked, table] = parse(text).unwrap();
        assert!((median_difference(&checked, &plain) - 0.1).abs() < 1e-9);
        assert!((median_difference(&table, &plain) - 0.2).abs() < 1e-9);
        for text in ["", "{}", "{\"cpu_per_io_us\": [[1.0], [1.0]]}"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("{\"cpu_per_io_us\": [[1.0], [1.0], [1.0, 2.0]]}"), None);
    }

    #[test]
    fn a_load_that_is_not_what_is_to_be_measured_is_refused() {
        let summary = |right: u64, table: u64, depth: u64| {
            let verify =
                serde_json::json!({ "checked": 9, "correct": right, "table_bytes": table });
            serde_json::json!({ "verify": verify, "engine": { "depth": depth } })
        };
        assert_eq!(unlike(&summary(9, 0, 1), false), None);
        assert_eq!(unlike(&summary(9, 508, 1), true), None);
        assert!(
            unlike(&summary(9, 508, 1), false).is_some()
                && unlike(&summary(9, 0, 1), true).is_some()
        );
        assert!(unlike(&summary(8, 0, 1), false).is_some(), "one block was wrong");
        assert!(unlike(&summary(9, 0, 32), false).is_some(), "threads share the processors");
        assert!(unlike(&Value::Null, false).is_some(), "it said nothing");
    }

    #[test]
    fn each_way_of_verifying_is_judged_beside_the_same_peer() {
        let costs = Costs { checked: vec![0.05; 4], table: vec![0.2; 4], fio: vec![1.0; 4] };
        let verified = judge(Vec::new(), &costs);
        assert!((verified.ratio.median.unwrap() - 0.05).abs() < 1e-9);
        assert_eq!(verified.word, GoalVerdict::Reached);
        let table = verified.with_table.unwrap();
        assert!((table.ratio.median.unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(table.word, GoalVerdict::NotReached);
    }

    #[test]
    fn a_peer_that_verifies_for_nothing_gives_no_ratio() {
        let costs = Costs { checked: vec![0.05; 4], table: vec![0.05; 4], fio: vec![0.0; 4] };
        assert_eq!(judge(Vec::new(), &costs).word, GoalVerdict::Undecided);
    }
}
