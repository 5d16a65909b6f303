//! Everything that records one load, set up before its first I/O.

use results::iolog::Header;

use crate::banks::{self, Reader};
use crate::error::EngineError;
use crate::record::{IoLog, Recorder, Recording, log};
use crate::tally::Shape;

/// Both ends of what records a load.
pub(crate) struct Desk {
    /// One for each worker, in their order.
    pub recorders: Vec<Recorder>,
    /// The other ends, for the collecting thread.
    pub readers: Vec<Reader>,
    /// The log of every I/O, if one is kept; it is to be finished when all workers have ended or are given up.
    pub log: Option<IoLog>,
}

impl Desk {
    /// Makes recorders of this shape for so many jobs of so many workers each. `header` says what a log is of.
    pub(crate) fn open(
        recording: &Recording,
        shape: Shape,
        (jobs, workers): (usize, usize),
        header: &Header,
    ) -> Result<Self, EngineError> {
        let (mut inputs, log) = match &recording.io_log {
            None => (Vec::new(), None),
            Some(path) => {
                let (inputs, log) = log::start(path, header, jobs * workers)?;
                (inputs, Some(log))
            }
        };
        let mut inputs = inputs.drain(..);
        let (mut recorders, mut readers) = (Vec::new(), Vec::new());
        for worker in 0..jobs * workers {
            let (writer, reader) = banks::pair(shape);
            recorders.push(Recorder::new(writer, shape, (worker / workers) as u16, inputs.next()));
            readers.push(reader);
        }
        Ok(Self { recorders, readers, log })
    }
}
