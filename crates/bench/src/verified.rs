//! What verification of reads costs: ours (recomputing content) beside fio's crc32c, on tmpfs, synchronously.
//!
//! Each side writes a file of its own in its own way, then reads it in random order with and without verification.
//! The cost is the difference, so that what reading itself costs cancels.

use serde::{Deserialize, Serialize};
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

/// What verification cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Command lines: ours without and with verification, fio's without and with.
    pub lines: Vec<String>,
    /// Ours per read, microseconds of CPU time.
    pub ours_us: Figure,
    /// fio's per read, microseconds of CPU time.
    pub fio_us: Figure,
    /// Ours over fio's, repeat by repeat.
    pub ratio: Figure,
    /// What it should be.
    pub goal: Goal,
    /// Whether it is.
    pub word: Word,
}

/// Measures it on two files of the same size; `state` is where our verification keeps what was written.
pub fn verified(
    programs: &Programs,
    files: [&Target; 2],
    state: &str,
    (repeats, millis): (usize, u64),
    interrupt: &Interrupt,
) -> Result<Verified, BenchError> {
    let [ours, theirs] = files;
    child::run(
        &fathom(
            programs,
            ours,
            &["--ops", "write=100", "--passes", "1", "--destroy-data"],
            Some(state),
        ),
        interrupt,
    )?;
    child::run(
        &fio(programs, theirs, &["--rw=write", "--verify=crc32c", "--do_verify=0"]),
        interrupt,
    )?;
    let who = [
        Who::Fathom("sync".into()),
        Who::Fio(Candidate { engine: Engine::Psync, batch: 1, whole: false }),
    ];
    let run = format!("{millis}ms");
    let runtime = format!("--runtime={run}");
    let ours_of = |more: &[&str], state| {
        let reads = ["--ops", "randread=100", "--pattern", "permutation", "--depth", "1"];
        let words: Vec<_> = reads.iter().chain(more).copied().collect();
        fathom(programs, ours, &words, state)
    };
    let fio_of = |more: &[&str]| {
        let words: Vec<_> = ["--rw=randread"].iter().chain(more).copied().collect();
        fio(programs, theirs, &words)
    };
    let timed = ["--duration", run.as_str()];
    let one = ["--bytes", "4k"];
    let checked = ["--verify", "read"];
    let all = [
        Contestant::of(&who[0], ours_of(&timed, None), ours_of(&one, None)),
        Contestant::of(
            &who[0],
            ours_of(&[&timed[..], &checked].concat(), Some(state)),
            ours_of(&[&one[..], &checked].concat(), Some(state)),
        ),
        Contestant::of(&who[1], fio_of(&["--time_based", &runtime]), fio_of(&["--number_ios=1"])),
        Contestant::of(
            &who[1],
            fio_of(&["--verify=crc32c", "--time_based", &runtime]),
            fio_of(&["--verify=crc32c", "--number_ios=1"]),
        ),
    ];
    let samples = interleave(all.clone(), repeats, interrupt)?;
    Ok(judge(all.iter().map(|one| one.line.to_string()).collect(), &samples))
}

fn interleave(
    mut all: [Contestant; 4],
    repeats: usize,
    interrupt: &Interrupt,
) -> Result<[Vec<Sample>; 4], BenchError> {
    for one in &mut all {
        one.measure_start(2, interrupt)?;
    }
    let mut samples: [Vec<Sample>; 4] = Default::default();
    for repeat in 0..repeats {
        for place in order(all.len(), repeat) {
            samples[place].push(all[place].run(0, interrupt)?);
        }
    }
    Ok(samples)
}

fn judge(
    lines: Vec<String>,
    [plain, checked, fio_plain, fio_checked]: &[Vec<Sample>; 4],
) -> Verified {
    let cost = |with: &[Sample], without: &[Sample]| -> Vec<f64> {
        with.iter().zip(without).map(|(with, w)| with.cpu_per_io_us - w.cpu_per_io_us).collect()
    };
    let (ours, fio) = (cost(checked, plain), cost(fio_checked, fio_plain));
    // Noise may make a small cost negative; a peer's cost of nothing gives no ratio.
    let pairs = ours.iter().zip(&fio).filter(|(_, fio)| **fio > 0.0);
    let ratios: Vec<f64> = pairs.map(|(ours, fio)| ours / fio).collect();
    let ratio = stats::figure(&ratios);
    Verified {
        lines,
        ours_us: stats::figure(&ours),
        fio_us: stats::figure(&fio),
        ratio,
        goal: GOAL,
        word: GOAL.judge(&ratio),
    }
}

fn fathom(programs: &Programs, file: &Target, more: &[&str], state: Option<&str>) -> Line {
    let (path, size) = (file.path.clone().unwrap_or_default(), file.size.to_string());
    let words = ["load", &path, "--size", &size, "--block-size", "4k", "--backend", "sync"];
    let seed = ["--seed", "2", "--json"];
    let state: Vec<&str> = state.map(|file| vec!["--verify-state", file]).unwrap_or_default();
    let words = words.iter().chain(more).chain(&state).chain(&seed);
    Line::new(&programs.fathom.program, words.map(ToString::to_string).collect())
}

fn fio(programs: &Programs, file: &Target, more: &[&str]) -> Line {
    let (path, size) = (file.path.clone().unwrap_or_default(), file.size);
    let mut words: Vec<String> = ["--name=bench", "--thread", "--bs=4k", "--ioengine=psync"]
        .iter()
        .chain(more)
        .map(ToString::to_string)
        .collect();
    words.extend([format!("--filename={path}"), format!("--size={size}"), "--direct=1".into()]);
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
        let all = [samples(&[1.0; 4]), samples(&[1.05; 4]), samples(&[2.0; 4]), samples(&[3.0; 4])];
        let verified = judge(Vec::new(), &all);
        assert!((verified.ratio.median.unwrap() - 0.05).abs() < 1e-9);
        assert_eq!(verified.word, Word::Reached);
    }

    #[test]
    fn a_peer_that_verifies_for_nothing_gives_no_ratio() {
        let all = [samples(&[1.0; 4]), samples(&[1.05; 4]), samples(&[2.0; 4]), samples(&[2.0; 4])];
        assert_eq!(judge(Vec::new(), &all).word, Word::Undecided);
    }
}
