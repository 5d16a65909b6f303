//! Things that cannot be targets, and impossible values: a clear refusal that names the place and the remedy, and nothing is
//! written.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::loop_device::loop_device;
use crate::program::{fathom_in, skip, text};

/// Returns the content of a folder: names, and the bytes of files.
fn content(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .flatten()
        .map(|entry| {
            let file = fs::symlink_metadata(entry.path()).is_ok_and(|m| m.is_file());
            (entry.path(), file.then(|| fs::read(entry.path()).unwrap()))
        })
        .collect();
    all.sort();
    all
}

/// A folder with every odd thing in it.
fn oddities() -> (tempfile::TempDir, std::os::unix::net::UnixListener) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("small"), [7; 2048]).unwrap();
    fs::write(at("big"), vec![7; 1 << 20]).unwrap();
    fs::hard_link(at("big"), at("hard")).unwrap();
    std::os::unix::fs::symlink("big", at("link")).unwrap();
    std::os::unix::fs::symlink("two", at("one")).unwrap();
    std::os::unix::fs::symlink("one", at("two")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), fifo, mode, 0).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    (dir, socket)
}

/// Runs every line of `cases` as options of `fathom load`; each must be refused with `code` and say the words.
fn all_refused(dir: &Path, cases: &[(&str, &[&str])]) {
    let before = content(dir);
    for (line, message) in cases {
        let words = line.split_whitespace();
        let args: Vec<&str> = std::iter::once("load").chain(words).chain(["--ios", "5"]).collect();
        let answer = fathom_in(dir, &args);
        assert_eq!(answer.code, Some(2), "{line}: {}{}", answer.out, answer.err);
        for word in *message {
            assert!(answer.err.contains(word), "{line}: '{word}' is not in:\n{}", answer.err);
        }
        assert_eq!(answer.out, "", "{line}");
        assert!(content(dir) == before, "{line}: something was written");
    }
}

#[test]
fn what_is_no_target_is_refused_whether_it_is_to_be_read_or_written() {
    let (dir, _socket) = oddities();
    all_refused(
        dir.path(),
        &[
            ("folder", &["folder", "a directory", "help:"]),
            ("fifo", &["fifo", "a FIFO", "help:"]),
            ("socket", &["socket", "help:"]),
            ("/dev/full", &["/dev/full", "a character device", "help:"]),
            ("/dev/zero", &["/dev/zero", "a character device", "help:"]),
            ("folder --ops randwrite=100 --destroy-data", &["folder", "neither", "help:"]),
            ("fifo --ops randwrite=100 --destroy-data", &["fifo", "neither", "help:"]),
            ("socket --ops randwrite=100 --destroy-data", &["socket", "neither", "help:"]),
            ("/dev/full --ops randwrite=100 --destroy-data", &["/dev/full", "neither", "help:"]),
            ("/proc/meminfo", &["/proc/meminfo", "procfs", "help:"]),
            ("/sys/kernel/mm/ksm/run", &["/sys/", "help:"]),
            ("one", &["one", "links lead back", "help:"]),
            ("one --size 1M --ops randwrite=100", &["one", "links lead back", "help:"]),
            ("dangling --size 1M", &["dangling", "nowhere", "help:"]),
            ("small/x --size 1M", &["small/x", "help:"]),
            ("small", &["2 KiB", "4 KiB", "help:"]),
            ("small --ops randwrite=100 --destroy-data", &["2 KiB", "4 KiB", "help:"]),
        ],
    );
}

#[test]
fn one_target_under_two_names_is_refused() {
    let (dir, _socket) = oddities();
    all_refused(
        dir.path(),
        &[
            ("big big", &["same target", "help:"]),
            ("big ./big", &["big and ./big", "same target", "help:"]),
            ("big link", &["link", "same target"]),
            ("big=50 hard=50", &["hard", "same target"]),
            ("new ./big new --size 1M --ops randwrite=100", &["new and new", "same target"]),
            ("big hard --ops randwrite=100 --destroy-data", &["same target"]),
        ],
    );
}

#[test]
fn values_that_cannot_be_are_refused_with_the_key_and_what_can() {
    let (dir, _socket) = oddities();
    all_refused(
        dir.path(),
        &[
            ("big --size=-1", &["--size", "-1"]),
            ("new --size 99999999999999999999", &["--size"]),
            ("big --size 2M", &["size = 2 MiB", "1 MiB", "help:"]),
            ("big --offset 2M", &["offset = 2 MiB", "1 MiB", "help:"]),
            (
                "big --offset 512k --size 1M",
                &["size = 1 MiB from offset 512 KiB on", "1 MiB", "help:"],
            ),
            ("big --pattern zipf:0", &["zipf:0", "theta", "help:"]),
            ("big --pattern zipf:-1", &["--pattern", "zipf:THETA"]),
            ("big --pattern zipf:NaN", &["--pattern", "zipf:THETA"]),
            ("big --pattern zipf:1e308", &["theta", "…", "help:"]),
            ("big --rate 0", &["rate is 0", "help:"]),
            ("big --rate=-5/s", &["--rate", "5000/s"]),
            ("big --rate 1e308/s", &["--rate", "5000/s"]),
            ("big --depth 0", &["depth is 0", "help:"]),
            ("big --depth 1000000000", &["depth", "32768", "help:"]),
            ("big --depth 40000 --backend sync", &["depth", "32768", "help:"]),
            ("big --jobs 0", &["jobs is 0", "help:"]),
            ("big --jobs 1000000", &["jobs", "1024", "help:"]),
            ("big --duration 0s", &["duration is 0", "help:"]),
            ("big --block-size 0", &["block_size is 0", "help:"]),
            ("big --block-size 1", &["--block-size 1 B", "512", "help:"]),
            ("big --block-size 3", &["--block-size 3 B", "512", "help:"]),
            ("big --block-size 4097", &["--block-size 4097 bytes", "4096", "help:"]),
            ("big --block-size 1G", &["block_size", "67108864", "help:"]),
            ("big --block-size 64M", &["64 MiB", "1 MiB", "help:"]),
            ("big=0", &["share", "TARGET=SHARE"]),
            ("big=nan small=3", &["share", "TARGET=SHARE"]),
            ("null --size 0", &["size is 0", "help:"]),
            ("null --size 1", &["help:"]),
        ],
    );
}

#[test]
fn what_a_user_may_not_touch_is_named_with_the_remedy() {
    let name = "what_a_user_may_not_touch_is_named_with_the_remedy";
    if !rustix::process::geteuid().is_root() {
        return skip(name, "needs root to become somebody else");
    }
    let dir = tempfile::tempdir().unwrap();
    // The program may stand where only root may look, in root's home for one.
    let reachable = tempfile::tempdir().unwrap();
    let program = reachable.path().join("fathom");
    fs::copy(env!("CARGO_BIN_EXE_fathom"), &program).unwrap();
    let hidden = dir.path().join("hidden");
    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("file"), vec![7; 1 << 20]).unwrap();
    fs::write(dir.path().join("mine"), vec![7; 1 << 20]).unwrap();
    let mine = dir.path().join("mine");
    for (path, mode) in
        [(reachable.path(), 0o755), (dir.path(), 0o755), (&hidden, 0o700), (&mine, 0o600)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for (args, code) in [
        ("load hidden/file --ios 5", 2),
        ("load mine --ios 5", 3),
        ("load mine --ops randwrite=100 --destroy-data --ios 5", 3),
        ("load new --size 1M --ops randwrite=100 --ios 5", 3),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let mut command = Command::new(&program);
        command.args(&args).stdin(Stdio::null()).current_dir(dir.path());
        let output = command.uid(65534).gid(65534).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
        assert!(err.contains("help:") && err.contains("ermission denied"), "{args:?}: {err}");
        assert!(err.contains(args[1]), "{args:?}: {err}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    assert_eq!(fs::read(dir.path().join("mine")).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn a_run_of_somebody_who_is_not_root_is_refused_before_anything_is_made() {
    let name = "a_run_of_somebody_who_is_not_root_is_refused_before_anything_is_made";
    let Some(disk) = loop_device(512 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("fathom");
    fs::copy(env!("CARGO_BIN_EXE_fathom"), &program).unwrap();
    let plan = "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"512M\"\n\
        [[stack]]\nlayer = \"xfs\"\non = \"data\"\n[[stage]]\ndo = \"command\"\nname = \"c\"\n\
        measure = true\nargv = [\"true\"]\n";
    fs::write(dir.path().join("x.toml"), plan).unwrap();
    for path in [dir.path(), disk.path.as_ref()] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let mut command = Command::new(&program);
    command.args(["run", "x.toml", "--allow-commands", "--out", "out"]);
    command.arg("--device").arg(format!("data={}", disk.path));
    // The directory of declared programs is the tester's alone.
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let command = command.stdin(Stdio::null()).current_dir(dir.path()).uid(65534).gid(65534);
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("Only root") && err.contains("fathom lab run x.toml"), "{err}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no result is begun");
    let mut begins = vec![7; 1 << 20];
    std::io::Read::read_exact(&mut fs::File::open(&disk.path).unwrap(), &mut begins).unwrap();
    assert!(begins.iter().all(|&byte| byte == 0));
}

#[test]
fn devices_that_somebody_uses_are_refused_even_when_their_data_may_be_destroyed() {
    let name = "devices_that_somebody_uses_are_refused";
    let Some(disk) = loop_device(64 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let done = |program: &str, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
    };
    let refused = |path: &str, message: &str| {
        let args = ["load", path, "--ops", "write=100", "--passes", "1", "--destroy-data"];
        let answer = fathom_in(&std::env::temp_dir(), &args);
        assert_eq!(answer.code, Some(4), "{path}: {}", answer.err);
        assert!(answer.err.contains(message) && answer.err.contains("help:"), "{}", answer.err);
    };
    if done("mkswap", &[&disk.path]) && done("swapon", &[&disk.path]) {
        refused(&disk.path, "swap");
        assert!(done("swapoff", &[&disk.path]));
    } else {
        skip(name, "no swap can be made on a loop device");
    }
    // A disk whose partition is mounted.
    let mut table = [0u8; 512];
    table[446 + 4] = 0x83;
    table[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    table[446 + 12..446 + 16].copy_from_slice(&65_536u32.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::OpenOptions::new().write(true).open(&disk.path).unwrap().write_all(&table).unwrap();
    let partition = format!("{}p1", disk.path);
    let dir = tempfile::tempdir().unwrap();
    if done("partx", &["--update", &disk.path])
        && done("mkfs.ext4", &["-q", &partition])
        && done("mount", &[&partition, text(dir.path())])
    {
        refused(&disk.path, "p1");
        refused(&partition, "mounted");
        assert!(done("umount", &[text(dir.path())]));
    } else {
        skip(name, "no partition can be made and mounted");
    }
    let _ = Command::new("partx").args(["--delete", &disk.path]).output();
}

/// A loop device that goes with this value.
struct Detached(String);

impl Drop for Detached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).output();
    }
}

/// An experiment with two devices.
const TWO_ROLES: &str = r#"
name = "two"
about = "Two devices"
repeat = 1
[devices.one]
size = "64M"
[devices.two]
size = "64M"
[[variant]]
name = "first"
[[variant.stack]]
layer = "linear"
on = "one"
size = "4M"
[[variant]]
name = "second"
[[variant.stack]]
layer = "linear"
on = "two"
size = "4M"
[[stage]]
do = "load"
name = "write"
measure = true
ops = { write = 100 }
passes = 1
"#;

#[test]
fn a_device_and_what_it_lies_on_are_refused_as_two_targets_and_its_file_while_it_is_in_use() {
    let name = "a_device_and_what_it_lies_on_are_refused_as_two_targets";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backing");
    fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(printed)
    };
    let Some(device) = run("losetup", &["--find", "--show", text(&file)]) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let upper = run("losetup", &["--find", "--show", &device]).unwrap();
    let (device, upper) = (Detached(device), Detached(upper));
    let (device, upper) = (&device.0, &upper.0);
    let write = "--ops write=100 --passes 1 --destroy-data";
    let pairs = [(text(&file), device), (text(&file), upper), (device, upper)];
    for (one, two) in pairs {
        for line in [format!("{one} {two} {write}"), format!("{two}=50 {one}=50 --ios 5")] {
            let args: Vec<&str> = ["load"].into_iter().chain(line.split(' ')).collect();
            let answer = fathom_in(dir.path(), &args);
            assert_eq!(answer.code, Some(2), "{line}: {}", answer.err);
            assert!(answer.err.contains("share bytes") && answer.err.contains("help:"));
        }
    }
    // The same for the roles of an experiment.
    let roles = dir.path().join("two.toml");
    fs::write(&roles, TWO_ROLES).unwrap();
    for (one, two, message) in [(device, upper, "share bytes"), (device, device, "same target")] {
        let (one, two) = (format!("one={one}"), format!("two={two}"));
        let args = ["run", text(&roles), "--destroy-data", &one, "--destroy-data", &two];
        let answer = fathom_in(dir.path(), &args);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains(message), "{}", answer.err);
    }
    run("losetup", &["--detach", upper]).unwrap();
    let at = dir.path().join("at");
    fs::create_dir(&at).unwrap();
    let args: Vec<&str> = ["load", text(&file)].into_iter().chain(write.split(' ')).collect();
    if run("mkfs.ext4", &["-q", device]).is_some() && run("mount", &[device, text(&at)]).is_some() {
        let answer = fathom_in(dir.path(), &args);
        run("umount", &[text(&at)]).unwrap();
        assert_eq!(answer.code, Some(4), "{}", answer.err);
        assert!(
            answer.err.contains("mounted on") && answer.err.contains("help:"),
            "{}",
            answer.err
        );
        run("fsck.ext4", &["-fn", device]).expect("nothing was written to it");
    } else {
        skip(name, "nothing can be mounted");
    }
    let answer = fathom_in(dir.path(), &args);
    assert_eq!(answer.code, Some(0), "nobody uses the loop device: {}", answer.err);
}

/// Runs a program; tells whether it ended well.
fn done(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_file_system_that_takes_direct_io_through_the_page_cache_is_told() {
    let name = "a_file_system_that_takes_direct_io_through_the_page_cache_is_told";
    let Some(disk) = loop_device(128 << 20) else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let dir = tempfile::tempdir().unwrap();
    let at = text(dir.path());
    let load = |more: &str| {
        let words = format!("load v --size 16M --json {more}");
        let args: Vec<&str> = words.split(' ').collect();
        let answer = fathom_in(dir.path(), &args);
        let last = answer.out.lines().last().unwrap_or_default().to_owned();
        let summary: serde_json::Value = serde_json::from_str(&last).unwrap_or_default();
        (answer, summary["engine"]["direct"].clone())
    };
    if !done("mkfs.ext4", &["-q", &disk.path])
        || !done("mount", &["-o", "data=journal", &disk.path, at])
    {
        return skip(name, "no ext4 here");
    }
    let (answer, direct) = load("--ops write=100 --passes 1 --block-size 64k");
    let unmounted = done("umount", &[at]);
    assert!(unmounted && direct == false, "{}{}", answer.out, answer.err);
    assert!(answer.err.contains("through the page cache all the same"), "{}", answer.err);
    if !done("mkfs.btrfs", &["-q", "-f", &disk.path]) || !done("mount", &[&disk.path, at]) {
        return skip(name, "no btrfs here");
    }
    let whole = load("--ops write=100 --passes 1 --block-size 4k");
    let part = load("--ops randread=100 --ios 10 --block-size 512");
    assert!(done("umount", &[at]));
    assert_eq!((whole.0.code, &whole.1), (Some(0), &true.into()), "{}", whole.0.err);
    assert_eq!(part.0.code, Some(2), "{}{}", part.0.out, part.0.err);
    assert!(part.0.err.contains("4 KiB"), "{}", part.0.err);
}

#[test]
fn a_file_that_fathom_made_is_its_own_until_somebody_writes_into_it() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let load = |more: &str| {
        let words = format!("load v --size 1M --ops randwrite=100 --ios 10 {more}");
        let args: Vec<&str> = words.split_whitespace().collect();
        fathom_in(dir.path(), &args)
    };
    for _ in 0..3 {
        let answer = load("");
        assert_eq!(answer.code, Some(0), "{}", answer.err);
    }
    std::thread::sleep(std::time::Duration::from_millis(30));
    let theirs = vec![b'x'; 1 << 20];
    let file = dir.path().join("v");
    std::io::Write::write_all(&mut fs::File::options().write(true).open(&file).unwrap(), &theirs)
        .unwrap();
    let answer = load("");
    assert_eq!(answer.code, Some(4), "{}", answer.err);
    assert!(answer.err.contains("was written to since"), "{}", answer.err);
    assert_eq!(fs::read(&file).unwrap(), theirs);
    assert_eq!(load("--destroy-data").code, Some(0));
}
