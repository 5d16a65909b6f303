//! Chapters of the index on their way to the device. Nothing waits for them but the stop of the volume, and a chapter that is lost costs
//! only saving.

use std::collections::VecDeque;

use crate::block::Data;
use crate::core::message::{Post, Then, ToJournal};
use crate::core::request::Task;
use crate::format::{Geometry, Nonce, chapter_parts};
use crate::index::Chapter;

/// Chapters that wait while one is written; others are lost.
const WAITING: usize = 2;

/// Chapters on their way to the device, one at a time.
pub(crate) struct Chapters {
    geometry: Geometry,
    nonce: Nonce,
    waiting: VecDeque<Chapter>,
    /// Writes under way.
    left: usize,
    closing: bool,
}

impl Chapters {
    pub fn new(geometry: Geometry, nonce: Nonce) -> Self {
        Self { geometry, nonce, waiting: VecDeque::new(), left: 0, closing: false }
    }

    /// Takes a chapter that is full.
    pub fn keep(&mut self, chapter: Chapter, post: &mut Post) {
        if self.waiting.len() < WAITING {
            self.waiting.push_back(chapter);
            self.write_next(post);
        }
    }

    /// Takes the open chapter as the last one. When all are written, the journal is asked to come to rest.
    pub fn close(&mut self, open: Option<Chapter>, post: &mut Post) {
        self.closing = true;
        self.waiting.extend(open);
        self.write_next(post);
    }

    /// Takes note that a write has ended, successfully or not.
    pub fn written(&mut self, post: &mut Post) {
        self.left -= 1;
        self.write_next(post);
    }

    fn write_next(&mut self, post: &mut Post) {
        while self.left == 0
            && let Some((chapter, records)) = self.waiting.pop_front()
        {
            for (pbn, block) in chapter_parts(&self.geometry, &self.nonce, chapter, &records) {
                self.left += 1;
                let data = Data::new(block);
                post.bio(Task::Write { pbn, data, fua: false }, Then::Chapter);
            }
        }
        if self.left == 0 && std::mem::take(&mut self.closing) {
            post.journal(ToJournal::Quiesce);
        }
    }
}
