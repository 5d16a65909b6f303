//! Making the files of a corpus.

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::UNIX_EPOCH;

use content::Source;
use reduce::BLOCK;
use units::Percent;

use crate::files::{Bytewise, before, is_one_of};
use crate::spec::Alike;
use crate::{CorpusError, CorpusSpec, PlannedFile};

/// Bytes that are written at a time.
const CHUNK: usize = 1 << 20;

/// Progress of making a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written.
    pub done: u64,
    /// Bytes to be written in all.
    pub of: u64,
}

/// Makes the files of `spec` in `dir`, an existing empty directory. `progress` is called after each MiB and each file, and may stop it.
///
/// # Errors
/// A file or directory that the system refused, with its path; [`CorpusError::Stopped`] when `progress` ended it.
pub fn write(
    spec: &CorpusSpec,
    dir: &Path,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<(), CorpusError> {
    spec.check()?;
    let of = spec.bytes().0;
    let mut writer =
        Writer { dir, sources: Sources::new(spec), chunk: Vec::new(), done: 0, of, progress };
    spec.files().try_for_each(|file| writer.file(&file))
}

/// Tells whether `dir` has every file of `spec` as it was made: its size, and the time of its last change, which [`write()`] sets to 1970.
pub fn is_whole(spec: &CorpusSpec, dir: &Path) -> bool {
    spec.files().all(|file| {
        let found = fs::symlink_metadata(dir.join(&file.path));
        found.is_ok_and(|found| {
            found.is_file()
                && found.len() == file.size
                && found.modified().is_ok_and(|at| at == UNIX_EPOCH)
        })
    })
}

struct Writer<'a> {
    dir: &'a Path,
    sources: Sources<'a>,
    chunk: Vec<u8>,
    done: u64,
    of: u64,
    progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl Writer<'_> {
    fn file(&mut self, planned: &PlannedFile) -> Result<(), CorpusError> {
        let path = self.dir.join(&planned.path);
        let failed = |source| CorpusError::Io { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        if let Bytewise::Link(of) = &planned.holds {
            fs::hard_link(self.dir.join(of), &path).map_err(failed)?;
            return self.tell();
        }
        let mut file = File::create_new(&path).map_err(failed)?;
        let mut left = planned.size;
        let mut block = 0;
        while left > 0 {
            let length = left.min(CHUNK as u64) as usize;
            self.chunk.resize(length.next_multiple_of(BLOCK), 0);
            for place in self.chunk.chunks_exact_mut(BLOCK) {
                self.sources.fill(&planned.holds, block, place);
                block += 1;
            }
            file.write_all(&self.chunk[..length]).map_err(failed)?;
            left -= length as u64;
            self.done += length as u64;
            self.tell()?;
        }
        file.set_modified(UNIX_EPOCH).map_err(failed)
    }

    fn tell(&mut self) -> Result<(), CorpusError> {
        match (self.progress)(Progress { done: self.done, of: self.of }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CorpusError::Stopped),
        }
    }
}

/// The sources of a corpus' bytes.
struct Sources<'a> {
    spec: &'a CorpusSpec,
    own: Source,
    /// The source of changed files, for generations.
    changed: Source,
    /// The sources of the blocks in which copies differ from the first tree, one source for each copy.
    copies: Vec<(Source, Percent)>,
}

impl<'a> Sources<'a> {
    fn new(spec: &'a CorpusSpec) -> Self {
        let source = |name: &str| Source::new(&spec.content, spec.seed.derive(name), 0, 1);
        let copies = match spec.alike {
            Alike::Copies { trees, changed_blocks } => {
                (0..trees).map(|n| (source(&format!("copy {n}")), changed_blocks)).collect()
            }
            _ => Vec::new(),
        };
        Self { spec, own: source("files"), changed: source("changed"), copies }
    }

    /// Fills block number `n` of a file.
    fn fill(&mut self, holds: &Bytewise, n: u64, block: &mut [u8]) {
        let (source, at) = match holds {
            Bytewise::Link(_) => return,
            Bytewise::Changed { first } => (&mut self.changed, first + n),
            Bytewise::Blocks { first, copy } => {
                let at = first + n;
                match self.copies.get_mut(*copy as usize) {
                    Some((source, share))
                        if *copy > 0 && is_one_of(self.spec.seed, "copy", *copy, at, *share) =>
                    {
                        // Such blocks are numbered without gaps: otherwise duplicates could refer to blocks that no file has.
                        (source, before(self.spec.seed, "copy", *copy, at, *share))
                    }
                    _ => (&mut self.own, at),
                }
            }
        };
        if source.position() != at {
            source.seek(at);
        }
        let id = source.next_id(0);
        source.contents().fill(id, block);
    }
}
