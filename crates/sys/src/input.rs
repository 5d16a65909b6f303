//! Files that the user named and that are read: reading never blocks for ever and never reads without an end.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file to be read.
///
/// # Errors
/// Fails if it cannot be opened or is something else: a FIFO, on which opening would block, or a character device, which may have no end.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, "only a file can be read here", FileType::is_file)
}

/// Opens a regular file or a block device to be read.
///
/// # Errors
/// Fails if it cannot be opened or is something else.
pub fn open_or_device(path: &Path) -> io::Result<File> {
    let taken = |kind: &FileType| kind.is_file() || kind.is_block_device();
    open_as(path, "only a file or a block device can be read here", taken)
}

/// Reads a regular file of at most `longest` bytes.
///
/// # Errors
/// Fails if it cannot be read, is something else, or is longer.
pub fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        let why = format!("it is longer than {}, the most that is read", units::Bytes(longest));
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Reads a text of at most `longest` bytes, in UTF-8.
///
/// # Errors
/// Fails as [`read`] does, and if it is not valid UTF-8.
pub fn read_text(path: &Path, longest: u64) -> io::Result<String> {
    String::from_utf8(read(path, longest)?)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

fn open_as(path: &Path, only: &str, taken: impl Fn(&FileType) -> bool) -> io::Result<File> {
    let look = |found: &Metadata| {
        let kind = found.file_type();
        let error = if kind.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::InvalidInput };
        let refused = || io::Error::new(error, format!("it is {}, and {only}", word(&kind)));
        taken(&kind).then_some(()).ok_or_else(refused)
    };
    // Checked before opening, since opening alone has effects on some devices.
    look(&fs::metadata(path)?)?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    look(&file.metadata()?)?;
    Ok(file)
}

fn word(kind: &FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_block_device() {
        "a block device"
    } else {
        "something else"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn only_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let cases = [
            (fifo.as_path(), "a FIFO"),
            (Path::new("/dev/zero"), "a character device"),
            (folder.path(), "a directory"),
        ];
        for (path, word) in cases {
            for error in [open(path), open_or_device(path)].map(Result::unwrap_err) {
                assert!(error.to_string().contains(word), "{error}");
            }
            assert!(read(path, u64::MAX).unwrap_err().to_string().contains(word));
        }
        assert_eq!(open(folder.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(open(&folder.path().join("x")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_as_far_as_it_may_be_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "text").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"text");
        assert_eq!(read_text(&path, u64::MAX).unwrap(), "text");
        let error = read(&path, 3).unwrap_err();
        assert!(error.to_string().contains("longer than 3 B"), "{error}");
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path, 4).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
