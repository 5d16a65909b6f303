//! Files, devices and standard input that were named: recognised by their content before they are read.

use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use reduce::BLOCK;
use rustix::fs::{FileType, Stat};

use super::Walk;
use crate::source::file::Tracked;
use crate::source::file_systems::kernel_of_input;
use crate::source::partitions::off_blocks;
use crate::source::qcow2::{Image, Next};
use crate::source::recognise::{
    self, HEAD, TAIL, behind_frames, ends_as_plain_image, in_frames, recognise,
};
use crate::source::uncached_file::UncachedFile;
use crate::source::{JOB, Source};
use crate::{Error, Format};

impl Walk<'_> {
    /// Tells whether a file or device that was named is to be read as a qcow2 image; what another format packs is refused.
    pub(super) fn is_qcow2(&self, path: &Path, real: &Path) -> Result<bool, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        if self.request.format != Format::Recognised {
            return Ok(self.request.format == Format::Qcow2);
        }
        let file = UncachedFile::open(real).map_err(unreadable)?;
        let mut head = vec![0; HEAD];
        let read = file.read(&mut head, 0).map_err(unreadable)?;
        let mut tail = vec![0; TAIL];
        let end = (&mut file.file()).seek(io::SeekFrom::End(0)).map_err(unreadable)?;
        if end >= 1024 {
            file.read(&mut tail, end - TAIL as u64).map_err(unreadable)?;
        }
        head.truncate(read);
        refuse_packed(path, &head, &tail)?;
        // Frames that are skipped may be longer than the head.
        let bytes = |place| {
            let mut bytes = [0; 8];
            (file.read(&mut bytes, place).ok()? == bytes.len()).then_some(bytes)
        };
        if let Some(body) = bytes(behind_frames(bytes)) {
            refuse(path, in_frames(&body))?;
        }
        if let Some(off) = off_blocks(&head) {
            self.tally.off_blocks(path, off);
        }
        Ok(Image::is_one(&file))
    }

    /// Reads an image. Parts that follow each other are read as one, so that the pieces of an image, and the records in them, are those of the
    /// guest's disk whatever the clusters are.
    pub(super) fn image(&mut self, image: Image, directory: u32) {
        self.tally.note(|sources| sources.volumes += 1);
        let source = Arc::new(Source::Image(image));
        let Source::Image(image) = &*source else { return };
        let (mut at, mut data, mut open) = (0, 0, 0..0);
        while !self.stop()
            && let Some(next) = image.next(at)
        {
            let (part, lost) = match next {
                Next::Data(part) => (part, None),
                Next::Lost(part, error) => (part, Some(error)),
            };
            let start = (part.start - part.start % BLOCK as u64).max(at);
            let end = part.end.next_multiple_of(BLOCK as u64).min(image.size());
            if let Some(error) = lost {
                let clusters = (end - start).div_ceil(image.cluster_bytes());
                self.tally.lost(image.path(), &error, clusters);
            } else {
                if start != open.end {
                    self.range(&source, open.start, open.end - open.start, directory);
                    open.start = start;
                }
                // What lies before the last multiple of a job can be read already.
                let whole = (end - end % JOB as u64).max(open.start);
                self.range(&source, open.start, whole - open.start, directory);
                open = whole..end;
            }
            data += end - start;
            at = end;
        }
        self.range(&source, open.start, open.end - open.start, directory);
        let size = image.size();
        self.tally.note(|sources| sources.hole_bytes += size - data);
    }

    /// Reads what is named, cut into blocks anew at each of the cuts.
    pub(super) fn cut(
        &mut self,
        path: &Path,
        found: &Stat,
        qcow2: bool,
        directory: u32,
    ) -> Result<(), Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let (source, size) = if qcow2 {
            let image = Image::open(path)?;
            let size = image.size();
            (Source::Image(image), size)
        } else if FileType::from_raw_mode(found.st_mode).is_block_device() {
            let source = Source::device(path).map_err(unreadable)?;
            let Source::Device(file, _) = &source else { return Ok(()) };
            let size = sys::block::size_bytes(file).map_err(unreadable)?.0;
            (source, size)
        } else {
            let tracked = Tracked::new(path.to_owned(), None, found, Arc::clone(&self.tally));
            (Source::File(tracked), found.st_size as u64)
        };
        let (source, cuts) = (Arc::new(source), self.cuts.to_vec());
        let mut begin = 0;
        for end in cuts.into_iter().chain([size]) {
            self.stretch(&source, begin..end.min(size), directory);
            begin = end;
        }
        Ok(())
    }

    /// Reads a stretch of what is named, cut into blocks from its beginning; parts that an image has not allocated are left out.
    fn stretch(&mut self, whole: &Arc<Source>, stretch: Range<u64>, directory: u32) {
        let length = stretch.end.saturating_sub(stretch.start);
        let source = Arc::new(Source::From(Arc::clone(whole), stretch.start));
        let Source::Image(image) = &**whole else {
            return self.range(&source, 0, length, directory);
        };
        let mut at = 0;
        while at < length
            && !self.stop()
            && let Some(next) = image.next(stretch.start + at)
        {
            // Lost parts were reported already by the first reading.
            let (part, lost) = match next {
                Next::Data(part) => (part, false),
                Next::Lost(part, _) => (part, true),
            };
            if part.start >= stretch.end {
                break;
            }
            let from = part.start - stretch.start;
            let start = (from - from % BLOCK as u64).max(at);
            let end = (part.end - stretch.start).next_multiple_of(BLOCK as u64).min(length);
            if !lost {
                self.range(&source, start, end - start, directory);
            }
            at = end;
        }
    }

    /// Reads standard input to its end.
    pub(super) fn standard_input(&mut self, directory: u32) -> Result<(), Error> {
        let path = Path::new("-");
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        if let Some(kind) = kernel_of_input() {
            return Err(Error::Kernel { path: path.to_owned(), kind: kind.to_owned() });
        }
        self.tally.note(|sources| {
            sources.volumes += 1;
            sources.streams += 1;
        });
        let mut head = Vec::new();
        io::stdin().lock().take(HEAD as u64).read_to_end(&mut head).map_err(unreadable)?;
        let qcow2 = match self.request.format {
            Format::Raw => false,
            Format::Qcow2 => true,
            Format::Recognised => {
                refuse_packed(path, &head, &[])?;
                Image::begins(&head)
            }
        };
        if qcow2 {
            return Err(Error::Image {
                path: path.to_owned(),
                what: "a qcow2 image cannot be read in order".into(),
                help:
                    "name the image instead of -; or use --format raw, to take its bytes as they lie"
                        .into(),
            });
        }
        let mut input = head.as_slice().chain(io::stdin().lock());
        let (mut at, mut tail) = (0, Vec::new());
        while !self.stop() {
            let mut bytes = Vec::new();
            let read =
                input.by_ref().take(JOB as u64).read_to_end(&mut bytes).map_err(unreadable)?;
            if read == 0 {
                match self.request.format {
                    Format::Recognised if ends_as_plain_image(&tail) => {
                        self.tally.note(|sources| sources.image_ends += 1);
                    }
                    // Some formats show only at their end.
                    Format::Recognised => refuse_packed(path, &[], &tail)?,
                    Format::Raw | Format::Qcow2 => {}
                }
                break;
            }
            tail.extend_from_slice(&bytes[read.saturating_sub(TAIL)..]);
            tail.drain(..tail.len().saturating_sub(TAIL));
            let source = Arc::new(Source::Memory(at, bytes));
            self.range(&source, at, read as u64, directory);
            at += read as u64;
        }
        Ok(())
    }
}

/// Refuses formats that pack, encrypt or shift their data, with a command that reads them.
fn refuse_packed(path: &Path, head: &[u8], tail: &[u8]) -> Result<(), Error> {
    refuse(path, recognise(head, tail))
}

fn refuse(path: &Path, format: Option<recognise::Format>) -> Result<(), Error> {
    format.map_or(Ok(()), |format| {
        let (what, help) = (format!("this is a {}", format.name), format.help(path));
        Err(Error::Image { path: path.to_owned(), what, help })
    })
}
