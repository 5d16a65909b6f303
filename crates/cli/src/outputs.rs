//! The files that a command is to write: before anything starts, those that would destroy something are refused.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use report::html::Page;
use results::draft::{Draft, is_stream};

use crate::failure::Failure;

/// Kinds of files that Fathom writes. A file is replaced by another of its kind only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    Page(Page),
    Packed,
    Sources,
    Profile,
    IoLog,
    LatencyLog,
    VerifyState,
    Trace,
    Log,
}

impl OutputKind {
    /// Returns how every file of the kind begins.
    pub fn mark(self) -> &'static [u8] {
        match self {
            Self::Page(page) => page.mark().as_bytes(),
            Self::Packed => results::packed::MARK,
            Self::Sources => report::sources::MARK.as_bytes(),
            Self::Profile => content::Profile::MARK.as_bytes(),
            Self::IoLog => &results::iolog::MAGIC,
            Self::LatencyLog => results::hlog::MARK,
            Self::VerifyState => engine::verify::MARK,
            Self::Trace => &disk::trace::MAGIC,
            Self::Log => b"# Fathom's log: what it did inside, for developers\n",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Page(Page::Results) => "page of results",
            Self::Page(Page::Estimate) => "page of an estimate",
            Self::Page(Page::Advice) => "page of advice",
            Self::Page(Page::Trace) => "page of a trace",
            Self::Packed => "packed result",
            Self::Sources => "table of expectations and sources",
            Self::Profile => "profile",
            Self::IoLog => "log of I/Os",
            Self::LatencyLog => "log of latencies",
            Self::VerifyState => "verification state",
            Self::Trace => "trace of a disk",
            Self::Log => "log of what Fathom did",
        }
    }
}

/// A file that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The option that names it.
    pub option: &'static str,
    pub path: &'a Path,
    pub kind: OutputKind,
}

/// A file, device or directory that a command reads or works on.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub path: &'a Path,
    /// Role of the input, as in "x, which is estimated".
    pub what: &'static str,
}

/// Place that a path leads to: two paths with equal places are one file.
#[derive(Debug, PartialEq)]
enum Place {
    /// Device and inode.
    File(u64, u64),
    /// The number of a block device.
    Device(u64),
    /// The path of a file that does not exist yet.
    New(PathBuf),
}

impl Place {
    /// Returns the place; `None` for a character device, which any number may write to, and for a path that cannot be examined.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(found) => Self::from_metadata(&found),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Some(Self::New(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?)))
            }
            Err(_) => None,
        }
    }

    fn from_metadata(found: &Metadata) -> Option<Self> {
        let kind = found.file_type();
        if kind.is_char_device() {
            return None;
        }
        let device = kind.is_block_device();
        Some(if device { Self::Device(found.rdev()) } else { Self::File(found.dev(), found.ino()) })
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses an output that is one of the `inputs`, the same as another output, a block device, or an existing file that is not an output
/// of Fathom of that kind.
pub fn check(outputs: &[Output], inputs: &[Input]) -> Result<(), Failure> {
    let mut taken = standard_streams();
    for input in inputs {
        let place = match input.path == Path::new("-") {
            true => of_stream(&std::io::stdin()),
            false => Place::of(input.path),
        };
        let text = format!("{}, {}", input.path.display(), input.what);
        taken.extend(place.map(|place| (place, text)));
    }
    for output in outputs {
        let &Output { option, path, .. } = output;
        let place = Place::of(path);
        if let Some((_, what)) = taken.iter().find(|(known, _)| Some(known) == place.as_ref()) {
            let same = format!("{option} {} would overwrite {what}", path.display());
            return Err(Failure::refused(same).with_help("name another file"));
        }
        output.may_be_written(&|place| {
            let within = |input: &&Input| {
                let whole = fs::canonicalize(input.path);
                whole.is_ok_and(|whole| whole.is_dir() && place.starts_with(whole))
            };
            inputs.iter().find(within).copied()
        })?;
        taken.extend(place.map(|place| (place, format!("what {option} writes"))));
    }
    Ok(())
}

/// Files that standard output and standard error go to.
fn standard_streams() -> Vec<(Place, String)> {
    let out = of_stream(&std::io::stdout()).map(|place| (place, "what standard output goes to"));
    let err = of_stream(&std::io::stderr()).map(|place| (place, "what standard error goes to"));
    out.into_iter().chain(err).map(|(place, what)| (place, what.to_owned())).collect()
}

/// The file that a stream of this process is; `None` when it is not a regular file.
fn of_stream(stream: &impl AsFd) -> Option<Place> {
    let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let found = file.metadata().ok()?;
    found.is_file().then(|| Place::from_metadata(&found)).flatten()
}

impl Output<'_> {
    /// Refuses a place that cannot be written, and a file there that must stay. `within` tells which input an existing file is a part of.
    fn may_be_written<'a>(
        &self,
        within: &dyn Fn(&Path) -> Option<Input<'a>>,
    ) -> Result<(), Failure> {
        let (option, at) = (self.option, self.path.display());
        let refused = |why: &str, help: &str| {
            Err(Failure::refused(format!("{option} {at} {why}")).with_help(help))
        };
        let found = match fs::metadata(self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.may_be_made(),
            Err(error) => {
                let message = format!("{option} {at} cannot be examined: {error}");
                return Err(Failure::usage(message).with_help("check the path"));
            }
        };
        if is_stream(&found) {
            return match self.kind {
                OutputKind::VerifyState => refused(
                    "is not a regular file, and a state must be read again later",
                    "name a file",
                ),
                _ => Ok(()),
            };
        }
        if found.is_dir() {
            return refused("is a directory", "name a file in it");
        }
        if found.file_type().is_block_device() {
            return refused("is a block device: its data would be lost", "name a file");
        }
        if !found.is_file() {
            return refused("is not a file that can be written", "name a file");
        }
        let whole = fs::canonicalize(self.path).unwrap_or_else(|_| self.path.to_owned());
        if self.begins_with_mark() {
            // A log is added to, all others are replaced.
            return match self.kind {
                OutputKind::Log => self.writable(&whole),
                _ => self.folder_is_writable(&whole),
            };
        }
        if let Some(input) = within(&whole) {
            let why = format!("is a part of {}, {}", input.path.display(), input.what);
            return refused(&why, "name another file");
        }
        if found.len() > 0 {
            let why = format!("exists already, and is not a {} that Fathom made", self.kind.name());
            return refused(&why, "name another file, or remove it");
        }
        self.folder_is_writable(&whole)
    }

    /// Tells whether the existing file is of the same kind.
    fn begins_with_mark(&self) -> bool {
        let mark = self.kind.mark();
        let mut start = vec![0; mark.len()];
        let read = sys::input::open(self.path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == mark
    }

    /// Refuses a new file where none can be made.
    fn may_be_made(&self) -> Result<(), Failure> {
        let cannot = |why: &str, help: &str| {
            let message = format!("{} {} cannot be made: {why}", self.option, self.path.display());
            Err(Failure::usage(message).with_help(help))
        };
        if let Ok(to) = fs::read_link(self.path) {
            let why = format!("it is a link to {}, which is not there", to.display());
            return cannot(&why, "name the file itself, or remove the link");
        }
        if !folder(self.path).is_dir() {
            return cannot("its directory is not there", "make the directory first");
        }
        self.folder_is_writable(self.path)
    }

    fn folder_is_writable(&self, place: &Path) -> Result<(), Failure> {
        results::draft::try_in(folder(place)).map_err(|error| self.not_written(&error))
    }

    fn writable(&self, place: &Path) -> Result<(), Failure> {
        rustix::fs::access(place, rustix::fs::Access::WRITE_OK)
            .map_err(|error| self.not_written(&error.into()))
    }

    /// Writes the file whole: others see the old one or the new one.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        // Another file may have come there since the check at the start.
        self.may_be_written(&|_| None)?;
        let draft = self.begin()?;
        match draft.file().write_all(bytes) {
            // A reader of a pipe that went away has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(|error| self.not_written(&error))?,
        }
        draft.finish().map(drop).map_err(|error| self.not_written(&error))
    }

    /// Begins a file that is written bit by bit.
    pub fn begin(&self) -> Result<Draft, Failure> {
        Draft::begin(self.path, self.kind.mark()).map_err(|error| self.not_written(&error))
    }

    pub fn not_written(&self, error: &std::io::Error) -> Failure {
        let (option, at) = (self.option, self.path.display());
        let message = format!("{option} {at} cannot be written: {error}");
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Failure::environment(message).with_help("make room, or name a file elsewhere")
            }
            ErrorKind::NotConnected => Failure::usage(message).with_help(results::draft::NO_READER),
            ErrorKind::AlreadyExists => Failure::refused(message).with_help("name another file"),
            _ => Failure::usage(message).with_help(
                sys::new_file::remedy(error)
                    .unwrap_or("name a file in a directory that you may write to"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// Options and arguments that name files, by command: `>` before those that are written.
    const FILES: &[&str] = &[
        "advise >output",
        "fathom >log",
        "advise files",
        "bench >trace",
        "estimate >output",
        "estimate >profile",
        "import files",
        "load >io_log",
        "load >latency_log",
        "load >page",
        "load >verify_state",
        "load content_profile",
        "pack >output",
        "report >output",
        "show >output",
        "show files",
        "trend csv",
        "unpack file",
    ];

    /// Options that name what may be made, by the words of their command.
    fn options_to_make(command: &clap::Command, words: &[String], found: &mut Vec<Vec<String>>) {
        for sub in command.get_subcommands() {
            options_to_make(sub, &[words, &[sub.get_name().to_owned()]].concat(), found);
        }
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            let file = format!("{} >{id}", command.get_name());
            if let Some(long) = arg.get_long()
                && (FILES.contains(&file.as_str()) || ["out", "keep_disks"].contains(&id))
            {
                found.push([words, &[format!("--{long}"), "-".to_owned()]].concat());
            }
        }
    }

    #[test]
    fn nothing_that_is_made_is_called_as_standard_output_is() {
        let mut found = Vec::new();
        options_to_make(&crate::args::Cli::command(), &["fathom".to_owned()], &mut found);
        found.push(["fathom", "load", "-"].map(str::to_owned).to_vec());
        found.push(["fathom", "uvdo", "create", "-"].map(str::to_owned).to_vec());
        found.push(["fathom", "uvdo", "start", "x", "-"].map(str::to_owned).to_vec());
        assert!(found.len() >= 15, "{found:?}");
        for words in found {
            let error = crate::args::Cli::command().try_get_matches_from(&words).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains("./-") && message.contains("standard output"),
                "{words:?}: {message}"
            );
        }
    }

    fn file_options(command: &clap::Command, found: &mut Vec<String>) {
        for sub in command.get_subcommands() {
            file_options(sub, found);
        }
        for arg in command.get_arguments() {
            let names = arg.get_value_names().into_iter().flatten();
            if names.into_iter().any(|name| name.contains("FILE")) {
                found.push(format!("{} {}", command.get_name(), arg.get_id()));
            }
        }
    }

    #[test]
    fn every_option_that_names_a_file_is_known_to_be_read_or_goes_through_the_check() {
        let mut found = Vec::new();
        file_options(&crate::args::Cli::command(), &mut found);
        found.sort();
        let mut known: Vec<String> = FILES.iter().map(|line| line.replace('>', "")).collect();
        known.sort();
        assert_eq!(
            found, known,
            "a new one that is written needs a kind, a mark and a line in the matrix of tests"
        );
    }
}
