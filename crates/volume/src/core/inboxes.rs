//! The inbox of every zone.

use std::collections::VecDeque;

use crate::core::message::{Message, Zone};

/// The inbox of every zone: first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Inboxes {
    boxes: [VecDeque<Message>; Zone::ALL.len()],
}

impl Inboxes {
    pub fn put(&mut self, message: Message) {
        let zone = match &message {
            Message::Door(_) => Zone::Door,
            Message::Logical(_) => Zone::Logical,
            Message::Physical(_) => Zone::Physical,
            Message::Hash(_) => Zone::Hash,
            Message::Cpu(_) => Zone::Cpu,
            Message::Packer(_) => Zone::Packer,
            Message::Journal(_) => Zone::Journal,
            Message::Bio(_) => Zone::Bio,
            Message::Ack(_) => Zone::Ack,
        };
        self.boxes[zone as usize].push_back(message);
    }

    pub fn take(&mut self, zone: Zone) -> Option<Message> {
        self.boxes[zone as usize].pop_front()
    }

    pub fn length(&self, zone: Zone) -> usize {
        self.boxes[zone as usize].len()
    }

    pub fn has(&self, zone: Zone) -> bool {
        !self.boxes[zone as usize].is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.boxes.iter().all(VecDeque::is_empty)
    }
}
