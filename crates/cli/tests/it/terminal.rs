//! `fathom load` on a terminal, a pseudo one: the live view, its size, Ctrl-C, colours.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::OpenptFlags;
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{fathom_in, skip};

/// A program on a pseudo terminal that is its controlling one.
struct Session {
    master: OwnedFd,
    child: Child,
    printed: Arc<Mutex<Vec<u8>>>,
}

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Session {
    /// Starts `fathom` with `args` in `dir` on a terminal of so many columns; `None` where that cannot be had.
    fn start(test: &str, dir: &Path, args: &[&str], columns: u16, plain: bool) -> Option<Self> {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || {
            let file = File::options().read(true).write(true).open(&name).unwrap();
            tcsetwinsize(&file, size(columns)).unwrap();
            Stdio::from(file)
        };
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(env!("CARGO_BIN_EXE_fathom")).args(args).current_dir(dir);
        command.stdin(open()).stdout(open()).stderr(open()).env("TERM", "xterm");
        match plain {
            true => command.env("NO_COLOR", "1"),
            false => command.env_remove("NO_COLOR"),
        };
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                skip(test, &format!("setsid cannot be started: {error}"));
                return None;
            }
        };
        drop(command);
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (File::from(master.try_clone().unwrap()), printed.clone());
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // The terminal of a program that has ended gives an error.
            while let Ok(count @ 1..) = from.read(&mut part) {
                into.lock().unwrap().extend_from_slice(&part[..count]);
            }
        });
        Some(Self { master, child, printed })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().unwrap()).into_owned()
    }

    /// Waits until `enough` accepts what was printed after the first `from` bytes, and returns that.
    fn wait(&self, from: usize, enough: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            let new =
                String::from_utf8_lossy(&text.as_bytes()[from.min(text.len())..]).into_owned();
            if enough(&new) {
                return new;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "it did not come:\n{new}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end: the exit code and everything that was printed.
    fn end(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
        // What it printed last is on its way.
        std::thread::sleep(Duration::from_millis(200));
        (self.child.wait().unwrap().code(), self.text())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The pictures that a live view has drawn whole, as lines.
fn pictures(text: &str) -> Vec<Vec<String>> {
    let whole = text.split("\x1b[J").skip(1);
    let mut all: Vec<Vec<String>> = whole
        .map(|picture| {
            let line = |line: &str| line.trim_matches('\r').to_owned();
            let mut lines: Vec<_> = picture.split('\n').map(line).collect();
            // What moves the cursor up again ends with the picture.
            if let Some(last) = lines.last_mut() {
                *last = last.split('\r').next().unwrap_or_default().to_owned();
            }
            lines
        })
        .collect();
    // The last one may be on its way still.
    all.pop();
    all
}

fn holds(picture: &[String], words: &[&str]) -> bool {
    let all = picture.join("\n");
    words.iter().all(|word| all.contains(word))
}

#[test]
fn a_live_view_shows_every_figure_follows_the_terminals_size_and_ctrl_c_keeps_everything() {
    let name = "a_live_view_shows_every_figure";
    let dir = tempfile::tempdir().unwrap();
    let load = "load null --size 1G --ops randread=70,randwrite=30 --duration 60s --interval 100ms";
    let args: Vec<&str> = load.split_whitespace().collect();
    let Some(session) = Session::start(name, dir.path(), &args, 100, true) else { return };
    let figures =
        ["randread", "randwrite", "IOPS", "throughput", "p50", "p99", "errors", "CPU", "left", "%"];
    session.wait(0, |text| pictures(text).iter().any(|p| holds(p, &figures)));

    let narrow = |text: &str| {
        let found = pictures(text).into_iter().rev().find(|p| p.len() >= 4)?;
        found.iter().all(|line| line.chars().count() < 20).then_some(found)
    };
    let from = session.text().len();
    tcsetwinsize(&session.master, size(20)).unwrap();
    let text = session.wait(from, |text| narrow(text).is_some());
    let picture = narrow(&text).unwrap();
    assert!(holds(&picture, &["randread", "IOPS"]), "{picture:#?}");

    let from = session.text().len();
    tcsetwinsize(&session.master, size(160)).unwrap();
    session.wait(from, |text| pictures(text).iter().any(|p| holds(p, &figures)));

    (&File::from(session.master.try_clone().unwrap())).write_all(b"\x03").unwrap();
    let (code, text) = session.end();
    assert_eq!(code, Some(130), "{text}");
    let last = text.rsplit("\x1b[J").next().unwrap();
    for part in ["ended by interrupted", "randread", "randwrite", "CPU"] {
        assert!(last.contains(part), "{part} is not in:\n{last}");
    }
    assert!(!last.contains('█'), "something of the live view is left:\n{last}");
    assert!(!text.contains("\x1b[1;") && !text.contains("\x1b[2m"), "colours in spite of NO_COLOR");
}

#[test]
fn colours_are_for_terminals_only_and_lines_for_programs_are_never_drawn_over() {
    let name = "colours_are_for_terminals_only";
    let dir = tempfile::tempdir().unwrap();
    let load = "load x --size 1M --ops write=100 --passes 1 --compress 2x";
    let args: Vec<&str> = load.split_whitespace().collect();
    let Some(session) = Session::start(name, dir.path(), &args, 100, false) else { return };
    let (code, text) = session.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\x1b[1;33mwarning:\x1b[0m"), "{text:?}");

    let answer = fathom_in(dir.path(), &args);
    assert!(answer.err.contains("warning:") && !answer.err.contains('\x1b'), "{:?}", answer.err);
    assert!(!answer.out.contains('\x1b'), "{:?}", answer.out);

    let json: Vec<&str> =
        "load null --size 1G --duration 500ms --interval 100ms --json".split(' ').collect();
    let Some(session) = Session::start(name, dir.path(), &json, 100, true) else { return };
    let (code, text) = session.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("\x1b["), "{text:?}");
    let lines = text.lines().map(|l| l.trim_matches('\r')).filter(|l| l.starts_with('{'));
    let events: Vec<serde_json::Value> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(events.last().unwrap()["event"], "summary");
    assert!(events.iter().any(|event| event["event"] == "interval"));
}

#[test]
fn a_terminal_gets_the_programs_colours_and_no_others() {
    let name = "a_terminal_gets_the_programs_colours_and_no_others";
    let dir = tempfile::tempdir().unwrap();
    let hostile = "x\u{1b}[2J\u{1b}[32m\u{202e}";
    let size =
        ["--size", "1M", "--ops", "write=100", "--duration", "1200ms", "--interval", "100ms"];
    let load = [&["load", hostile, "other"][..], &size].concat();
    let missing = ["show", hostile];
    for (words, code, colour) in [(&load[..], 0, "\u{1b}[J"), (&missing, 5, "\u{1b}[1;31merror:")] {
        let Some(session) = Session::start(name, dir.path(), words, 100, false) else { return };
        let (ended, text) = session.end();
        assert_eq!(ended, Some(code), "{text}");
        assert!(text.contains(colour) && text.contains("x\\x1b[2J\\x1b[32m\\u{202e}"), "{text:?}");
        for order in ["\u{1b}[2J", "\u{1b}[32m", "\u{202e}"] {
            assert!(!text.contains(order), "{words:?}: {order:?} reached the terminal: {text:?}");
        }
    }
}
