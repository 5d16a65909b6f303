//! The books: a record of one worker's part of the tree, exact after every operation.

use crate::bits::Bits;
use crate::files::{File, Files, MOST_LINKS};
use crate::{Mix, TreeOp};

/// The files behind one worker's names. Names are numbered from 0 in its own part of the range.
///
/// A file takes one bit and eight bytes, and eight bytes more with hard links in the mix. A file that only a hard link still holds has a separate
/// slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    /// Names with a file.
    live: Bits,
    files: Files,
    /// Slots of files by name if there are hard links: then each file has a separate slot; otherwise a file's slot has the number of its name.
    links: Option<Links>,
    soft: Option<Bits>,
    directories: Option<Bits>,
    bytes: u64,
}

/// Slots of files by name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Links {
    /// The slot of each name's file.
    file: Box<[u32]>,
    /// Names with a hard link beside them.
    hard: Bits,
    /// The slots of the files of these hard links.
    slot: Box<[u32]>,
}

impl Books {
    /// The books of `len` names, none of which exists yet, with room for everything that the mix makes.
    pub(crate) fn new(len: u32, mix: &Mix) -> Self {
        let set = |op| mix.has(op).then(|| Bits::new(len));
        let links = set(TreeOp::Hardlink).map(|hard| Links {
            file: vec![0; len as usize].into(),
            hard,
            slot: vec![0; len as usize].into(),
        });
        Self {
            live: Bits::new(len),
            files: if links.is_some() { Files::default() } else { Files::with(len) },
            links,
            soft: set(TreeOp::Softlink),
            directories: set(TreeOp::Mkdir),
            bytes: 0,
        }
    }

    /// Number of possible names.
    pub fn names(&self) -> u32 {
        self.live.len()
    }

    /// Number of names that have a file, without soft and hard links.
    pub fn files(&self) -> u32 {
        self.live.count()
    }

    /// Number of soft links.
    pub fn soft_links(&self) -> u32 {
        self.soft.as_ref().map_or(0, Bits::count)
    }

    /// Number of hard links beside names.
    pub fn hard_links(&self) -> u32 {
        self.links.as_ref().map_or(0, |links| links.hard.count())
    }

    /// Number of directories that `mkdir` made.
    pub fn directories(&self) -> u32 {
        self.directories.as_ref().map_or(0, Bits::count)
    }

    /// Sizes of all files together, each counted once, however many names it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The size of the file with that name; `None` if there is none.
    pub fn size(&self, name: u32) -> Option<u64> {
        self.file(name).map(|file| file.size)
    }

    /// Number of names (hard links included) of the file with that name; 0 if there is none.
    pub fn links(&self, name: u32) -> u32 {
        self.file(name).map_or(0, |file| file.links)
    }

    /// The size of the file that the hard link beside a name belongs to.
    pub fn hard_link(&self, name: u32) -> Option<u64> {
        self.beside(name).map(|file| file.size)
    }

    /// The file that the hard link beside a name belongs to.
    pub(crate) fn beside(&self, name: u32) -> Option<File> {
        let links = self.links.as_ref().filter(|links| links.hard.has(name))?;
        Some(self.files.get(links.slot[name as usize]))
    }

    /// Tells whether there is a soft link beside a name.
    pub fn has_soft_link(&self, name: u32) -> bool {
        self.soft.as_ref().is_some_and(|soft| soft.has(name))
    }

    /// Tells whether there is a directory that `mkdir` made for that name.
    pub fn has_directory(&self, name: u32) -> bool {
        self.directories.as_ref().is_some_and(|directories| directories.has(name))
    }

    /// Bytes of memory that the books take.
    pub fn memory(&self) -> usize {
        let sets = [Some(&self.live), self.soft.as_ref(), self.directories.as_ref()];
        let sets: usize = sets.into_iter().flatten().map(Bits::memory).sum();
        let links = |links: &Links| 4 * (links.file.len() + links.slot.len()) + links.hard.memory();
        sets + self.files.memory() + self.links.as_ref().map_or(0, links)
    }

    #[inline]
    pub(crate) fn has(&self, name: u32) -> bool {
        self.live.has(name)
    }

    /// Tells whether any name has a file (or, with `live` false, has none).
    pub(crate) fn any(&self, live: bool) -> bool {
        self.live.any(live)
    }

    /// The first name from `from` on that has a file (or, with `live` false, has none), continuing at the first name after the last.
    pub(crate) fn next(&self, from: u32, live: bool) -> Option<u32> {
        self.live.next(from, live)
    }

    /// Prefetches the memory of a name's entry.
    #[inline]
    pub(crate) fn prefetch(&self, name: u32) {
        self.live.prefetch(name);
        match &self.links {
            Some(links) => links.file.get(name as usize).into_iter().for_each(reduce::prefetch),
            None => self.files.prefetch(name),
        }
    }

    #[inline]
    fn slot(&self, name: u32) -> u32 {
        self.links.as_ref().map_or(name, |links| links.file[name as usize])
    }

    #[inline]
    pub(crate) fn file(&self, name: u32) -> Option<File> {
        self.has(name).then(|| self.files.get(self.slot(name)))
    }

    /// Adds a file for a name that has none.
    pub(crate) fn create(&mut self, name: u32, size: u64) {
        let file = File { size, links: 1 };
        match &mut self.links {
            Some(links) => links.file[name as usize] = self.files.add(file),
            None => self.files.set(name, file),
        }
        self.live.set(name, true);
        self.bytes += size;
    }

    /// Sets the size of a name's file.
    pub(crate) fn resize(&mut self, name: u32, size: u64) {
        let slot = self.slot(name);
        let file = self.files.get(slot);
        self.files.set(slot, File { size, ..file });
        self.bytes = self.bytes - file.size + size;
    }

    /// Removes a name from its file.
    fn unlink(&mut self, name: u32) {
        let slot = self.slot(name);
        self.live.set(name, false);
        self.drop_link(slot);
    }

    /// Removes one link of a file; the file itself goes with its last link.
    fn drop_link(&mut self, slot: u32) {
        let file = self.files.get(slot);
        if file.links > 1 {
            return self.files.set(slot, File { links: file.links - 1, ..file });
        }
        self.bytes -= file.size;
        match &self.links {
            Some(_) => self.files.remove(slot),
            None => self.files.set(slot, File::default()),
        }
    }

    /// Removes a name's file and the links beside the name.
    pub(crate) fn delete(&mut self, name: u32) {
        self.unlink(name);
        if let Some(soft) = &mut self.soft {
            soft.set(name, false);
        }
        if let Some(links) = self.links.as_mut().filter(|links| links.hard.has(name)) {
            links.hard.set(name, false);
            let slot = links.slot[name as usize];
            self.drop_link(slot);
        }
    }

    /// Gives the file of `from` the name `to`; a file that has that name is replaced.
    pub(crate) fn rename(&mut self, from: u32, to: u32) {
        if from == to {
            return;
        }
        if self.has(to) {
            self.unlink(to);
        }
        let slot = self.slot(from);
        match &mut self.links {
            Some(links) => links.file[to as usize] = slot,
            None => {
                let file = self.files.get(slot);
                self.files.set(to, file);
                self.files.set(from, File::default());
            }
        }
        self.live.set(from, false);
        self.live.set(to, true);
    }

    /// Tells whether the file of a name may have one more link.
    pub(crate) fn may_link(&self, name: u32) -> bool {
        self.links(name) < MOST_LINKS
    }

    pub(crate) fn soft_link(&mut self, beside: u32) {
        if let Some(soft) = &mut self.soft {
            soft.set(beside, true);
        }
    }

    pub(crate) fn make_hard_link(&mut self, name: u32, beside: u32) {
        let slot = self.slot(name);
        if let Some(links) = &mut self.links {
            links.hard.set(beside, true);
            links.slot[beside as usize] = slot;
            let file = self.files.get(slot);
            self.files.set(slot, File { links: file.links + 1, ..file });
        }
    }

    pub(crate) fn set_directory(&mut self, name: u32, there: bool) {
        if let Some(directories) = &mut self.directories {
            directories.set(name, there);
        }
    }
}
