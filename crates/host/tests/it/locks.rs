//! Claims of what another program holds with locks on its bytes: nothing is written under a running virtual machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use host::{ClaimError, ClaimKind, TargetPermit, claim, claim_target};

use crate::loop_device::Loop;

const DESTROY: TargetPermit = TargetPermit { destroy: true, create: false };

/// A program that holds a file or device until this is dropped.
struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A child that locks bytes as QEMU does: four of them, for reading, of the open file.
fn python3(path: &Path) -> Option<Held> {
    let script = "import fcntl, struct, sys, time\nf = open(sys.argv[1], 'r+b')\n\
        fcntl.fcntl(f, 37, struct.pack('hhqqi', fcntl.F_RDLCK, 0, 100, 4, 0))\nprint(flush=True)\ntime.sleep(600)";
    let mut child = Command::new("python3");
    let child = child.args(["-c", script]).arg(path).stdout(Stdio::piped()).spawn().ok()?;
    let mut held = Held(child);
    let out = held.0.stdout.take().unwrap();
    (BufReader::new(out).read_line(&mut String::new()).unwrap() > 0).then_some(held)
}

fn qemu_nbd(path: &Path) -> Option<Held> {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let mut child = Command::new("qemu-nbd");
    child.args(["-f", "raw", "-t", "-k"]).arg(&socket).arg(path);
    let mut held = Held(child.spawn().ok()?);
    let began = Instant::now();
    while !socket.exists() {
        assert!(held.0.try_wait().unwrap().is_none(), "qemu-nbd ended");
        assert!(began.elapsed() < Duration::from_secs(60), "qemu-nbd does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(held)
}

fn refused_while_held(test: &str, program: &str, hold: fn(&Path) -> Option<Held>) {
    let Some(disk) = Loop::new(test) else { return };
    let claims = || -> Vec<Result<(), ClaimError>> {
        let of = |path: &Path| claim_target(path, DESTROY).map(drop);
        let device = disk.device.as_path();
        vec![
            of(device),
            of(&disk.file),
            claim_target(device, TargetPermit::default()).map(drop),
            claim(device, true).map(drop),
        ]
    };
    for path in [&disk.device, &disk.file] {
        let Some(held) = hold(path) else {
            println!("SKIP {test}: {program} is not there");
            return;
        };
        let holder = format!("locked by {program} (process {})", held.0.id());
        for claimed in claims() {
            let error = claimed.unwrap_err();
            assert_eq!(error.kind(), ClaimKind::Refused, "{error}");
            assert!(error.to_string().contains(&holder), "{error}");
            assert!(error.help().contains("stop the program"), "{}", error.help());
        }
        drop(held);
        for claimed in claims() {
            claimed.unwrap();
        }
    }
}

#[test]
fn what_qemu_holds_is_refused_on_both_sides_of_a_loop_device() {
    let test = "what_qemu_holds_is_refused_on_both_sides_of_a_loop_device";
    refused_while_held(test, "qemu-nbd", qemu_nbd);
}

#[test]
fn what_is_locked_by_its_bytes_is_refused_on_both_sides_of_a_loop_device() {
    let test = "what_is_locked_by_its_bytes_is_refused_on_both_sides_of_a_loop_device";
    refused_while_held(test, "python3", python3);
}
