//! `fathom estimate` measured, and compared with LZ4 alone on all cores, without and with reading the files, and with duperemove if that is
//! installed.

mod alone;
mod tree;
pub mod vdo;

use std::path::{Path, PathBuf};

use serde::Serialize;
use stats::Figure;
use sys::interrupt::Interrupt;

use crate::BenchError;
use crate::child::{Line, run};
use crate::fathom_contestant::Fathom;
use crate::goal::{Goal, Judged, Summary};
use crate::repeats::{order, ratio};

pub use tree::{Tree, TreeError};

/// Index of duperemove among the contestants.
const PEER: usize = 4;

/// Speed that the estimate must reach by default, bytes per second for each core.
const SPEED: f64 = 1.25e9;
/// Largest error that its sample may state, points.
const ERROR: f64 = 0.2;
/// Share of the speed of LZ4 alone that `--exact` must reach.
const EXACT: f64 = 0.9;

/// Reason why estimates could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tree could not be made.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A contestant failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
}

/// One contestant's figures, one for each repeat.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Contestant {
    /// Its name.
    pub name: String,
    /// Its command line, where it is a program of its own.
    pub command: Option<String>,
    /// Bytes of the tree over wall time, bytes per second.
    pub throughput_bytes_per_s: Vec<Option<f64>>,
    /// CPU time, user and kernel, seconds.
    pub cpu_s: Vec<Option<f64>>,
}

/// The figures of a comparison of estimates.
#[derive(Debug, Clone, Serialize)]
pub struct EstimateComparison {
    /// The tree: where its files came from.
    pub tree: Vec<String>,
    /// Its bytes.
    pub bytes: u64,
    /// Cores.
    pub cores: usize,
    /// The contestants.
    pub contestants: Vec<Contestant>,
    /// `--exact` over LZ4 alone, by wall time.
    pub exact_over_lz4: Summary,
    /// The same by CPU time, which a busy machine changes least.
    pub exact_over_lz4_cpu: Summary,
    /// LZ4 that reads the files itself over LZ4 alone, by wall time: the speed that reading leaves.
    pub reading_over_lz4: Summary,
    /// `--exact` over LZ4 that reads the files itself, by wall time.
    pub exact_over_reading: Summary,
    /// The goals, with the verdict on each.
    pub goals: Vec<Judged>,
    /// Saving of VDO by `--exact` and by the sample, percent, and the error that the sample states, points.
    pub saving_percent: [Option<f64>; 3],
    /// Tells whether it was stopped before all repeats were done.
    pub interrupted: bool,
    /// Contestants that were not measured, with the reason.
    pub left_out: Vec<String>,
}

/// The way in which a contestant goes through the tree.
enum Way {
    /// A program of its own.
    Program(Line),
    /// A function of this process, which returns wall and CPU time, seconds.
    Here(fn(&Path) -> Result<(f64, f64), TreeError>),
}

impl Way {
    fn line(&self) -> Option<&Line> {
        match self {
            Self::Program(line) => Some(line),
            Self::Here(_) => None,
        }
    }
}

/// All contestants, the peer last.
fn ways(fathom: &Fathom, tree: &Tree, peer: Option<PathBuf>) -> Vec<(&'static str, Way)> {
    let path = tree.path().display().to_string();
    let ours = |more: &[&str]| {
        let mut words = vec!["estimate".to_owned(), path.clone(), "--json".to_owned()];
        words.extend(more.iter().map(|word| (*word).to_owned()));
        fathom.command(&words)
    };
    let mut ways = vec![
        ("estimate", Way::Program(ours(&[]))),
        ("estimate --exact", Way::Program(ours(&["--exact"]))),
        ("LZ4 alone", Way::Here(alone::lz4)),
        ("LZ4 and reading", Way::Here(alone::reading)),
    ];
    if let Some(peer) = peer {
        let words = vec!["-r".into(), "-q".into(), path.clone()];
        ways.push(("duperemove", Way::Program(Line::new(&peer, words))));
    }
    ways
}

/// Measures `fathom` on a tree, `repeats` times, interleaved. `on_round` gets the number of finished repeats, and what was measured so far. An interrupt
/// ends it after the last whole repeat, if there was one.
pub fn measure(
    fathom: &Fathom,
    tree: &Tree,
    duperemove: Option<PathBuf>,
    repeats: usize,
    interrupt: &Interrupt,
    on_round: &mut dyn FnMut(usize, &[Contestant]),
) -> Result<EstimateComparison, Error> {
    let mut ways = ways(fathom, tree, duperemove);
    let mut left_out = Vec::new();
    if let Some((name, Way::Program(line))) = ways.get(PEER)
        && !hashes(&run(line, interrupt)?.stdout)
    {
        left_out.push(format!(
            "{name} read no file in {}: it needs a file system that reports extents (FIEMAP), as tmpfs does not; \
             name a directory on another with --dir",
            tree.path().display()
        ));
        ways.truncate(PEER);
    }
    let mut contestants: Vec<Contestant> = ways
        .iter()
        .map(|(name, way)| Contestant {
            name: (*name).to_owned(),
            command: way.line().map(ToString::to_string),
            ..Contestant::default()
        })
        .collect();
    let (mut saving, mut errors) = ([None; 3], Vec::new());
    let mut done = 0;
    while done < repeats {
        let ran = match one_repeat(&ways, done, tree, interrupt) {
            Err(Error::Bench(BenchError::Interrupted)) if done > 0 => break,
            ran => ran?,
        };
        for (at, way) in ran.into_iter().enumerate() {
            note_saving(&mut saving, at, &way.answer);
            let throughput = (way.wall > 0.0).then(|| tree.bytes() as f64 / way.wall);
            contestants[at].throughput_bytes_per_s.push(throughput);
            contestants[at].cpu_s.push(Some(way.cpu));
        }
        errors.extend(saving[2]);
        done += 1;
        on_round(done, &contestants);
    }
    let [default, exact, lz4, reading] = [0, 1, 2, 3].map(|at: usize| &contestants[at]);
    let cores = alone::cores();
    let over = |one: &Contestant, other: &Contestant| {
        ratio(&one.throughput_bytes_per_s, &other.throughput_bytes_per_s)
    };
    let exact_over_lz4 = over(exact, lz4);
    Ok(EstimateComparison {
        goals: judged(default, &errors, exact_over_lz4, cores),
        tree: tree.sources(),
        bytes: tree.bytes(),
        cores,
        exact_over_lz4: exact_over_lz4.into(),
        exact_over_lz4_cpu: ratio(&lz4.cpu_s, &exact.cpu_s).into(),
        reading_over_lz4: over(reading, lz4).into(),
        exact_over_reading: over(exact, reading).into(),
        contestants,
        saving_percent: saving,
        interrupted: done < repeats,
        left_out,
    })
}

/// Wall and CPU time that one way took, seconds, and its output.
struct Ran {
    wall: f64,
    cpu: f64,
    answer: String,
}

/// Runs all ways once, in the order of this repeat; returns them in their own order.
fn one_repeat(
    ways: &[(&str, Way)],
    repeat: usize,
    tree: &Tree,
    interrupt: &Interrupt,
) -> Result<Vec<Ran>, Error> {
    let mut ran = Vec::new();
    for at in order(ways.len(), repeat) {
        let one = match &ways[at].1 {
            Way::Program(line) => {
                let ran = run(line, interrupt)?;
                Ran { wall: ran.wall.as_secs_f64(), cpu: ran.used.process_s, answer: ran.stdout }
            }
            Way::Here(lz4) => {
                let (wall, cpu) = lz4(tree.path())?;
                Ran { wall, cpu, answer: String::new() }
            }
        };
        ran.push((at, one));
    }
    ran.sort_by_key(|(at, _)| *at);
    Ok(ran.into_iter().map(|(_, ran)| ran).collect())
}

/// Judges by the goals what was found.
fn judged(
    default: &Contestant,
    errors: &[f64],
    exact_over_lz4: Figure,
    cores: usize,
) -> Vec<Judged> {
    let speeds: Vec<f64> = default.throughput_bytes_per_s.iter().flatten().copied().collect();
    let (speed, error) = (Goal::AtLeast(SPEED * cores as f64), Goal::AtMost(ERROR));
    vec![
        Judged::new("speed by default", "B/s", speed, stats::figure(&speeds)),
        Judged::new("stated error by default", "points", error, stats::figure(errors)),
        Judged::new("--exact over LZ4 alone", "", Goal::AtLeast(EXACT), exact_over_lz4),
    ]
}

/// Tells whether duperemove read anything: where it can read nothing it says so for every file, and ends well.
fn hashes(stdout: &str) -> bool {
    let files = stdout.lines().find_map(|line| line.strip_prefix("Total files:"));
    files.is_some_and(|files| files.trim().parse::<u64>().is_ok_and(|files| files > 0))
}

fn note_saving(saving: &mut [Option<f64>; 3], contestant: usize, stdout: &str) {
    let Ok(answer) = serde_json::from_str::<serde_json::Value>(stdout) else { return };
    let found = answer["vdo"]["saving_percent"].as_f64();
    match contestant {
        0 => (saving[1], saving[2]) = (found, answer["sampled"]["saving_error_points"].as_f64()),
        1 => saving[0] = found,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::hashes;

    #[test]
    fn a_duperemove_that_read_nothing_is_told_from_one_that_did() {
        assert!(hashes("Total files:  10\nFound 0 identical extents.\n"));
        assert!(!hashes("Total files:  0\nFound 0 identical extents.\n"));
        assert!(!hashes(""));
    }
}
