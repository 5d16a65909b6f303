//! Files of a sosreport, unpacked in a directory or packed in an archive; of an archive only those that are read.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;

/// Largest size of a file that is read, bytes.
const LARGEST: u64 = 16 << 20;
/// Largest unpacked size of an archive that is accepted, bytes.
const LARGEST_ARCHIVE: u64 = 8 << 30;

/// Files by their paths below the top of the report.
pub enum Files {
    /// In a directory.
    Directory(PathBuf),
    /// Texts of an archive's files.
    Packed(BTreeMap<String, String>),
}

/// Tells whether the file of a report at `path` is read.
fn is_wanted(path: &str) -> bool {
    const FOLDERS: [&str; 12] = [
        "proc/",
        "sys/block/",
        "sys/module/",
        "sos_commands/block/",
        "sos_commands/devicemapper/",
        "sos_commands/vdo/",
        "sos_commands/lvm2/",
        "sos_commands/kernel/",
        "sos_commands/general/",
        "sos_commands/filesys/",
        "sos_commands/host/",
        "sos_commands/rpm/",
    ];
    FOLDERS.iter().any(|folder| path.starts_with(folder)) || !path.contains('/')
}

impl Files {
    /// Reads an archive, whose files lie in one folder: plain, or packed by gzip or xz.
    ///
    /// # Errors
    /// When the file cannot be read, is not such an archive, or is damaged.
    pub fn unpack(path: &Path) -> io::Result<Self> {
        let mut file = sys::input::open(path)?;
        let mut head = [0; 6];
        let length = file.read(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        match &head[..length] {
            [0xfd, b'7', b'z', b'X', b'Z', 0] => {
                let plain = XzReader::new(BufReader::new(file), true);
                Self::of_tar(plain.take(LARGEST_ARCHIVE))
            }
            [0x1f, 0x8b, ..] => Self::of_tar(MultiGzDecoder::new(file).take(LARGEST_ARCHIVE)),
            _ => Self::of_tar(BufReader::new(file)),
        }
    }

    fn of_tar(tar: impl Read) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(tar).entries()? {
            let mut entry = entry?;
            let path = entry.path()?.to_string_lossy().into_owned();
            let inside =
                path.trim_start_matches("./").split_once('/').map(|(_, rest)| rest.to_owned());
            let Some(inside) = inside.filter(|inside| is_wanted(inside)) else { continue };
            if entry.header().entry_type().is_file() && entry.size() <= LARGEST {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                files.insert(inside, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(Self::Packed(files))
    }

    /// The text of a file; `None` where there is none.
    pub fn text(&self, path: &str) -> Option<String> {
        match self {
            Self::Packed(files) => files.get(path).cloned(),
            Self::Directory(top) => {
                let at = top.join(path);
                // A link in a report may lead out of it, to a file of this machine.
                let inside = at.canonicalize().ok()?.starts_with(top.canonicalize().ok()?);
                let small = std::fs::metadata(&at).is_ok_and(|f| f.is_file() && f.len() <= LARGEST);
                let bytes = sys::input::read(&at, LARGEST).ok().filter(|_| inside && small)?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }

    /// Names of the files in a folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Packed(files) => {
                let inside =
                    files.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
                inside.filter_map(|rest| rest.split('/').next()).map(str::to_owned).collect()
            }
            Self::Directory(top) => {
                let entries = std::fs::read_dir(top.join(folder)).into_iter().flatten().flatten();
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
        };
        names.sort();
        names.dedup();
        names
    }
}
