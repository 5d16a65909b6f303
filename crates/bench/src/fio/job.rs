//! Command lines of fio: the candidates, and the job that all of them run.

use crate::child::Line;
use crate::fio::Fio;

/// An I/O engine of fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Does nothing: the cost of fio itself.
    Null,
    /// io_uring with fio's defaults.
    IoUring,
    /// io_uring with registered buffers and files.
    IoUringFixed,
    /// The older asynchronous interface.
    Libaio,
    /// pread and pwrite.
    Psync,
    /// preadv2 and pwritev2.
    Pvsync2,
}

impl Engine {
    /// Tells whether it keeps more than one I/O in flight.
    pub fn asynchronous(self) -> bool {
        !matches!(self, Self::Psync | Self::Pvsync2)
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Null => &["--ioengine=null"],
            Self::IoUring => &["--ioengine=io_uring"],
            Self::IoUringFixed => &["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1"],
            Self::Libaio => &["--ioengine=libaio"],
            Self::Psync => &["--ioengine=psync"],
            Self::Pvsync2 => &["--ioengine=pvsync2"],
        }
    }
}

/// One way to drive fio: an engine, and how many I/Os it submits and reaps at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Candidate {
    /// The engine.
    pub engine: Engine,
    /// I/Os submitted in one call.
    pub batch: u32,
    /// Tells whether it waits until a whole batch is complete, and not for the next one only.
    pub whole: bool,
}

impl Candidate {
    /// A word for tables: `io_uring fixed, batch 16`.
    pub fn name(&self) -> String {
        let engine = match self.engine {
            Engine::Null => "null",
            Engine::IoUring => "io_uring",
            Engine::IoUringFixed => "io_uring fixed",
            Engine::Libaio => "libaio",
            Engine::Psync => "psync",
            Engine::Pvsync2 => "pvsync2",
        };
        match (self.engine.asynchronous(), self.whole) {
            (false, _) => engine.to_owned(),
            (true, false) => format!("{engine}, batch {}", self.batch),
            (true, true) => format!("{engine}, batch {} whole", self.batch),
        }
    }
}

/// Every way to drive fio that counts at this depth: each engine, each batch that the depth allows.
pub fn candidates(depth: u32, null: bool) -> Vec<Candidate> {
    let engines: &[Engine] = if null {
        &[Engine::Null]
    } else {
        &[Engine::IoUring, Engine::IoUringFixed, Engine::Libaio, Engine::Psync, Engine::Pvsync2]
    };
    let mut all = Vec::new();
    for &engine in engines {
        all.push(Candidate { engine, batch: 1, whole: false });
        if engine.asynchronous() && depth >= 16 {
            all.push(Candidate { engine, batch: 16, whole: false });
            all.push(Candidate { engine, batch: 16, whole: true });
        }
    }
    all
}

/// The load that fio is given, the same for every candidate that drives it.
#[derive(Debug, Clone, PartialEq)]
pub struct FioJob {
    /// The file or device; `None` for the null engine.
    pub path: Option<String>,
    /// Bytes of it that are used.
    pub size: u64,
    /// `randread`, `read`, `randwrite`, `write` or `randrw`.
    pub rw: &'static str,
    /// More options: the distribution, the share of reads, verification.
    pub more: Vec<String>,
    /// I/Os in flight.
    pub depth: u32,
    /// Tells whether the page cache is bypassed.
    pub direct: bool,
    /// Run time in milliseconds; `None` runs a single I/O, to measure the cost of starting.
    pub millis: Option<u64>,
}

impl FioJob {
    /// The command line of `candidate` for this job.
    pub fn line(&self, fio: &Fio, candidate: Candidate) -> Line {
        let mut arguments: Vec<String> =
            ["--name=bench", "--thread", "--bs=4k"].map(str::to_owned).into();
        arguments.push(format!("--rw={}", self.rw));
        arguments.extend(candidate.engine.arguments().iter().map(ToString::to_string));
        arguments.extend(self.path.iter().map(|path| format!("--filename={path}")));
        arguments.push(format!("--size={}", self.size));
        arguments.push(format!("--iodepth={}", self.depth));
        if self.direct && self.path.is_some() {
            arguments.push("--direct=1".into());
        }
        if candidate.batch > 1 {
            arguments.push(format!("--iodepth_batch_submit={}", candidate.batch));
            let least = if candidate.whole { candidate.batch } else { 1 };
            arguments.push(format!("--iodepth_batch_complete_min={least}"));
            arguments.push(format!("--iodepth_batch_complete_max={}", self.depth));
        }
        arguments.extend(self.more.iter().cloned());
        match self.millis {
            Some(millis) => {
                arguments.extend(["--time_based".into(), format!("--runtime={millis}ms")]);
            }
            None => arguments.push("--number_ios=1".into()),
        }
        arguments.push("--output-format=json".into());
        Line::new(&fio.path, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fio() -> Fio {
        Fio { path: "/usr/bin/fio".into(), version: "fio-3.33".into(), build: "package".into() }
    }

    #[test]
    fn every_engine_and_batch_that_the_issue_of_fairness_asks_for_is_a_candidate() {
        let deep = candidates(32, false);
        for engine in [Engine::IoUring, Engine::IoUringFixed, Engine::Libaio] {
            for batch in [1, 16] {
                assert!(deep.iter().any(|c| c.engine == engine && c.batch == batch));
            }
        }
        assert!(deep.iter().any(|c| c.engine == Engine::Psync));
        assert!(deep.iter().any(|c| c.engine == Engine::Pvsync2));
        assert_eq!(candidates(1, false).len(), 5);
        let names: std::collections::BTreeSet<_> = deep.iter().map(Candidate::name).collect();
        assert_eq!(names.len(), deep.len());
    }

    #[test]
    fn a_line_holds_all_that_the_other_side_is_told_too() {
        let job = FioJob {
            path: Some("/dev/loop0".into()),
            size: 1 << 30,
            rw: "randread",
            more: vec!["--norandommap".into()],
            depth: 32,
            direct: true,
            millis: Some(3000),
        };
        let candidate = Candidate { engine: Engine::IoUringFixed, batch: 16, whole: true };
        assert_eq!(
            job.line(&fio(), candidate).to_string(),
            "/usr/bin/fio --name=bench --thread --bs=4k --rw=randread --ioengine=io_uring --fixedbufs=1 \
             --registerfiles=1 --filename=/dev/loop0 --size=1073741824 --iodepth=32 --direct=1 \
             --iodepth_batch_submit=16 --iodepth_batch_complete_min=16 --iodepth_batch_complete_max=32 \
             --norandommap --time_based --runtime=3000ms --output-format=json"
        );
    }
}
