//! The log of what the program does inside, for developers: `--log FILE`, or `FATHOM_LOG=FILE` in the environment. Nothing is logged for
//! each I/O. A guest sends its lines to the host, which writes them into the same file.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use results::draft::is_stream;
use rustix::fs::OFlags;
use tracing::Level;

use crate::failure::Failure;
use crate::outputs::{self, Output, OutputKind};
use crate::terminal::say_line;

/// The variable of the environment that names the file where no option does.
const VARIABLE: &str = "FATHOM_LOG";
/// The flag of `open` that prevents waiting, as for the reader of a pipe.
const NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// Begins to log, where the command line or the environment asks for it. Lines are added to a log that is there.
///
/// # Errors
/// When the file cannot be written, or is not a log of Fathom's.
pub fn begin(option: Option<&Path>) -> Result<(), Failure> {
    let variable = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let (option, path) = match (option, &variable) {
        (Some(path), _) => ("--log", path),
        (None, Some(path)) => (VARIABLE, path.as_path()),
        (None, None) => return Ok(()),
    };
    let output = Output { option, path, kind: OutputKind::Log };
    outputs::check(&[output], &[])?;
    let file = open(path).map_err(|error| output.not_written(&error))?;
    let log = Arc::new(Log { file, lost: Mutex::default() });
    let _ = LOG.set(log.clone());
    to(move || Through(log.clone()));
    tracing::info!(words = ?crate::args::words(), version = env!("CARGO_PKG_VERSION"), "fathom");
    Ok(())
}

/// Reports at the end how many lines of the log could not be written.
pub fn end() {
    let Some(log) = LOG.get() else { return };
    let lost = log.lost.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((lines, why)) = lost.as_ref() {
        say_line(format!("note: {lines} lines of the log could not be written: {why}"));
    }
}

/// Logs in a guest: each line goes to `send`.
pub fn begin_in_guest(send: impl Fn(String) + Send + Sync + 'static) {
    let send = Arc::new(send);
    to(move || Lines(send.clone()));
}

/// Writes what is logged from now on. A second call changes nothing.
fn to(writer: impl for<'w> tracing_subscriber::fmt::MakeWriter<'w> + Send + Sync + 'static) {
    let log = tracing_subscriber::fmt().with_writer(writer).with_ansi(false);
    let _ = log.with_max_level(Level::DEBUG).try_init();
}

/// Opens a log to add to it: a stream, a new or empty file, or one that begins with the mark. Only what was opened counts.
fn open(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|found| is_stream(&found)) {
        let file = results::draft::stream(path)?;
        if file.metadata()?.file_type().is_fifo() {
            rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? | OFlags::NONBLOCK)?;
        }
        return Ok(file);
    }
    let mark = OutputKind::Log.mark();
    let mut options = File::options();
    // The file may have been replaced by a pipe since the check above.
    let opened = options.read(true).append(true).create(true).custom_flags(NONBLOCK);
    let mut file = opened.open(path)?;
    let found = file.metadata()?;
    let foreign =
        || io::Error::new(ErrorKind::AlreadyExists, "the existing file is not a log of Fathom's");
    if !found.is_file() {
        return Err(foreign());
    }
    if found.len() == 0 {
        file.write_all(mark)?;
        return Ok(file);
    }
    let mut start = vec![0; mark.len()];
    let ours = file.read_exact(&mut start).is_ok() && start == mark;
    if ours { Ok(file) } else { Err(foreign()) }
}

/// The log of this process.
static LOG: OnceLock<Arc<Log>> = OnceLock::new();

/// A file or stream that lines are written to. The program never waits for it: a reader that stalls costs lines.
struct Log {
    file: File,
    /// The number of lines that are lost, and why the first was.
    lost: Mutex<Option<(u64, String)>>,
}

/// A writer of one line.
struct Through(Arc<Log>);

impl Write for Through {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(error) = (&self.0.file).write_all(line) {
            let mut lost = self.0.lost.lock().unwrap_or_else(PoisonError::into_inner);
            let why = match error.kind() {
                ErrorKind::WouldBlock => "its reader does not keep up".to_owned(),
                _ => error.to_string(),
            };
            lost.get_or_insert((0, why)).0 += 1;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that sends each text it is given as one line.
struct Lines(Arc<dyn Fn(String) + Send + Sync>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(String::from_utf8_lossy(bytes).trim_end().to_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_added_to_and_no_other_file_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        open(&at("new")).unwrap().write_all(b"one\n").unwrap();
        open(&at("new")).unwrap().write_all(b"two\n").unwrap();
        let log = std::fs::read_to_string(at("new")).unwrap();
        assert!(
            log.as_bytes().starts_with(OutputKind::Log.mark()) && log.ends_with("\none\ntwo\n"),
            "{log}"
        );
        std::fs::write(at("letter"), "dear aunt").unwrap();
        assert_eq!(open(&at("letter")).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(at("letter")).unwrap(), "dear aunt");
        assert!(open(dir.path()).is_err());
    }
}
