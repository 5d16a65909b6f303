//! Growth of the block map: pages for an address that was never written, one path of a root at a time.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::block::{Data, Pbn};
use crate::core::message::{Item, Owner, Post, Then, ToJournal};
use crate::core::request::Task;
use crate::core::vio::Vio;
use crate::format::{Entry, Mapping, Nonce, Page, PageKey};

/// A path under way.
struct Path {
    pages: Vec<(PageKey, Pbn)>,
    /// Writes, then entries, that have not ended.
    left: usize,
    waiting: VecDeque<Box<Vio>>,
}

/// Paths under way, one a root.
#[derive(Default)]
pub(crate) struct Growth {
    paths: FxHashMap<u64, Path>,
}

impl Growth {
    /// Lets a request wait for a path of this root; tells if the path has to be begun.
    pub fn wait(&mut self, root: u64, vio: Box<Vio>) -> bool {
        if let Some(path) = self.paths.get_mut(&root) {
            path.waiting.push_back(vio);
            return false;
        }
        let waiting = VecDeque::from([vio]);
        self.paths.insert(root, Path { pages: Vec::new(), left: 0, waiting });
        true
    }

    /// Writes new, empty pages. Without FUA, old contents of the blocks might be taken for pages of the map after a power cut.
    pub fn format(
        &mut self,
        root: u64,
        pages: Vec<(PageKey, Pbn)>,
        nonce: &Nonce,
        fua: bool,
        post: &mut Post,
    ) {
        let Some(path) = self.paths.get_mut(&root) else { return };
        for &(_, pbn) in &pages {
            let data = Data::new(Page::empty().sealed(nonce, pbn));
            post.bio(Task::Write { pbn, data, fua }, Then::Formatted(root));
        }
        path.left = pages.len();
        path.pages = pages;
    }

    /// Takes note that a page is written. When all are, they are linked, from the top down.
    pub fn formatted(&mut self, root: u64, post: &mut Post) {
        let Some(path) = self.paths.get_mut(&root) else { return };
        path.left -= 1;
        if path.left > 0 {
            return;
        }
        path.left = path.pages.len();
        for &(key, pbn) in &path.pages {
            let (old, new) = (Mapping::UNMAPPED, Mapping::whole(pbn));
            let entry = Entry { key: key.to_key(), old, new };
            post.journal(ToJournal::Append(Item { entry, owner: Owner::Page(key) }));
        }
    }

    /// Takes note that a page is linked. When the path is complete, returns the requests that waited for it.
    pub fn linked(&mut self, root: u64) -> VecDeque<Box<Vio>> {
        let Some(path) = self.paths.get_mut(&root) else { return VecDeque::new() };
        path.left -= 1;
        if path.left > 0 {
            return VecDeque::new();
        }
        self.end(root)
    }

    /// Ends a path; returns the requests that waited for it.
    pub fn end(&mut self, root: u64) -> VecDeque<Box<Vio>> {
        self.paths.remove(&root).map(|path| path.waiting).unwrap_or_default()
    }

    /// Ends all paths; returns the requests that waited for them.
    pub fn give_up(&mut self) -> Vec<Box<Vio>> {
        self.paths.drain().flat_map(|(_, path)| path.waiting).collect()
    }
}
