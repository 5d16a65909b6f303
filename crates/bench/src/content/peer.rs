//! CPU time that fio needs to make the bytes it writes: measured with its null engine, whose I/Os do nothing.

use serde::{Deserialize, Serialize};
use stats::Figure;
use sys::interrupt::Interrupt;

use crate::BenchError;
use crate::child::{Line, run};
use crate::content::speed::{Speed, WrittenKind};
use crate::fio::Fio;

/// Bytes that fio writes in one run.
const BYTES: u64 = 2 << 30;
/// Block sizes that fio is tried with: Fathom's figure has no cost of an I/O in it, and fio's has hardly any at the second.
const SIZES: [&str; 2] = ["4k", "128k"];

/// fio's speed with one content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerSpeed {
    /// The content, as Fathom's contestant has it.
    pub content: WrittenKind,
    /// The fastest command line.
    pub line: String,
    /// Block size of that line.
    pub block_size: String,
    /// Bytes per second of CPU time: median over repeats, with its interval.
    pub bytes_per_second: Figure,
}

impl PeerSpeed {
    /// Returns how many times as fast Fathom's best path makes this content, into one block that stays in the nearest cache. Its interval is the
    /// widest that the ends of both intervals give.
    pub fn fathom_times_as_fast(&self, speeds: &[Speed]) -> Figure {
        let same = |s: &&Speed| s.what == "fill" && s.content == Some(self.content);
        let theirs = self.bytes_per_second;
        let Some(ours) = speeds.iter().find(same).map(|speed| speed.bytes_per_second) else {
            return stats::figure(&[]);
        };
        let over = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
        Figure {
            median: over(ours.median, theirs.median),
            low: over(ours.low, theirs.high),
            high: over(ours.high, theirs.low),
            n: theirs.n.min(ours.n),
        }
    }
}

/// Measures fio `repeats` times with each content and block size; the better block size counts.
///
/// # Errors
/// When fio cannot be run, fails, or is interrupted.
pub fn measure(
    fio: &Fio,
    repeats: usize,
    interrupt: &Interrupt,
) -> Result<Vec<PeerSpeed>, BenchError> {
    let mut answer = Vec::new();
    for content in [WrittenKind::Unique, WrittenKind::Reduced] {
        let mut best: Option<PeerSpeed> = None;
        for size in SIZES {
            let mut speeds = Vec::new();
            for _ in 0..repeats {
                let idle = run(&line(fio, content, size, None), interrupt)?.used.process_s;
                let busy = run(&line(fio, content, size, Some(BYTES)), interrupt)?.used.process_s;
                speeds.push(BYTES as f64 / (busy - idle));
            }
            let figure = stats::figure(&speeds);
            if best.as_ref().is_none_or(|best| best.bytes_per_second.median < figure.median) {
                best = Some(PeerSpeed {
                    content,
                    line: line(fio, content, size, Some(BYTES)).to_string(),
                    block_size: size.to_owned(),
                    bytes_per_second: figure,
                });
            }
        }
        answer.extend(best);
    }
    Ok(answer)
}

/// Returns the line for `bytes`; `None` writes one block, to measure the cost of starting.
fn line(fio: &Fio, content: WrittenKind, size: &str, bytes: Option<u64>) -> Line {
    let mut arguments: Vec<String> =
        ["--name=bench", "--thread", "--ioengine=null", "--rw=write", "--size=8g"]
            .map(str::to_owned)
            .into();
    arguments.push(format!("--bs={size}"));
    arguments.push("--refill_buffers=1".into());
    if content == WrittenKind::Reduced {
        arguments.push("--dedupe_percentage=50".into());
        arguments.push("--buffer_compress_percentage=50".into());
    }
    arguments.push(match bytes {
        Some(bytes) => format!("--io_size={bytes}"),
        None => "--number_ios=1".into(),
    });
    Line::new(&fio.path, arguments)
}
