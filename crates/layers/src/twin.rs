//! Simulated twins: what stands in for a layer when nothing real is there.
//!
//! A twin answers the same commands and reads in the same words as the real thing, so that the real parsers
//! read it; what it answers follows from what was written.

use results::model::AskedContent;

use crate::probe::Source;
use crate::step::Condition;

/// A simulated layer: answers the commands and reads of a real one.
pub trait Twin: Send {
    /// Answers a command with all placeholders resolved.
    fn command(&mut self, argv: &[String]) -> TwinAnswer;

    /// The text of a source with all placeholders resolved; `None` when it is not this twin's.
    fn read(&mut self, source: &Source) -> Option<String>;

    /// Tells whether the condition of a step counts as fulfilled, whatever the text of the source says.
    fn grants(&self, _source: &Source, _until: &Condition) -> bool {
        false
    }

    /// Notes that a device was flushed.
    fn flushed(&mut self, _device: &str) {}

    /// Removes the device-mapper nodes among `nodes` that are this twin's; gives those it removed.
    fn remove_nodes(&mut self, _nodes: &[String]) -> Vec<String> {
        Vec::new()
    }

    /// Notes that blocks with this content were written to the layer's device.
    fn wrote(&mut self, writes: &Writes, content: &AskedContent);

    /// Notes that the machine was switched off: what it had in memory is gone, and what is on devices stays.
    fn power_off(&mut self) {}

    /// Notes that something with unknown writes worked on the layer: a command that was not really run.
    fn lost_track(&mut self) {}

    /// Returns the parts of the layer that are still there.
    fn leftovers(&self) -> Vec<String>;
}

/// Blocks of 4 KiB that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Writes {
    /// All of them, each as often as it was written.
    pub blocks: u64,
    /// Blocks among them that nobody had written before.
    pub fresh: u64,
    /// Blocks among them that held what a load of nothing but zeros had written.
    pub over_zeros: u64,
}

impl Writes {
    /// Blocks that nobody had written before.
    pub fn fresh(blocks: u64) -> Self {
        Self { blocks, fresh: blocks, over_zeros: 0 }
    }
}

/// The answer of a twin to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TwinAnswer {
    /// The command is for another twin.
    NotMine,
    /// The command ran.
    Ran {
        /// Its exit code.
        exit: i32,
        /// Standard output.
        stdout: String,
        /// Standard error.
        stderr: String,
    },
}

impl TwinAnswer {
    /// A command that worked and said `stdout`.
    pub fn ok(stdout: impl Into<String>) -> Self {
        Self::Ran { exit: 0, stdout: stdout.into(), stderr: String::new() }
    }

    /// A command that failed as lvm fails: exit code 5 and a word on standard error.
    pub fn failed(stderr: impl Into<String>) -> Self {
        Self::Ran { exit: 5, stdout: String::new(), stderr: stderr.into() }
    }
}
