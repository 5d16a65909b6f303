//! One contestant on one case: its command line, its runs, what they cost.

use serde::{Deserialize, Serialize};
use sys::interrupt::Interrupt;

use crate::case::Case;
use crate::child::{self, Line};
use crate::cpu::CpuUse;
use crate::fathom_contestant::{self, Fathom};
use crate::fio::{Candidate, Fio, parse};
use crate::floor::{self, PLAIN};
use crate::target::Target;
use crate::{BenchError, ReportedFigures};

/// Share of all CPUs used by other processes above which a run counts as disturbed.
pub const DISTURBED: f64 = 0.15;
/// The least share of a run's CPU time that must remain when the cost of starting is subtracted.
const LEAST_SHARE: f64 = 0.5;

/// The kind of a contestant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContestantKind {
    /// Fathom's engine with this backend.
    Fathom(String),
    /// fio, driven this way.
    Fio(Candidate),
    /// Only the calls that Fathom's engine makes: no engine that makes the same calls can cost less.
    Floor,
}

impl ContestantKind {
    /// A word for tables.
    pub fn name(&self) -> String {
        match self {
            Self::Fathom(backend) if backend == "auto" => "fathom".into(),
            Self::Fathom(backend) => format!("fathom {backend}"),
            Self::Fio(candidate) => format!("fio {}", candidate.name()),
            Self::Floor => "floor".into(),
        }
    }
}

/// One run of one contestant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Figures that it reports of itself.
    #[serde(rename = "said")]
    pub reported: ReportedFigures,
    /// CPU time during the run: of the child, of the kernel's threads, of all others.
    pub used: CpuUse,
    /// CPU time of all its threads per I/O, without the cost of starting, microseconds.
    pub cpu_per_io_us: f64,
    /// The same with kernel threads and interrupts, microseconds. On a busy machine it includes those that worked for others.
    pub system_per_io_us: f64,
    /// Share of all CPUs that others used, 0 to 1.
    pub foreign_share: f64,
    /// Number of times that the run was repeated because others disturbed it.
    pub again: u32,
}

impl Sample {
    /// Tells whether most of its CPU time went into I/Os rather than starting, so that its CPU time per I/O is meaningful.
    pub fn is_meaningful(&self) -> bool {
        self.cpu_per_io_us * self.reported.ios as f64 / 1e6 >= LEAST_SHARE * self.used.process_s
    }

    /// Tells whether other processes used more than [`DISTURBED`] of all CPUs.
    pub fn disturbed(&self) -> bool {
        self.foreign_share > DISTURBED
    }
}

/// A contestant on a case, ready to run.
#[derive(Debug, Clone)]
pub struct Contestant {
    /// The kind of the contestant.
    pub who: ContestantKind,
    /// The command line of a run.
    pub line: Line,
    start: Line,
    /// CPU time of starting and ending, seconds.
    pub start_s: f64,
    /// The same with kernel threads and interrupts, seconds.
    start_system_s: f64,
}

/// The two programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// Ours.
    pub fathom: Fathom,
    /// The peer.
    pub fio: Fio,
}

impl Contestant {
    /// Creates `who` on `case`, for runs of `millis` milliseconds; a floor makes plain calls.
    pub fn new(
        programs: &Programs,
        who: &ContestantKind,
        target: &Target,
        case: &Case,
        millis: u64,
    ) -> Self {
        match who {
            ContestantKind::Fathom(backend) => Self::on_case(who, case, millis, |millis| {
                programs.fathom.line(target, case, backend, millis)
            }),
            ContestantKind::Fio(candidate) => Self::on_case(who, case, millis, |millis| {
                case.fio(target, millis).line(&programs.fio, *candidate)
            }),
            ContestantKind::Floor => Self::floor(programs, PLAIN, target, case, millis),
        }
    }

    /// The calls of `backend` alone on `case`, for runs of `millis` milliseconds.
    pub fn floor(
        programs: &Programs,
        backend: &str,
        target: &Target,
        case: &Case,
        millis: u64,
    ) -> Self {
        Self::on_case(&ContestantKind::Floor, case, millis, |millis| {
            programs.fathom.floor(target, case, backend, millis)
        })
    }

    /// Creates `who` with its command lines for so many milliseconds and for a single I/O, on the CPU that `case` names.
    fn on_case(
        who: &ContestantKind,
        case: &Case,
        millis: u64,
        free: impl Fn(Option<u64>) -> Line,
    ) -> Self {
        let line = |millis| match case.cpu {
            Some(cpu) => free(millis).held_on(cpu),
            None => free(millis),
        };
        Self::of(who, line(Some(millis)), line(None))
    }

    /// `who` with the command line of a run and that of a run of a single I/O.
    pub fn of(who: &ContestantKind, line: Line, start: Line) -> Self {
        Self { who: who.clone(), line, start, start_s: 0.0, start_system_s: 0.0 }
    }

    /// Measures the cost of starting: a run of a single I/O, the cheapest of `times` runs.
    pub fn measure_start(&mut self, times: usize, interrupt: &Interrupt) -> Result<(), BenchError> {
        let mut least = (f64::INFINITY, f64::INFINITY);
        for _ in 0..times {
            let used = child::run(&self.start, interrupt)?.used;
            least = (least.0.min(used.process_s), least.1.min(used.system_s()));
        }
        (self.start_s, self.start_system_s) = least;
        Ok(())
    }

    /// Runs once, and repeats the run at most `patience` times while other processes disturb it; returns the least disturbed run.
    pub fn run(&self, patience: u32, interrupt: &Interrupt) -> Result<Sample, BenchError> {
        let mut best = self.once(interrupt)?;
        for again in 1..=patience {
            if !best.disturbed() {
                break;
            }
            let next = self.once(interrupt)?;
            if next.foreign_share < best.foreign_share {
                best = next;
            }
            best.again = again;
        }
        Ok(best)
    }

    fn once(&self, interrupt: &Interrupt) -> Result<Sample, BenchError> {
        let ran = child::run(&self.line, interrupt)?;
        let parsed = match self.who {
            ContestantKind::Fathom(_) => fathom_contestant::parse(&ran.stdout),
            ContestantKind::Fio(_) => parse(&ran.stdout),
            ContestantKind::Floor => floor::parse(&ran.stdout),
        }
        .map_err(|why| BenchError::Output { line: self.line.to_string(), why })?;
        if parsed.ios == 0 || parsed.errors > 0 {
            let why = format!("{} I/Os, {} errors", parsed.ios, parsed.errors);
            return Err(BenchError::Output { line: self.line.to_string(), why });
        }
        let per_io =
            |all_s: f64, start_s: f64| (all_s - start_s).max(0.0) * 1e6 / parsed.ios as f64;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        Ok(Sample {
            cpu_per_io_us: per_io(ran.used.process_s, self.start_s),
            system_per_io_us: per_io(ran.used.system_s(), self.start_system_s),
            foreign_share: ran.used.foreign_s / (ran.wall.as_secs_f64() * cpus).max(f64::EPSILON),
            reported: parsed,
            used: ran.used,
            again: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn pretender(text: &str) -> Contestant {
        let sh = |script: String| Line::new(Path::new("sh"), vec!["-c".into(), script]);
        let line = sh(format!("echo '{text}'"));
        Contestant::of(&ContestantKind::Fathom("auto".into()), line.clone(), line)
    }

    fn summary(errors: &str) -> String {
        format!(
            r#"{{"event":"summary","duration_ns":1000000000,"operations":{{"read":{{"ios":500,"errors":{errors}}}}}}}"#
        )
    }

    #[test]
    fn a_run_is_measured_and_its_start_can_be_left_out() {
        let mut one = pretender(&summary("{}"));
        let sample = one.run(0, &Interrupt::new()).unwrap();
        assert_eq!((sample.reported.ios, sample.reported.iops), (500, 500.0));
        one.measure_start(1, &Interrupt::new()).unwrap();
        one.start_s += 1.0;
        assert_eq!(one.run(0, &Interrupt::new()).unwrap().cpu_per_io_us, 0.0);
    }

    #[test]
    fn a_run_that_hardly_did_more_than_start_tells_nothing_of_its_ios() {
        let mut sample = pretender(&summary("{}")).run(0, &Interrupt::new()).unwrap();
        sample.used.process_s = 0.1;
        sample.cpu_per_io_us = 0.04 * 1e6 / sample.reported.ios as f64;
        assert!(!sample.is_meaningful());
        sample.cpu_per_io_us *= 2.0;
        assert!(sample.is_meaningful());
    }

    #[test]
    fn a_run_with_failed_ios_is_no_figure() {
        let error = pretender(&summary(r#"{"EIO":3}"#)).run(0, &Interrupt::new()).unwrap_err();
        assert!(error.to_string().contains("3 errors"), "{error}");
    }
}
