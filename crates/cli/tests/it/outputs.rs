//! Files that the program is to write: refused at every place where they would destroy something, and allowed elsewhere.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::CWD;

use crate::loop_device::loop_device;
use crate::program::{Answer, command, fathom_in, skip};

/// A command that writes a file: its words before the name of that file, and what it reads.
struct Writer {
    words: &'static [&'static str],
    input: &'static str,
    /// Tells whether the file can be a pipe or a character device.
    streams: bool,
}

const WRITERS: [Writer; 12] = [
    Writer { words: &["advise", "trace", "-o"], input: "trace", streams: true },
    Writer { words: &["trace", "show", "trace", "-o"], input: "trace", streams: true },
    Writer { words: &["estimate", "input", "--log"], input: "input", streams: true },
    Writer { words: &["estimate", "input", "-o"], input: "input", streams: true },
    Writer { words: &["estimate", "input", "--profile"], input: "input", streams: true },
    Writer { words: &["pack", "result", "-o"], input: "result/manifest.json", streams: true },
    Writer { words: &["report", "result", "-o"], input: "result/manifest.json", streams: true },
    Writer { words: &["load", "input", "--ios", "9", "--io-log"], input: "input", streams: true },
    Writer {
        words: &["load", "input", "--ios", "9", "--latency-log"],
        input: "input",
        streams: true,
    },
    Writer { words: &["load", "input", "--ios", "9", "--page"], input: "input", streams: true },
    Writer {
        words: &["load", "input", "--ios", "9", "--verify-state"],
        input: "input",
        streams: false,
    },
    Writer {
        words: &["disk", "bench", "hdd", "--depth", "4", "--duration", "1s", "--trace"],
        input: "input",
        streams: true,
    },
];

impl Writer {
    fn onto(&self, dir: &Path, place: &str) -> Answer {
        fathom_in(dir, &[self.words, &[place]].concat())
    }

    fn option(&self) -> &'static str {
        self.words[self.words.len() - 1]
    }
}

/// Tells whether a writer makes the page of a load.
fn writer_of_page(n: usize) -> bool {
    WRITERS[n].option() == "--page"
}

/// A folder with what the commands read, and what must stay as it is.
fn workplace() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("input"), vec![7; 1 << 20]).unwrap();
    fs::write(at("trace"), "0, 5, 0, 4096, 8192, 0\n").unwrap();
    let run = "run vdo-vs-plain --simulate --repeat 1 --out result";
    let answer = fathom_in(dir.path(), &run.split_whitespace().collect::<Vec<_>>());
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    fs::write(at("result/empty"), "").unwrap();
    fs::write(at("thesis"), "precious").unwrap();
    symlink("thesis", at("link-to-thesis")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink(".", at("here")).unwrap();
    dir
}

/// All that lies below `dir`: names, links and bytes.
fn everything(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut way = vec![dir.to_owned()];
    while let Some(folder) = way.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                way.push(path.clone());
            }
            let bytes = match (kind.is_file(), kind.is_symlink()) {
                (true, _) => fs::read(&path).unwrap(),
                (_, true) => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                _ => Vec::new(),
            };
            all.push((path, bytes));
        }
    }
    all.sort();
    all
}

/// Insists that `answer` is a refusal that names `option`, and that nothing changed since `before`.
fn refused(
    case: &str,
    answer: &Answer,
    (code, option): (i32, &str),
    dir: &Path,
    before: &[(PathBuf, Vec<u8>)],
) {
    assert_eq!(answer.code, Some(code), "{case}: {}{}", answer.out, answer.err);
    for word in [option, "help:"] {
        assert!(answer.err.contains(word), "{case}: '{word}' is not in:\n{}", answer.err);
    }
    assert_eq!(answer.out, "", "{case}");
    assert!(everything(dir) == before, "{case}: something was written");
}

#[test]
fn no_output_replaces_an_input_or_anything_that_fathom_did_not_make_as_that_kind() {
    let dir = workplace();
    let at = |name: &str| dir.path().join(name);
    // A file of every kind, each made where nothing was.
    for (n, writer) in WRITERS.iter().enumerate() {
        let answer = writer.onto(dir.path(), &format!("kind{n}"));
        assert_eq!(answer.code, Some(0), "{:?}: {}", writer.words, answer.err);
        let mode = fs::metadata(at(&format!("kind{n}"))).unwrap().mode() & 0o777;
        assert_eq!(mode, fs::metadata(at("thesis")).unwrap().mode() & 0o777, "{:?}", writer.words);
    }
    let disk = loop_device(1 << 20);
    if disk.is_none() {
        skip("no_output_replaces_a_block_device", "no loop device can be made (needs root)");
    }
    for (n, writer) in WRITERS.iter().enumerate() {
        for link in ["hard", "soft"] {
            let _ = fs::remove_file(at(link));
        }
        fs::hard_link(at(writer.input), at("hard")).unwrap();
        symlink(writer.input, at("soft")).unwrap();
        let before = everything(dir.path());
        let input = format!("./{}", writer.input);
        let mut places = vec![
            (4, input.as_str()),
            (4, "hard"),
            (4, "soft"),
            (4, "here/soft"),
            (4, "thesis"),
            (4, "link-to-thesis"),
            (4, "folder"),
            (2, "dangling"),
            (2, "no/such/place"),
            (2, "/dev/fathom-no-such"),
        ];
        // A page of results takes the place of another, whoever makes it.
        let is_page = |n: usize| WRITERS[n].words[0] == "report" || writer_of_page(n);
        let others: Vec<String> = (0..WRITERS.len())
            .filter(|&other| other != n && !(is_page(other) && is_page(n)))
            .map(|other| format!("kind{other}"))
            .collect();
        places.extend(others.iter().map(|other| (4, other.as_str())));
        places.extend(disk.as_ref().map(|disk| (4, disk.path.as_str())));
        if writer.words[0] == "report" {
            places.push((4, "result/empty"));
        }
        if !writer.streams {
            places.push((4, "/dev/null"));
        }
        for (code, place) in places {
            let case = format!("{:?} {place}", writer.words);
            refused(
                &case,
                &writer.onto(dir.path(), place),
                (code, writer.option()),
                dir.path(),
                &before,
            );
        }
    }
}

#[test]
fn a_file_inside_a_directory_that_is_read_is_no_place_for_an_output_even_an_empty_one() {
    let dir = workplace();
    let before = everything(dir.path());
    for (words, option) in [
        (&["estimate", "result", "-o"][..], "-o"),
        (&["estimate", "here", "--profile"], "--profile"),
        (&["report", "here/result", "-o"], "-o"),
    ] {
        for place in ["result/manifest.json", "here/result/empty"] {
            let answer = fathom_in(dir.path(), &[words, &[place]].concat());
            refused(&format!("{words:?} {place}"), &answer, (4, option), dir.path(), &before);
        }
    }
    // A page of its own kind is made again, also there.
    for _ in 0..2 {
        let answer = fathom_in(dir.path(), &["report", "result", "-o", "result/page.html"]);
        assert_eq!(answer.code, Some(0), "{}", answer.err);
    }
}

#[test]
fn a_file_of_its_own_kind_an_empty_one_and_a_stream_are_written() {
    let dir = workplace();
    let at = |name: &str| dir.path().join(name);
    symlink("again", at("link")).unwrap();
    for writer in &WRITERS {
        let written = |place: &str| {
            let answer = writer.onto(dir.path(), place);
            assert_eq!(answer.code, Some(0), "{:?} {place}: {}", writer.words, answer.err);
            answer
        };
        // An empty state file may be what a crash left of one: it is for the user to remove.
        if writer.streams {
            fs::write(at("again"), "").unwrap();
        }
        written("again");
        fs::set_permissions(at("again"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(at("again"), at("old")).unwrap();
        let old = fs::metadata(at("old")).unwrap().ino();
        written("link");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink(), "{:?}", writer.words);
        let new = fs::metadata(at("again")).unwrap();
        assert_eq!(new.mode() & 0o777, 0o640, "{:?}", writer.words);
        let writes = !["--verify-state", "--log"].contains(&writer.option());
        assert!(!writes || new.ino() != old, "{:?}: written over, not replaced", writer.words);
        fs::remove_file(at("again")).unwrap();
        fs::remove_file(at("old")).unwrap();
        if writer.streams {
            written("/dev/null");
            let piped = written("/dev/stdout").out;
            assert!(piped.len() > 100, "{:?}: {piped}", writer.words);
        }
    }
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    let hidden = |name: &std::ffi::OsString| name.to_string_lossy().starts_with('.');
    assert!(!left.iter().any(hidden), "{left:?}");
}

#[test]
fn two_outputs_are_never_one_file_and_none_is_where_standard_output_goes() {
    let dir = workplace();
    let before = everything(dir.path());
    let estimate = ["estimate", "input", "--profile", "x", "-o"];
    let load = ["load", "input", "--ios", "9", "--io-log", "x", "--latency-log"];
    let state = ["load", "input", "--ios", "9", "--io-log", "x", "--verify-state"];
    for words in [&estimate[..], &load, &state] {
        let option = words[words.len() - 1];
        for same in ["x", "./x", "folder/../x", "here/x"] {
            let answer = fathom_in(dir.path(), &[words, &[same]].concat());
            refused(&format!("{words:?} {same}"), &answer, (4, option), dir.path(), &before);
        }
    }
    // A target that is still to be made, too.
    let load =
        ["load", "new", "--size", "1M", "--ops", "write=100", "--ios", "9", "--io-log", "here/new"];
    refused("a new target", &fathom_in(dir.path(), &load), (4, "--io-log"), dir.path(), &before);
    for writer in &WRITERS {
        for place in ["out", "/dev/stdout"] {
            let out = File::create(dir.path().join("out")).unwrap();
            let answer = command(&[writer.words, &[place]].concat())
                .current_dir(dir.path())
                .stdout(Stdio::from(out))
                .output()
                .unwrap();
            let err = String::from_utf8_lossy(&answer.stderr);
            assert_eq!(answer.status.code(), Some(4), "{:?} {place}: {err}", writer.words);
            assert!(err.contains("standard output"), "{err}");
            fs::remove_file(dir.path().join("out")).unwrap();
        }
    }
}

#[test]
fn a_log_whose_reader_stalls_costs_lines_and_no_time() {
    let dir = workplace();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    // Somebody holds the pipe open, and reads nothing.
    let _reader = File::options().read(true).custom_flags(flags).open(&pipe).unwrap();
    let words =
        ["run", "vdo-vs-plain", "--simulate", "--repeat", "40", "--out", "r", "--log", "pipe"];
    let answer = fathom_in(dir.path(), &words);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let warning = answer.err.lines().find(|line| line.contains("lines of the log")).unwrap();
    assert!(warning.contains("its reader does not keep up"), "{warning}");
}

#[test]
fn a_load_that_never_begins_leaves_the_logs_of_the_last_one() {
    let dir = workplace();
    let load = |more: &[&str]| {
        let words = ["load", "input", "--ios", "9", "--io-log", "i", "--latency-log", "l"];
        fathom_in(dir.path(), &[&words[..], more].concat())
    };
    assert_eq!(load(&[]).code, Some(0));
    let before = everything(dir.path());
    // More alignment than the target has room for: known only when the target was opened.
    let answer = load(&["--offset", "4G"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(everything(dir.path()) == before);
}

#[test]
fn a_file_that_cannot_be_made_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    for option in ["--io-log", "--latency-log", "--page", "--verify-state"] {
        // Whoever may do everything has the right to write there, and still nothing can be made.
        let words = ["load", "new", "--size", "1M", "--ops", "write=100", "--ios", "9"];
        let answer = fathom_in(dir.path(), &[&words[..], &[option, "/proc/x"]].concat());
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(
            answer.err.contains(&format!("{option} /proc/x cannot be written")),
            "{}",
            answer.err
        );
        assert!(!dir.path().join("new").exists(), "{option}");
    }
}
