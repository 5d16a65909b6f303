//! `fathom doctor` of stacks that stand: this machine's, and those of sosreports.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::loop_device::loop_device;
use crate::program::{expect, fathom_in, json, skip, text};

/// A report in which a pool of VDO is full; `at` is the directory that it is unpacked to.
fn report(at: &Path) {
    let files = [
        ("hostname", "store1\n"),
        ("proc/cpuinfo", "processor : 0\nprocessor : 1\n"),
        ("proc/meminfo", "MemTotal: 8388608 kB\n"),
        (
            "sos_commands/block/lsblk",
            "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsdb 8:16 0 500G 0 disk\n└─vg-vpool 253:0 0 1T 0 lvm\n",
        ),
        (
            "sos_commands/devicemapper/dmsetup_info_-c",
            "Name Maj Min Stat Open Targ Event UUID\nvg-vpool 253 0 L--w 1 1 0 LVM-x-vpool\n",
        ),
        (
            "sos_commands/devicemapper/dmsetup_table",
            "vg-vpool: 0 419430400 vdo V4 8:16 26214400 4096 32768 16380 deduplication on compression on maxDiscard 1 ack 1 bio 4 bioRotationInterval 64 cpu 2 hash 1 logical 1 physical 1\n",
        ),
        (
            "sos_commands/devicemapper/dmsetup_status",
            "vg-vpool: 0 419430400 vdo /dev/sdb normal - online online 25690112 26214400\n",
        ),
    ];
    for (path, text) in files {
        let path = at.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_report_is_drawn_its_findings_told_and_a_block_printed_to_paste() {
    let dir = tempfile::tempdir().unwrap();
    report(dir.path());
    let out = expect(0, &["doctor", text(dir.path())]).out;
    for words in [
        "machine store1",
        "vg-vpool (vdo",
        "(vdo_space_low)",
        "98 %",
        "Not read: ",
        "dmsetup table:",
        "used_blocks=25690112",
    ] {
        assert!(out.contains(words), "{words}\n{out}");
    }
    let found = json(&["doctor", text(dir.path()), "--json"]);
    let ids: Vec<_> =
        found.as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert_eq!(ids[0], "vdo_space_low");
    assert!(ids.contains(&"looked_at") && ids.contains(&"not_read"), "{ids:?}");
}

#[test]
fn what_is_no_stack_is_refused_with_a_reason_and_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("cut.tar.xz"), b"\xfd7zXZ\0\0").unwrap();
    fs::write(path("other.tar"), vec![0; 10240]).unwrap();
    report(&path("report"));
    for (code, args, message) in [
        (2, &["doctor", "/dev/fathom-no-such-device"][..], "Nothing is at"),
        (2, &["doctor", "/proc"], "stands on no block device"),
        (5, &["doctor", text(&path("cut.tar.xz"))], "not a complete archive"),
        (2, &["doctor", text(&path("other.tar"))], "not a sosreport"),
        (2, &["doctor", text(&path("none.tar.gz"))], "Cannot read"),
        (2, &["doctor", text(&path("report")), "--all"], "for results and experiments"),
    ] {
        let err = expect(code, args).err;
        assert!(err.contains(message) && err.contains("help"), "{args:?}\n{err}");
    }
    // A path on a file system has a stack, or its file system stands on no device; in a chroot nobody tells.
    let answer = fathom_in(dir.path(), &["doctor", "/"]);
    let refused = ["stands on no block device", "as in a chroot"];
    let is_handled =
        answer.out.contains("looked_at") || refused.iter().any(|why| answer.err.contains(why));
    assert!(is_handled, "{}\n{}", answer.out, answer.err);
}

#[test]
fn a_device_that_was_asked_about_is_never_opened() {
    const NAME: &str = "a_device_that_was_asked_about_is_never_opened";
    if Command::new("strace").arg("-V").output().is_err() {
        return skip(NAME, "strace is not installed");
    }
    let Some(device) = loop_device(64 << 20) else {
        return skip(NAME, "no loop device can be made here");
    };
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("calls");
    let calls =
        "trace=open,openat,openat2,creat,mount,unlink,unlinkat,rename,renameat2,pwrite64,write";
    let run = Command::new("strace")
        .args(["-f", "-y", "-e", calls, "-o", text(&log), crate::PROGRAM, "doctor", &device.path])
        .args(["--watch", "2s"])
        .output()
        .unwrap();
    let log = fs::read_to_string(log).unwrap();
    if !log.contains("openat(") {
        return skip(NAME, "strace may not trace here");
    }
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let opens = log.lines().filter(|line| line.contains("open") && line.contains("/dev/"));
    for line in opens {
        let control = line.contains("\"/dev/mapper/control\"");
        let ours = line.contains("O_WRONLY") || line.contains("O_RDWR") || line.contains("O_CREAT");
        assert!(control || !ours || line.contains("/dev/null"), "{line}");
        assert!(!line.contains(&format!("\"{}\"", device.path)), "the device was opened: {line}");
    }
    let wrote = log.lines().filter(|line| line.contains("write(") && line.contains("/dev/"));
    let to_devices: Vec<&str> = wrote.filter(|line| line.contains(&device.path)).take(1).collect();
    let of_output = |line: &&str| line.contains("write(1<") || line.contains("write(2<");
    assert!(to_devices.iter().all(of_output), "{to_devices:?}");
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(out.contains("(loop") && out.contains("looked_at"), "{out}");
}
