//! Names of whatever bytes, and inputs that never end: every command with every path that it takes.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use crate::program::{command, text};

/// Longer than any of these calls takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the program in `dir`; one that does not end in time is killed, and fails the test.
fn ends(dir: &Path, args: &[OsString]) -> Output {
    let mut child = command(&[])
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("{args:?} did not end: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !errors.contains("panicked") && output.status.code() != Some(101),
        "{args:?}: {errors}"
    );
    output
}

/// The words of a line; `@` in them stands for `odd`.
fn words(line: &str, odd: &OsStr) -> Vec<OsString> {
    let word = |word: &str| {
        let parts: Vec<&[u8]> = word.split('@').map(str::as_bytes).collect();
        OsStr::from_bytes(&parts.join(odd.as_bytes())).to_owned()
    };
    line.split_whitespace().map(word).collect()
}

/// Each call with its exit code. What is taken as text only is refused as any other wrong word is.
const CALLS: &[(&str, i32)] = &[
    ("run vdo-vs-plain --simulate --repeat 1 --seed 1 --out @/result --json", 0),
    ("run vdo-vs-plain --simulate --repeat 1 --seed 1 --resume @/result --json", 0),
    ("run @/x.toml --simulate", 2),
    ("explain @/x.toml", 2),
    ("run vdo-vs-plain --device data=@/x", 2),
    ("show @/result", 0),
    ("show @/result --json", 0),
    ("show @/result --csv", 0),
    ("report @/result -o @/page.html", 0),
    ("trend @", 0),
    ("trend @ --json", 0),
    ("doctor @/result", 0),
    ("doctor plain --prove --simulate --repeat 1 --out @/proof --json", 0),
    ("clean @/result", 0),
    ("clean @/result --json", 0),
    (
        "load @/new --size 1M --ops write=100 --passes 1 --json --io-log @/ios --latency-log @/times",
        0,
    ),
    ("load @/new=100 --ops write=100 --passes 1 --verify-state @/state --verify both", 0),
    ("show @/ios", 0),
    ("estimate @ --json", 0),
    ("age @ --json", 0),
    ("estimate @/new -o @/estimate.html --profile @/profile", 0),
    ("load @/new --ops write=100 --passes 1 --content-profile @/profile", 0),
    ("disk bench hdd --duration 1s --trace @/trace", 0),
    ("disk replay @/trace --like ssd", 0),
    ("trace show @/trace --json", 0),
];

#[test]
fn a_path_may_have_any_bytes_wherever_one_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let odd = OsStr::from_bytes(b"a\xffb");
    fs::create_dir(dir.path().join(odd)).unwrap();
    let plain = words("run vdo-vs-plain --simulate --repeat 5 --seed 1 --out plain", odd);
    assert!(ends(dir.path(), &plain).status.success());
    for (line, code) in CALLS {
        let output = ends(dir.path(), &words(line, odd));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{line}: {errors}");
        if *code == 2 {
            assert!(errors.contains("error"), "{line}: {errors}");
        }
    }
}

/// An experiment that reads `file` as a device, and one with the profile `file`.
fn experiment(file: &str) -> [String; 2] {
    let rest = |device: &str, stages: &str| {
        format!(
            "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"1G\"\n{device}\n\
             [[stack]]\nlayer = \"linear\"\non = \"data\"\n{stages}"
        )
    };
    let load = "[[stage]]\ndo = \"load\"\nops = { write = 100 }\nios = 1\nmeasure = true\n";
    [
        rest(
            &format!("[devices.image]\nfile = \"{file}\"\n"),
            &format!("[[stage]]\ndo = \"copy\"\nfrom = \"image\"\n{load}"),
        ),
        rest("", &format!("{load}content = {{ profile = \"{file}\" }}\n")),
    ]
}

#[test]
fn what_never_ends_is_refused_wherever_a_file_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = |path: &Path| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    fifo(&at("fifo"));
    let plain =
        words("run vdo-vs-plain --simulate --repeat 1 --seed 1 --out plain", OsStr::new(""));
    assert!(ends(dir.path(), &plain).status.success());
    for odd in [at("fifo"), "/dev/zero".into(), "/dev/tty".into()] {
        for (i, whole) in experiment(text(&odd)).iter().enumerate() {
            fs::write(at(&format!("x{i}.toml")), whole).unwrap();
        }
        for line in [
            "explain @",
            "run @ --simulate",
            "explain x0.toml",
            "explain x1.toml",
            "doctor @",
            "show @",
            "report @ -o page.html",
            "clean @",
            "estimate @",
            "load @ --ios 1",
            "load null --size 1G --ios 1 --ops write=100 --content-profile @",
            "disk replay @ --like ssd",
            "trace show @",
        ] {
            let output = ends(dir.path(), &words(line, odd.as_os_str()));
            let errors = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code().unwrap();
            assert!((2..=5).contains(&code), "{line}, {}: {code} {errors}", odd.display());
            let remedy = errors.contains("help") || errors.contains("name the directory");
            assert!(errors.contains("error") && remedy, "{line}: {errors}");
        }
    }
    // Every file of a result, and the directory of a tree.
    let mut files = vec![at("plain")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let kept = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fifo(&path);
        for line in ["show plain", "report plain -o page.html", "doctor plain", "trend plain"] {
            ends(dir.path(), &words(line, OsStr::new("")));
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    }
}
