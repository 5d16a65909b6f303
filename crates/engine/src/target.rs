//! Opens the target of a load: a block device or a file, with the page cache bypassed where possible.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use sys::meant::Meant;
use units::Bytes;

use crate::error::{EngineError, ErrorKind};
use crate::load::TargetSpec;

/// File systems that live in the page cache, so that direct I/O has no effect there (tmpfs, ramfs).
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// FUSE, virtiofs included.
const FUSE: u32 = 0x6573_5546;

/// File systems that show the kernel's own state.
const VIEWS: [(u32, &str); 5] = [
    (0x9fa0, "procfs"),
    (0x6265_6572, "sysfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x6367_7270, "cgroup2"),
];

/// The way in which the target is to be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub reads: bool,
    pub writes: bool,
    /// Bypasses the page cache, if possible.
    pub direct: bool,
    /// Size of the file to create where it is missing.
    pub create: Option<Bytes>,
}

/// An open target.
#[derive(Debug)]
pub(crate) struct Target {
    pub file: File,
    /// Tells whether it is a block device rather than a file.
    pub block: bool,
    /// Tells whether the file was just created, so that all of it reads as zeros.
    pub fresh: bool,
    /// Tells whether Fathom made this file; such a file is marked as Fathom's own when the load is over.
    pub made: bool,
    pub size: Bytes,
    /// Alignment of offset and length of I/Os, bytes.
    pub alignment: u64,
    pub direct: bool,
    /// Tells whether io_uring may write the rest of a short write to the wrong place: with direct I/O to a file on FUSE. There the kernel's io_uring
    /// goes on at the position of the call, which FUSE's direct writes do not advance (`io_write`, `fuse_direct_IO`).
    pub ring_misplaces: bool,
    pub notices: Vec<String>,
}

impl Target {
    /// Opens the block device or file that `spec` names, and returns `None` for other targets; creates the file where `access` asks for that and it
    /// is missing or empty.
    pub(crate) fn of_spec(spec: &TargetSpec, access: Access) -> Result<Option<Self>, EngineError> {
        spec.path().map(|path| Self::open(path, spec.meant(), access)).transpose()
    }

    /// Opens the target. The path `way` is followed only once; everything else is done with the file that it led to.
    fn open(
        (path, way): (&Path, &Path),
        meant: Option<Meant>,
        access: Access,
    ) -> Result<Self, EngineError> {
        let (held, made) = match (followed(way), access.create) {
            (Ok(held), _) => (held, false),
            (Err(error), Some(_)) if error.kind() == io::ErrorKind::NotFound => {
                (sys::new_file::create(way).map_err(|e| cannot("created", path, e))?, true)
            }
            (Err(error), _) => return Err(cannot("opened", path, error)),
        };
        let right = meant.map_or(Ok(()), |meant| refuse_others(path, &held, meant));
        let opened = right.and_then(|()| Self::of(path, &held, access));
        if opened.is_err() && made && leads_to(way, &held) {
            let _ = std::fs::remove_file(way);
        }
        opened
    }

    fn of(path: &Path, held: &File, access: Access) -> Result<Self, EngineError> {
        let found = held.metadata().map_err(|e| cannot("examined", path, e))?;
        refuse_other_kinds(path, &found)?;
        refuse_views(path, held)?;
        let new = found.is_file() && found.len() == 0;
        if let (true, Some(size)) = (new, access.create) {
            make_room(path, held, size)?;
        }
        let (file, mut direct) = open(path, held, access)?;
        let made = access.writes && sys::made::is_ours(&file);
        let mut notices = Vec::new();
        let block = sys::block::is_block(&file).map_err(|e| cannot("examined", path, e))?;
        let size = sys::block::size_bytes(&file).map_err(|e| cannot("measured", path, e))?;
        if size.0 == 0 {
            return Err(empty(path, block));
        }
        if block && access.writes && sys::block::is_read_only(&file).unwrap_or(false) {
            let message = format!("{} is read-only, and the load writes", path.display());
            return Err(EngineError::new(
                ErrorKind::Target,
                message,
                "make it writable (blockdev --setrw), or use a load that only reads",
            ));
        }
        if access.direct && !direct {
            notices.push(format!(
                "{} is on a file system that refuses direct I/O: the page cache is in the way, and the figures are those of memory",
                path.display()
            ));
        } else if direct && !block && is_on(&file, &IN_MEMORY) {
            direct = false;
            notices.push(format!(
                "{} lives in the page cache itself (tmpfs): the figures are those of memory",
                path.display()
            ));
        }
        let (least, is_taken) = if direct { alignment(&file, block) } else { (1, false) };
        if !is_taken && direct {
            direct = false;
            notices.push(format!(
                "{} takes direct I/O through the page cache all the same, as its file system says (ext4 with data=journal): the figures are those of memory",
                path.display()
            ));
        }
        let alignment = if direct { least } else { 1 };
        let ring_misplaces = direct && !block && is_on(&file, &[FUSE]);
        Ok(Self { file, block, fresh: new, made, size, alignment, direct, ring_misplaces, notices })
    }

    /// Tells whether the file has parts from `offset` on (`size` bytes) that were never written: holes, or preallocated space, which takes as much
    /// room as written data. A device cannot tell, nor can some file systems.
    pub(crate) fn has_hole(&self, (offset, size): (u64, Option<u64>)) -> bool {
        let end = size.map_or(u64::MAX, |size| offset.saturating_add(size)).min(self.size.0);
        let hole = || rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Hole(offset));
        !self.block && offset < end && (self.fresh || hole().is_ok_and(|hole| hole < end))
    }
}

fn cannot(done: &str, path: &Path, source: io::Error) -> EngineError {
    let usual = match source.kind() {
        io::ErrorKind::PermissionDenied => sys::denied::help(),
        io::ErrorKind::NotFound => "check the path; a new file needs a size (--size)",
        _ => "see the cause below",
    };
    let help = sys::new_file::remedy(&source).unwrap_or(usual);
    let message = format!("{} cannot be {done}", path.display());
    EngineError::new(ErrorKind::Target, message, help).because(source)
}

fn empty(path: &Path, block: bool) -> EngineError {
    let help = if block {
        "choose a device with media in it"
    } else {
        "give the size of the file (--size)"
    };
    EngineError::new(ErrorKind::Target, format!("{} holds 0 bytes", path.display()), help)
}

/// Opens `path` as a mere handle (`O_PATH`), without opening the thing itself: opening a FIFO would wait for ever, and opening some character devices
/// has effects.
fn followed(path: &Path) -> io::Result<File> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// The path to the file that `held` refers to, independent of its name.
fn way(held: &File) -> PathBuf {
    format!("/proc/self/fd/{}", held.as_raw_fd()).into()
}

/// Tells whether `path` still names the file that is held.
fn leads_to(path: &Path, held: &File) -> bool {
    let (Ok(found), Ok(held_facts)) = (std::fs::symlink_metadata(path), held.metadata()) else {
        return false;
    };
    (found.dev(), found.ino()) == (held_facts.dev(), held_facts.ino())
}

/// Refuses anything that is neither a file nor a block device.
fn refuse_other_kinds(path: &Path, found: &Metadata) -> Result<(), EngineError> {
    use std::os::unix::fs::FileTypeExt;
    let kind = found.file_type();
    let other = match () {
        () if kind.is_file() || kind.is_block_device() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a character device",
    };
    let message = format!("{} is {other}, neither a block device nor a file", path.display());
    let help = "name a block device (lsblk lists them) or a file";
    Err(EngineError::new(ErrorKind::Usage, message, help))
}

/// Refuses a file or device other than the one that is meant: reached through a link or a mount, or another device under the same name.
fn refuse_others(path: &Path, held: &File, meant: Meant) -> Result<(), EngineError> {
    let found = held.metadata().map_err(|e| cannot("examined", path, e))?;
    if meant.is(&found) {
        return Ok(());
    }
    let wrong = match meant {
        Meant::FileOn(_) => {
            "leads out of the file system that it is to be on, by a link or by what is mounted there"
        }
        Meant::Device(_) => "leads to another device than the one that the stack was built with",
    };
    let message = format!("{} {wrong}; nothing is read or written", path.display());
    let help = "find out what put it there: a command of this experiment, or another program";
    Err(EngineError::new(ErrorKind::Target, message, help))
}

/// Refuses files that show the kernel's own state: they look empty, and their content is made when it is read.
fn refuse_views(path: &Path, held: &File) -> Result<(), EngineError> {
    let Ok(found) = rustix::fs::fstatfs(held) else { return Ok(()) };
    let kind = found.f_type as u32;
    let Some((_, system)) = VIEWS.iter().find(|(number, _)| *number == kind) else { return Ok(()) };
    let message = format!(
        "{} is on {system}: it holds no data, the kernel makes it when it is read",
        path.display()
    );
    Err(EngineError::new(ErrorKind::Usage, message, "name a block device, or a file on a disk"))
}

/// Gives an empty file its size, reserves its space, and marks it. Where there is not enough space it stays empty.
fn make_room(path: &Path, held: &File, size: Bytes) -> Result<(), EngineError> {
    let file =
        OpenOptions::new().write(true).open(way(held)).map_err(|e| cannot("opened", path, e))?;
    let reserved = match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size.0) {
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(size.0),
        other => other.map_err(io::Error::from),
    };
    if let Err(error) = reserved {
        let _ = file.set_len(0);
        let message = format!("{} cannot be made {size} large", path.display());
        let help = "free some room, or use a smaller size";
        return Err(EngineError::new(ErrorKind::Target, message, help).because(error));
    }
    // A file system without user attributes cannot keep the mark: then the next run asks before it overwrites.
    let _ = sys::made::mark(&file);
    sys::identity::mark(&file);
    Ok(())
}

/// Opens the held file as `access` asks; falls back to the page cache where direct I/O is refused. Also tells whether it is direct.
fn open(path: &Path, held: &File, access: Access) -> Result<(File, bool), EngineError> {
    let way = way(held);
    let with =
        |flags| OpenOptions::new().read(true).write(access.writes).custom_flags(flags).open(&way);
    if access.direct {
        match with(libc::O_DIRECT) {
            Ok(file) => return Ok((file, true)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => return Err(cannot("opened", path, error)),
        }
    }
    with(0).map(|file| (file, false)).map_err(|e| cannot("opened", path, e))
}

/// Tells whether a file is on one of these file systems, named by their numbers.
fn is_on(file: &File, systems: &[u32]) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|fs| systems.contains(&(fs.f_type as u32)))
}

/// btrfs, which sends reads and writes that are smaller than its blocks through the page cache without reporting it (`btrfs_direct_read`).
const BTRFS: u32 = 0x9123_683e;

/// Returns the alignment that direct I/O on `file` needs, and whether direct I/O is possible at all. A device reports it; for a file the kernel may
/// (since 6.1, and not for every file system), else it is 512 bytes, or the file system's block where smaller I/Os go through the page cache.
fn alignment(file: &File, block: bool) -> (u64, bool) {
    const SMALLEST: u64 = 512;
    if block {
        return (sys::block::logical_block_size(file).map_or(SMALLEST, |b| b.0), true);
    }
    let flags = rustix::fs::AtFlags::EMPTY_PATH;
    let wanted = rustix::fs::StatxFlags::DIOALIGN;
    if let Ok(facts) = rustix::fs::statx(file, c"", flags, wanted)
        && facts.stx_mask & wanted.bits() != 0
    {
        let least = u64::from(facts.stx_dio_offset_align);
        return (least.max(1), least > 0);
    }
    let blocks = rustix::fs::fstatfs(file).ok().filter(|fs| fs.f_type as u32 == BTRFS);
    (blocks.map_or(SMALLEST, |fs| fs.f_bsize as u64), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, access: Access) -> Result<Target, EngineError> {
        Target::of_spec(&TargetSpec::Path(path.to_owned()), access).map(Option::unwrap)
    }

    const WISH: Access = Access { reads: true, writes: true, direct: true, create: None };

    #[test]
    fn no_file_is_made_in_the_place_of_a_device_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev", folder.path().join("d")).unwrap();
        let access = Access { create: Some(Bytes(4096)), ..WISH };
        for path in [Path::new("/dev/fathom-no-such"), &folder.path().join("d/fathom-no-such")] {
            let error = open(path, access).unwrap_err();
            assert!(error.help().contains("lsblk"), "{error:?}");
            assert!(std::fs::symlink_metadata(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn a_missing_file_is_made_with_its_room_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let access = Access { create: Some(Bytes(1 << 20)), ..WISH };
        let target = open(&path, access).unwrap();
        assert_eq!(target.size, Bytes(1 << 20));
        assert!(target.has_hole((0, None)), "{target:?}");
        let again = open(&path, Access { create: Some(Bytes(1 << 30)), ..WISH }).unwrap();
        assert_eq!(again.size, Bytes(1 << 20));
    }

    #[test]
    fn what_was_not_meant_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [0; 4096]).unwrap();
        let device = path.metadata().unwrap().dev();
        let through = |meant| TargetSpec::Through {
            name: path.clone(),
            way: path.clone(),
            meant: Some(meant),
        };
        Target::of_spec(&through(Meant::FileOn(device)), WISH).unwrap();
        for (meant, phrase) in [
            (Meant::FileOn(device + 1), "leads out of the file system"),
            (Meant::Device(device), "another device than the one"),
        ] {
            let error = Target::of_spec(&through(meant), WISH).unwrap_err().to_string();
            assert!(error.contains(phrase), "{error}");
        }
    }

    #[test]
    fn what_is_neither_a_file_nor_a_block_device_is_refused_before_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let socket = folder.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, phrase) in [
            (fifo.as_path(), "a FIFO"),
            (socket.as_path(), "a socket"),
            (folder.path(), "a directory"),
            (Path::new("/dev/zero"), "a character device"),
            (Path::new("/proc/self/stat"), "procfs"),
        ] {
            for writes in [true, false] {
                let error = open(path, Access { writes: writes && phrase != "procfs", ..WISH })
                    .unwrap_err();
                assert!(error.to_string().contains(phrase), "{error}");
                assert_eq!(error.kind(), ErrorKind::Usage);
            }
        }
    }

    #[test]
    fn what_cannot_be_a_target_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let missing = open(&folder.path().join("none"), WISH).unwrap_err();
        assert!(missing.help().contains("--size"), "{missing}");
        let path = folder.path().join("empty");
        File::create(&path).unwrap();
        let empty = open(&path, WISH).unwrap_err();
        assert!(empty.to_string().contains("0 bytes"), "{empty}");
        let much = Access { create: Some(Bytes(1 << 60)), ..WISH };
        let error = open(&folder.path().join("huge"), much).unwrap_err();
        assert!(error.help().contains("smaller"), "{error}");
        assert!(!folder.path().join("huge").exists());
        open(&path, much).unwrap_err();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "a file that was there stays");
    }
}
