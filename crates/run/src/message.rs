//! Messages between the halves of a run. The guest sends its files for the result and its events, and asks whether cells are needed; the
//! host sends nothing but the mission and the replies.
//!
//! Layout: one byte of kind; for writes two bytes of path length (little-endian), the path, the bytes; for all others JSON. The link below frames
//! and checks it.

use results::model::MachineFacts;
use serde::{Deserialize, Serialize};

use crate::suspended::SuspendedCell;
use crate::{Event, RunError};

/// One message from the guest's half to the host's.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Replace a file of the result.
    Put {
        /// Path inside the result.
        path: String,
        /// Its whole contents.
        bytes: Vec<u8>,
    },
    /// Add to a file of the result.
    Append {
        /// Path inside the result.
        path: String,
        /// The bytes that are added.
        bytes: Vec<u8>,
    },
    /// Something happened.
    Event(Event),
    /// Facts of the guest's machine.
    Machine(MachineFacts),
    /// Choice of how loads are driven from now on.
    Chosen(Chosen),
    /// Something that the teardown of a cell left behind.
    LeftBehind(Vec<String>),
    /// A line of the guest's log.
    Log(String),
    /// Question whether this cell is needed; the guest waits for the [`HostReply`].
    Needed(usize),
    /// A cell whose machine reboots: another guest continues it.
    Suspended(Box<SuspendedCell>),
    /// Question for the time of a continued cell; the guest waits for the [`HostReply`].
    Time,
}

/// Answer of the host to a question of the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostReply {
    /// Go on.
    GoOn,
    /// Nothing that is left is needed: finish.
    Finish,
    /// Nanoseconds since the epoch of the cell that the guest continues.
    Time(u64),
}

/// Choice of how some loads are driven, for all variants and repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The name of the loads that are driven alike.
    pub loads: String,
    /// The choice, and its reason.
    pub choice: engine::Choice,
}

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Put { path, bytes } => encode_write(0, path, bytes),
            Self::Append { path, bytes } => encode_write(1, path, bytes),
            Self::Event(event) => encode_json(2, event),
            Self::Machine(facts) => encode_json(3, facts),
            Self::LeftBehind(what) => encode_json(4, what),
            Self::Chosen(chosen) => encode_json(5, chosen),
            Self::Needed(cell) => encode_json(6, cell),
            Self::Log(line) => encode_json(7, line),
            Self::Suspended(cell) => encode_json(8, cell),
            Self::Time => encode_json(9, &()),
        }
    }

    /// Reads a message; the error says what is not understood.
    pub fn decode(bytes: &[u8]) -> Result<Self, RunError> {
        let language = |what: &str| RunError::Language(what.into());
        let (kind, rest) = bytes.split_first().ok_or_else(|| language("an empty message"))?;
        Ok(match kind {
            0 | 1 => {
                let (length, rest) = rest
                    .split_first_chunk::<2>()
                    .ok_or_else(|| language("a write without a path"))?;
                let length = usize::from(u16::from_le_bytes(*length));
                let (path, bytes) =
                    rest.split_at_checked(length).ok_or_else(|| language("a path cut short"))?;
                let path = String::from_utf8(path.to_vec())
                    .map_err(|_| language("a path that is not text"))?;
                let bytes = bytes.to_vec();
                if *kind == 0 { Self::Put { path, bytes } } else { Self::Append { path, bytes } }
            }
            2 => Self::Event(decode_json(rest)?),
            3 => Self::Machine(decode_json(rest)?),
            4 => Self::LeftBehind(decode_json(rest)?),
            5 => Self::Chosen(decode_json(rest)?),
            6 => Self::Needed(decode_json(rest)?),
            7 => Self::Log(decode_json(rest)?),
            8 => Self::Suspended(decode_json(rest)?),
            9 => Self::Time,
            other => return Err(language(&format!("a message of kind {other}"))),
        })
    }
}

impl HostReply {
    /// The answer as bytes.
    pub fn encode(self) -> Vec<u8> {
        serde_json::to_vec(&self).unwrap_or_default()
    }

    /// Reads an answer.
    pub fn decode(bytes: &[u8]) -> Result<Self, RunError> {
        decode_json(bytes)
    }
}

fn encode_write(kind: u8, path: &str, bytes: &[u8]) -> Vec<u8> {
    // Paths of a result are made by this program and far shorter than 64 KiB.
    let length = u16::try_from(path.len()).unwrap_or(u16::MAX);
    let mut out = Vec::with_capacity(3 + path.len() + bytes.len());
    out.push(kind);
    out.extend(length.to_le_bytes());
    out.extend(path.as_bytes().iter().take(usize::from(length)));
    out.extend(bytes);
    out
}

fn encode_json(kind: u8, value: &impl serde::Serialize) -> Vec<u8> {
    let mut out = vec![kind];
    // This program's own plain data: serialisation into memory cannot fail.
    out.extend(serde_json::to_vec(value).unwrap_or_default());
    out
}

fn decode_json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, RunError> {
    serde_json::from_slice(bytes).map_err(|e| RunError::Language(e.into()))
}

/// Receiver of messages: the ledger of a local run, or the link of a guest.
pub trait Post: Send {
    /// Takes one message; an error means that nobody listens any more.
    fn post(&mut self, message: Message) -> Result<(), RunError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_message_is_read_back_as_sent() {
        let messages = [
            Message::Put { path: "cells/a/cell.json".into(), bytes: vec![0, 255, 3] },
            Message::Append { path: "x".into(), bytes: Vec::new() },
            Message::Event(Event::Notice { cell: Some(3), text: "hello".into() }),
            Message::Machine(MachineFacts::default()),
            Message::LeftBehind(vec!["dm-3".into()]),
            Message::Needed(7),
            Message::Log("a step".into()),
            Message::Time,
        ];
        for message in messages {
            assert_eq!(Message::decode(&message.encode()).unwrap(), message);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_fall_over(bytes: Vec<u8>) {
            let _ = Message::decode(&bytes);
        }
    }
}
