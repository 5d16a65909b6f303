//! `fathom push`, and `--push` of runs: results as files in a store.

use std::collections::BTreeMap;
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::push::{Destination, Event, Kind, Outcome, Package, PushError};
use results::draft::Draft;
use results::packed::{self, MARK, PackError};
use run::RunOutcome;
use serde_json::json;
use sys::passing::Passing;
use units::Bytes;

use super::pack::{ENDING, named, say_faults};
use crate::args::PushArgs;
use crate::failure::Failure;
use crate::render::Share;
use crate::terminal::{json_line, say};

/// Time until a push without a terminal says how far it is, and between two such lines.
const FIRST_LINE: Duration = Duration::from_secs(2);
const NEXT_LINE: Duration = Duration::from_secs(30);

pub fn run(args: &PushArgs) -> Result<ExitCode, Failure> {
    let to = destination(&args.dest)?;
    let mut names = BTreeMap::new();
    for path in &args.results {
        if let Some(other) = names.insert(name_of(path)?, path) {
            let message =
                format!("{} and {} would have the same name", other.display(), path.display());
            return Err(Failure::usage(message).with_help("send them to two places"));
        }
        apart(path, &to)?;
    }
    let mut code = ExitCode::SUCCESS;
    for path in &args.results {
        let (one, line) = send(path, &to, args.replace)?;
        if args.json {
            json_line(&line);
        }
        if one != ExitCode::SUCCESS {
            code = one;
        }
    }
    Ok(code)
}

/// Reads a destination, and checks what can be checked before there is something to send.
fn destination(text: &str) -> Result<Destination, Failure> {
    let to = Destination::read(text, &|name| std::env::var(name).ok())?;
    to.check()?;
    Ok(to)
}

/// Checks the `--push` of a run before it starts: a place that the result cannot go to is told now, not when hours have passed.
pub fn check(to: Option<&str>) -> Result<(), Failure> {
    to.map(destination).transpose().map(drop)
}

/// Sends the result of a run that has ended, as its `--push` asks. Returns the exit code of the failure if it is not there in the end.
pub fn after_run(outcome: RunOutcome, out: &Path, to: &str, as_json: bool) -> ExitCode {
    let later = format!("fathom push {} {to}", out.display());
    if outcome == RunOutcome::Interrupted {
        say(&format!("not sent, as it was interrupted: {later} does it"));
        return ExitCode::SUCCESS;
    }
    let sent = destination(to).and_then(|to| {
        apart(out, &to)?;
        send(out, &to, false)
    });
    match sent {
        Ok((_, mut line)) => {
            if as_json {
                line["event"] = json!("pushed");
                json_line(&line);
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let failed = failure.report();
            say(&format!("the result stays in {}; {later} sends it", out.display()));
            failed
        }
    }
}

/// Sends one result; returns the exit code for its state, and a line for programs.
fn send(
    path: &Path,
    to: &Destination,
    replace: bool,
) -> Result<(ExitCode, serde_json::Value), Failure> {
    let name = name_of(path)?;
    let result = results::open(path)?;
    let packed = Packed::of(path)?;
    let package = Package::read(&packed.file, &name)?;
    let place = to.place(&name);
    let mut progress = Progress::of(&place, package.bytes);
    let outcome = ::push::push(to, &package, replace, &mut |event| progress.on(&event))?;
    drop(progress);
    let size = Bytes(package.bytes);
    let (word, text) = match outcome {
        Outcome::Stored => ("stored", format!("{place} stored ({size})")),
        Outcome::Replaced => ("replaced", format!("{place} replaced ({size})")),
        Outcome::AlreadyThere => {
            ("already_there", format!("{place} is there already, with the same bytes ({size})"))
        }
    };
    say(&text);
    say_faults(&result);
    let line = json!({
        "result": path, "place": place, "outcome": word, "bytes": package.bytes,
        "sha256": package.sha256, "complete": result.complete(),
        "unchanged": result.seal.broken().is_none(),
    });
    Ok((super::report::code_of(&result), line))
}

/// A packed result, which is removed afterwards if it was packed to be sent.
struct Packed {
    file: PathBuf,
    _dir: Option<Passing>,
}

impl Packed {
    fn of(path: &Path) -> Result<Self, Failure> {
        if packed::is_packed(path) {
            return Ok(Self { file: path.to_owned(), _dir: None });
        }
        let place = std::env::temp_dir();
        let failed = |error: std::io::Error| {
            let message = format!("{}: it cannot be packed there: {error}", place.display());
            let failure = Failure::environment(message);
            match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    failure.with_help("make room, or name another directory with TMPDIR")
                }
                _ => failure.with_help("name a directory that you may write to with TMPDIR"),
            }
        };
        let dir = Passing::new_in(&place, "fathom-", 0o700).map_err(failed)?;
        let file = dir.path().join("packed");
        let mut share = Share::of("packing", packed::size(path)?);
        let draft = Draft::begin(&file, MARK).map_err(failed)?;
        let written = packed::pack(path, draft.file(), |bytes| share.add(bytes));
        written.map_err(|error| match error {
            PackError::Unwritten(error) => failed(error),
            error => error.into(),
        })?;
        draft.finish().map_err(failed)?;
        Ok(Self { file, _dir: Some(dir) })
    }
}

/// Returns the name of a result in a store.
fn name_of(path: &Path) -> Result<String, Failure> {
    let named = named(path)?;
    let name = named.to_str().filter(|name| !name.chars().any(char::is_control));
    let name = name.ok_or_else(|| {
        let message = format!("{} has a name that no store takes", path.display());
        Failure::usage(message).with_help("rename it, or pack it under another name")
    })?;
    let ending = if name.ends_with(ENDING) && path.is_file() { "" } else { ENDING };
    Ok(format!("{name}{ending}"))
}

/// Refuses a directory as destination that lies in the result.
fn apart(path: &Path, to: &Destination) -> Result<(), Failure> {
    let Some(dir) = to.directory() else { return Ok(()) };
    let dir = dir.canonicalize().map_err(Failure::usage)?;
    if path.is_dir() && dir.starts_with(path.canonicalize().map_err(Failure::usage)?) {
        let message = format!("{} lies in the result that it would hold", dir.display());
        return Err(Failure::refused(message).with_help("name a directory elsewhere"));
    }
    Ok(())
}

/// Progress of a push: a bar on a terminal, else a line now and then.
struct Progress<'a> {
    place: &'a str,
    bytes: u64,
    share: Share,
    next: Instant,
}

impl<'a> Progress<'a> {
    fn of(place: &'a str, bytes: u64) -> Self {
        let next = Instant::now() + FIRST_LINE;
        Self { place, bytes, share: Share::of("sending", bytes), next }
    }

    fn on(&mut self, event: &Event) {
        match event {
            Event::Note(text) => say(&format!("note: {text}")),
            Event::At(at) => {
                self.share.to(*at);
                let now = Instant::now();
                if now >= self.next && !std::io::stderr().is_terminal() {
                    say(&format!("{}: {} of {} sent", self.place, Bytes(*at), Bytes(self.bytes)));
                    self.next = now + NEXT_LINE;
                }
            }
        }
    }
}

impl From<PushError> for Failure {
    fn from(error: PushError) -> Self {
        let help = error.help.clone();
        match error.kind {
            Kind::Usage => Self::usage(error),
            Kind::Environment => Self::environment(error),
            Kind::Refused => Self::refused(error),
        }
        .with_help_if(help)
    }
}
