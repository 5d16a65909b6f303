//! The interface of all models of disks.

use crate::flash::Flash;
use crate::hdd::Hdd;
use crate::profile::{ModelKind, Profile};
use crate::request::{Event, Op, Request};

/// The model of a kind of disk.
#[derive(Debug, Clone)]
pub(crate) enum Model {
    Hdd(Box<Hdd>),
    Flash(Box<Flash>),
    /// No model: everything ends when it comes, and survives a power cut.
    Memory {
        /// Writes so far.
        written: u64,
    },
}

impl Model {
    /// The model of a disk of `size` bytes.
    pub(crate) fn new(profile: &Profile, size: u64) -> Self {
        match profile.kind() {
            ModelKind::Hdd => Self::Hdd(Box::new(Hdd::new(profile, size))),
            ModelKind::Flash => Self::Flash(Box::new(Flash::new(profile))),
            ModelKind::Memory => Self::Memory { written: 0 },
        }
    }

    /// Takes a request; requests come in the order of their arrival, and after [`Self::advance`] up to it.
    pub(crate) fn submit(&mut self, request: Request, events: &mut Vec<Event>) {
        match self {
            Self::Hdd(hdd) => hdd.submit(request, events),
            Self::Flash(flash) => flash.submit(request, events),
            Self::Memory { written } => {
                let at = request.arrival;
                if matches!(request.op, Op::Write | Op::Discard) {
                    *written += 1;
                    let (offset, length) = (request.offset, request.length);
                    events.push(Event::Stable { offset, length, upto: *written, at });
                }
                events.push(Event::Done { id: request.id, at, failed: None });
            }
        }
    }

    /// Returns the instant of the next decision, if no request comes before.
    pub(crate) fn next(&self) -> Option<f64> {
        match self {
            Self::Hdd(hdd) => hdd.next(),
            Self::Flash(_) | Self::Memory { .. } => None,
        }
    }

    /// Makes the decisions that are due up to `now`.
    pub(crate) fn advance(&mut self, now: f64, events: &mut Vec<Event>) {
        if let Self::Hdd(hdd) = self {
            hdd.advance(now, events);
        }
    }
}
