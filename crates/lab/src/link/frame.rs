//! One frame: a header of eight bytes (magic, kind, length), then the payload.

use std::io::{self, Read, Write};

use crate::{Error, Result};

/// The first two bytes of every header; anything else means that the stream is out of step.
const MAGIC: [u8; 2] = *b"fm";
/// Longest payload that is accepted, bytes: only a stream that is out of step has a longer one.
pub(crate) const LONGEST: usize = 1 << 30;
/// Bytes before the payload.
const HEADER: usize = 8;

/// The purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// Guest to host, sent by the lab: process 1 is there, modules are loaded.
    Up = 1,
    /// Guest to host, sent by the session: the first step of the plan begins.
    FirstStep = 2,
    /// Both ways: bytes that mean something to the session and its host only.
    Payload = 3,
    /// Guest to host, sent by the lab: the session ended well, the guest powers off.
    Done = 4,
    /// Guest to host, sent by the lab: the session failed or died; the payload says how, as text.
    Failed = 5,
    /// Guest to host, sent by the lab: the guest's kernel log, as text.
    KernelLog = 6,
    /// Host to guest, sent by the lab: the host is there.
    Hello = 16,
    /// Host to guest: stop as on Ctrl-C. A second one means at once.
    Interrupt = 17,
    /// Host to guest: nothing more will be sent; finish.
    Finish = 18,
    /// Host to guest, sent by the lab: `Done` or `Failed` has come, and all that was sent before it.
    Heard = 19,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Up,
            Self::FirstStep,
            Self::Payload,
            Self::Done,
            Self::Failed,
            Self::KernelLog,
            Self::Hello,
            Self::Interrupt,
            Self::Finish,
            Self::Heard,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
    }
}

/// One message over the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its purpose.
    pub kind: FrameKind,
    /// The bytes that it carries; empty for most kinds.
    pub payload: Vec<u8>,
}

/// Writes one frame. Header and a small payload go in one piece.
pub(crate) fn write_frame(port: &mut impl Write, kind: FrameKind, payload: &[u8]) -> Result<()> {
    let length = u32::try_from(payload.len())
        .ok()
        .filter(|length| *length as usize <= LONGEST)
        .ok_or_else(|| Error::BadFrame {
            why: format!("a payload of {} B is longer than {LONGEST} B", payload.len()),
        })?;
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&MAGIC);
    header[2] = kind as u8;
    header[4..].copy_from_slice(&length.to_le_bytes());
    let written = if payload.len() <= 1 << 16 {
        let mut whole = Vec::with_capacity(HEADER + payload.len());
        whole.extend_from_slice(&header);
        whole.extend_from_slice(payload);
        port.write_all(&whole)
    } else {
        port.write_all(&header).and_then(|()| port.write_all(payload))
    };
    written
        .and_then(|()| port.flush())
        .map_err(|source| Error::Link { doing: "a frame was sent", source })
}

/// Reads one frame; `None` when the other side is gone between two frames.
pub(crate) fn read_frame(port: &mut impl Read) -> Result<Option<Frame>> {
    let lost = |source| Error::Link { doing: "a frame was received", source };
    let mut header = [0; HEADER];
    let mut got = 0;
    while got < HEADER {
        match port.read(&mut header[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if got == 0 && error.kind() == io::ErrorKind::ConnectionReset => {
                return Ok(None);
            }
            Err(error) => return Err(lost(error)),
        }
    }
    let [a, b, kind, _, length @ ..] = header;
    let length = u32::from_le_bytes(length) as usize;
    if [a, b] != MAGIC || length > LONGEST {
        return Err(Error::BadFrame { why: format!("a header of {header:02x?}") });
    }
    let kind = FrameKind::from_byte(kind)
        .ok_or_else(|| Error::BadFrame { why: format!("kind {kind}") })?;
    // The length is only claimed by the other side, so memory grows with the bytes that really come.
    let mut payload = Vec::with_capacity(length.min(1 << 20));
    let came = port.take(length as u64).read_to_end(&mut payload).map_err(lost)?;
    if came < length {
        return Err(lost(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(Some(Frame { kind, payload }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let large = vec![7; 3 << 20];
        let mut wire = Vec::new();
        write_frame(&mut wire, FrameKind::Up, b"").unwrap();
        write_frame(&mut wire, FrameKind::Payload, &large).unwrap();
        write_frame(&mut wire, FrameKind::Done, b"bye").unwrap();
        let mut wire = wire.as_slice();
        let mut next = || read_frame(&mut wire).unwrap();
        assert_eq!(next().unwrap().kind, FrameKind::Up);
        assert_eq!(next().unwrap().payload, large);
        assert_eq!(next().unwrap().payload, b"bye");
        assert!(next().is_none());
    }

    #[test]
    fn a_frame_cut_off_is_an_error_and_not_the_end() {
        let mut wire = Vec::new();
        write_frame(&mut wire, FrameKind::Payload, b"twelve bytes").unwrap();
        for cut in 1..wire.len() {
            let error = read_frame(&mut &wire[..cut]).unwrap_err();
            assert!(matches!(error, Error::Link { .. }), "{cut}: {error}");
        }
    }

    #[test]
    fn a_stream_out_of_step_is_seen() {
        let error = read_frame(&mut b"kernel panic".as_slice()).unwrap_err();
        assert!(matches!(error, Error::BadFrame { .. }), "{error}");
        let error = read_frame(&mut b"fm\xee\0\0\0\0\0".as_slice()).unwrap_err();
        assert!(error.to_string().contains("kind 238"), "{error}");
    }
}
