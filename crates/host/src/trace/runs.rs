//! Runs of writes: adjacent writes, found from the kernel's event of every write to one device. Several runs go on at once, such as those of a
//! journal and of data, and writes that are under way together may come in any order.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Number of runs that may go on at once: those that were written to most recently.
const OPEN: usize = 128;
/// Bytes in a sector, whatever the device's block is.
const SECTOR: u64 = 512;
/// Separator between the kernel's own words and those of the event.
const EVENT: &str = " block_rq_issue: ";

/// Writes of one device, counted since its reader began.
#[derive(Debug)]
pub(crate) struct WriteRuns {
    pipe: File,
    /// The beginning of a line whose end was not read yet.
    rest: String,
    counted: Counted,
}

impl WriteRuns {
    /// Reads what a trace instance at this directory says.
    ///
    /// # Errors
    /// When the instance is not there, or cannot be read.
    pub(crate) fn of(instance: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let pipe =
            options.read(true).custom_flags(libc::O_NONBLOCK).open(instance.join("trace_pipe"))?;
        Ok(Self { pipe, rest: String::new(), counted: Counted::default() })
    }

    /// Takes what was written since: `writes N bytes N runs N dropped N`.
    ///
    /// # Errors
    /// When the instance cannot be read any more.
    pub(crate) fn read(&mut self) -> io::Result<String> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            match self.pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => self.take(&String::from_utf8_lossy(&chunk[..read])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let Counted { writes, bytes, runs, dropped, .. } = &self.counted;
        Ok(format!("writes {writes} bytes {bytes} runs {runs} dropped {dropped}\n"))
    }

    /// Ends all runs: data written from now on begin new ones.
    pub(crate) fn cut(&mut self) {
        self.counted.open.clear();
    }

    fn take(&mut self, text: &str) {
        self.rest.push_str(text);
        let Some(end) = self.rest.rfind('\n') else { return };
        let rest = self.rest.split_off(end + 1);
        for line in std::mem::replace(&mut self.rest, rest).lines() {
            self.counted.line(line);
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    writes: u64,
    bytes: u64,
    runs: u64,
    /// Events that the ring buffer had no room for.
    dropped: u64,
    /// Runs that may go on: their first sector and that after their last, the one written to last at the end.
    open: VecDeque<(u64, u64)>,
}

impl Counted {
    /// A line of `trace_pipe`: a write, `... block_rq_issue: 7,0 WS 4096 () 2048 + 8 none,0,0 [kworker/0:1]`, or how many were
    /// dropped, `CPU:1 [LOST 12 EVENTS]`.
    fn line(&mut self, line: &str) {
        if let Some((_, words)) = line.split_once(EVENT) {
            let (before, after) = words.split_once(" + ").unwrap_or((words, ""));
            let sector = before.rsplit(' ').next().and_then(|word| word.parse().ok());
            let sectors = after.split(' ').next().and_then(|word| word.parse().ok());
            // A flush writes no sector.
            if let (Some(sector), Some(sectors @ 1..)) = (sector, sectors) {
                self.write(sector, sectors);
            }
        } else if let Some((_, lost)) = line.split_once("[LOST ") {
            self.dropped += lost.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(1);
        }
    }

    /// Adds a write to the run that it continues at either end; a write between two runs joins them.
    fn write(&mut self, sector: u64, sectors: u64) {
        self.writes += 1;
        self.bytes += sectors * SECTOR;
        let (mut first, mut end) = (sector, sector + sectors);
        let mut joined = 0;
        while let Some(at) = self.open.iter().rposition(|run| run.1 == first || run.0 == end) {
            let Some(run) = self.open.remove(at) else { break };
            (first, end) = (first.min(run.0), end.max(run.1));
            joined += 1;
        }
        self.runs = (self.runs + 1).saturating_sub(joined);
        if self.open.len() >= OPEN {
            self.open.pop_front();
        }
        self.open.push_back((first, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(writes: &[(u64, u64)]) -> Counted {
        let mut counted = Counted::default();
        for (sector, sectors) in writes {
            counted.write(*sector, *sectors);
        }
        counted
    }

    #[test]
    fn runs_go_on_beside_each_other_and_what_is_scattered_is_runs_of_one_write() {
        // Data in order with a journal in order between.
        let both: Vec<(u64, u64)> =
            (0..100).flat_map(|i| [(1_000 + 8 * i, 8), (900_000 + 8 * i, 8)]).collect();
        let in_order = counted(&both);
        assert_eq!((in_order.writes, in_order.runs, in_order.bytes), (200, 2, 200 * 4096));
        // Several under way at once: each four come in another order.
        let mixed: Vec<(u64, u64)> =
            (0..100).flat_map(|i| [2, 0, 3, 1].map(|place| (8 * (4 * i + place), 8))).collect();
        assert_eq!(counted(&mixed).runs, 1);
        let scattered: Vec<(u64, u64)> = (0..100).map(|i| (1_000 * (i * 37 % 100), 8)).collect();
        assert_eq!(counted(&scattered).runs, 100);
        // If there are more streams than are remembered, each write counts as a run.
        let many: Vec<(u64, u64)> =
            (0..2).flat_map(|i| (0..129).map(move |s| (s * 100_000 + 8 * i, 8))).collect();
        assert_eq!(counted(&many).runs, 258);
    }

    #[test]
    fn a_run_that_goes_on_from_before_a_cut_is_one_of_its_own() {
        let mut counted = counted(&[(0, 8), (8, 8)]);
        counted.open.clear();
        counted.write(16, 8);
        counted.write(24, 8);
        assert_eq!((counted.writes, counted.runs), (4, 2));
    }

    #[test]
    fn lines_of_the_kernel_are_read_in_pieces_and_flushes_and_lost_ones_told_apart() {
        let mut read = Counted::default();
        for line in [
            "   kworker/0:1H-103   [000] .....   123.456789: block_rq_issue: 7,0 WS 4096 () 2048 + 8 none,0,0 [kworker/0:1H]",
            "   a + b: c-12        [001] d..1.   123.456790: block_rq_issue: 7,0 W 8192 () 2056 + 16 [a + b: c]",
            "   kworker/0:1H-103   [000] .....   123.456791: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]",
            "CPU:1 [LOST 23 EVENTS]",
            "",
        ] {
            read.line(line);
        }
        assert_eq!((read.writes, read.runs, read.bytes, read.dropped), (2, 1, 12_288, 23));
    }
}
