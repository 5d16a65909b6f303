//! The one desk where a cell's rows, transcript and events are handed in, from whichever thread.

use std::sync::{Arc, Mutex, PoisonError};

use results::model::{CellRecord, Row};

use crate::message::{Message, Post};
use crate::{Event, RunError};

/// Hands in what a cell produces; clones share one desk.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Mutex<Desk>>);

struct Desk {
    post: Box<dyn Post>,
    folder: String,
    /// The first thing that could not be handed in: reported once, at the end of the cell.
    failed: Option<RunError>,
}

impl Recorder {
    pub(crate) fn new(post: Box<dyn Post>) -> Self {
        Self(Arc::new(Mutex::new(Desk { post, folder: String::new(), failed: None })))
    }

    /// The folder (inside the result) that rows go to from now on.
    pub(crate) fn open_cell(&self, folder: &str) {
        self.with(|desk| desk.folder = format!("cells/{folder}"));
    }

    pub(crate) fn row(&self, row: &Row) {
        let bytes = results::encode_row(row);
        self.with(|desk| {
            let path = format!("{}/rows.log", desk.folder);
            desk.send(Message::Append { path, bytes });
        });
    }

    pub(crate) fn transcript(&self, line: &results::TranscriptEntry) {
        let mut bytes = serde_json::to_vec(line).unwrap_or_default();
        bytes.push(b'\n');
        self.send(Message::Append { path: "transcript.jsonl".into(), bytes });
    }

    pub(crate) fn record(&self, record: &CellRecord) {
        let bytes = serde_json::to_vec_pretty(record).unwrap_or_default();
        self.with(|desk| {
            let path = format!("{}/cell.json", desk.folder);
            desk.send(Message::Put { path, bytes });
        });
    }

    pub(crate) fn event(&self, event: Event) {
        self.send(Message::Event(event));
    }

    pub(crate) fn send(&self, message: Message) {
        self.with(|desk| desk.send(message));
    }

    /// What could not be handed in since the last call.
    pub(crate) fn failure(&self) -> Option<RunError> {
        self.with(|desk| desk.failed.take())
    }

    fn with<T>(&self, work: impl FnOnce(&mut Desk) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Desk {
    fn send(&mut self, message: Message) {
        if self.failed.is_none() {
            self.failed = self.post.post(message).err();
        }
    }
}
