//! Everything that records one load, set up before its first I/O.

use results::iolog::Header;

use crate::error::EngineError;
use crate::interval_recorder::{self, IntervalReader};
use crate::record::{IoLog, Recorder, Recording, log};
use crate::tally::Shape;

/// The workers' recorders and the collecting thread's readers.
pub(crate) struct Recorders {
    /// The recorders, one for each worker, in their order.
    pub recorders: Vec<Recorder>,
    /// The other ends, for the collecting thread.
    pub readers: Vec<IntervalReader>,
    /// The log of every I/O, if one is kept. It has to be finished when all workers have ended or are given up.
    pub log: Option<IoLog>,
}

impl Recorders {
    /// Makes recorders of this shape for a number of jobs with a number of workers each. `header` describes the load in the log.
    pub(crate) fn open(
        recording: &Recording,
        shape: Shape,
        (jobs, workers): (usize, usize),
        header: &Header,
    ) -> Result<Self, EngineError> {
        let (mut senders, log) = match &recording.io_log {
            None => (Vec::new(), None),
            Some(target) => {
                let (senders, log) = log::start(target, header, (jobs, workers))?;
                (senders, Some(log))
            }
        };
        let mut senders = senders.drain(..);
        let (mut recorders, mut readers) = (Vec::new(), Vec::new());
        for worker in 0..jobs * workers {
            let (writer, reader) = interval_recorder::pair(shape);
            recorders.push(Recorder::new(writer, shape, (worker / workers) as u16, senders.next()));
            readers.push(reader);
        }
        Ok(Self { recorders, readers, log })
    }
}
