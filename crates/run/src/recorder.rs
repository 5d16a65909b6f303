//! The single place where rows, transcript and events of a cell are handed in, from any thread.

use std::sync::{Arc, Mutex, PoisonError};

use results::model::{CellRecord, Row};
use results::sink::{Sink, SinkError};
use results::writer::{CellWriter, append_transcript};

use crate::message::{Message, Post};
use crate::{Event, RunError};

/// Hands in what a cell produces; clones share one post.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Mutex<Shared>>);

struct Shared {
    post: Box<dyn Post>,
    cell: CellWriter,
    /// The first error of handing something in: reported once, at the end of the cell.
    failed: Option<RunError>,
}

/// Sends what is written into the result as messages.
impl Sink for Box<dyn Post> {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        self.post(Message::Put { path: path.to_owned(), bytes: bytes.to_vec() }).map_err(lost)
    }

    fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), SinkError> {
        self.post(Message::Append { path: path.to_owned(), bytes: bytes.to_vec() }).map_err(lost)
    }
}

fn lost(error: RunError) -> SinkError {
    match error {
        RunError::Sink(error) => error,
        other => SinkError::Gone(other.into()),
    }
}

impl Recorder {
    pub(crate) fn new(post: Box<dyn Post>) -> Self {
        let cell = CellWriter::new("");
        Self(Arc::new(Mutex::new(Shared { post, cell, failed: None })))
    }

    /// The folder below `cells/` that rows and the record go to from now on.
    pub(crate) fn open_cell(&self, folder: &str) {
        self.with(|shared| shared.cell = CellWriter::new(folder));
    }

    pub(crate) fn row(&self, row: &Row) {
        self.hand_in(|shared| Ok(shared.cell.rows(&mut shared.post, std::slice::from_ref(row))?));
    }

    pub(crate) fn transcript(&self, line: &results::TranscriptEntry) {
        self.hand_in(|shared| Ok(append_transcript(&mut shared.post, line)?));
    }

    pub(crate) fn record(&self, record: &CellRecord) {
        self.hand_in(|shared| Ok(shared.cell.record(&mut shared.post, record)?));
    }

    pub(crate) fn event(&self, event: Event) {
        self.send(Message::Event(event));
    }

    pub(crate) fn send(&self, message: Message) {
        self.hand_in(|shared| shared.post.post(message));
    }

    /// Returns the first error of handing something in since the last call.
    pub(crate) fn failure(&self) -> Option<RunError> {
        self.with(|shared| shared.failed.take())
    }

    /// Hands one thing in, unless something before it failed.
    fn hand_in(&self, work: impl FnOnce(&mut Shared) -> Result<(), RunError>) {
        self.with(|shared| {
            if shared.failed.is_none() {
                shared.failed = work(shared).err();
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Shared) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
