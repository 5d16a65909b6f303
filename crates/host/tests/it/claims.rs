//! Claims on real loop devices and files: what may be lost is never taken by mistake.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use host::{ClaimKind, Executor, RealMachine, TargetPermit, claim, claim_target};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use sys::meant::Meant;

use crate::loop_device::Loop;

impl Loop {
    fn write(&self, bytes: &[u8], at: u64) {
        OpenOptions::new().write(true).open(&self.device).unwrap().write_all_at(bytes, at).unwrap();
    }

    /// Runs a program on the device; false, and the reason on standard output, when it is not there.
    fn run(&self, test: &str, program: &str, arguments: &[&str]) -> bool {
        let done = Command::new(program).args(arguments).arg(&self.device).output();
        let ok = done.as_ref().is_ok_and(|output| output.status.success());
        if !ok {
            println!("SKIP {test}: {program}: {done:?}");
        }
        ok
    }
}

/// Returns the refusal of a device by `claim`, as (kind, message and help).
fn refusal(device: &Path, destroy: bool) -> Option<(ClaimKind, String)> {
    claim(device, destroy).err().map(|e| (e.kind(), format!("{e}; {}", e.help())))
}

#[test]
fn an_empty_device_is_claimed_with_its_whole_identity_and_by_one_only() {
    let Some(disk) = Loop::new("an_empty_device_is_claimed") else { return };
    let mine = claim(&disk.device, false).unwrap();
    assert_eq!(mine.bytes().0, 64 << 20);
    assert!(mine.identity().contains("fathom-claims-test"), "{}", mine.identity());
    assert!(mine.identity().contains("67108864 bytes"), "{}", mine.identity());
    let (kind, text) = refusal(&disk.device, true).unwrap();
    assert_eq!(kind, ClaimKind::Refused);
    assert!(text.contains("another run"), "{text}");
    drop(mine);
    assert_eq!(refusal(&disk.device, false), None);
}

#[test]
fn a_file_system_is_refused_unless_it_may_be_lost() {
    const NAME: &str = "a_file_system_is_refused_unless_it_may_be_lost";
    let Some(disk) = Loop::new(NAME) else { return };
    if !disk.run(NAME, "mkfs.ext4", &["-q"]) {
        return;
    }
    let (kind, text) = refusal(&disk.device, false).unwrap();
    assert_eq!(kind, ClaimKind::Refused);
    assert!(text.contains("ext") && text.contains("--destroy-data"), "{text}");
    assert_eq!(refusal(&disk.device, true), None);
}

#[test]
fn a_mounted_device_is_refused_even_when_its_data_may_be_lost() {
    const NAME: &str = "a_mounted_device_is_refused_even_when_its_data_may_be_lost";
    let Some(disk) = Loop::new(NAME) else { return };
    if !disk.run(NAME, "mkfs.ext4", &["-q"]) {
        return;
    }
    let at = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").arg(&disk.device).arg(at.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("SKIP {NAME}: mount is refused");
        return;
    }
    let answers = [refusal(&disk.device, false), refusal(&disk.device, true)];
    let _ = Command::new("umount").arg(at.path()).status();
    for answer in answers {
        let (kind, text) = answer.unwrap();
        assert_eq!(kind, ClaimKind::Refused);
        assert!(text.contains("mounted on"), "{text}");
    }
    assert_eq!(refusal(&disk.device, true), None);
}

#[test]
fn a_device_that_is_swap_is_refused_even_when_its_data_may_be_lost() {
    const NAME: &str = "a_device_that_is_swap_is_refused";
    let Some(disk) = Loop::new(NAME) else { return };
    if !disk.run(NAME, "mkswap", &[]) || !disk.run(NAME, "swapon", &[]) {
        return;
    }
    let answer = refusal(&disk.device, true);
    assert!(disk.run(NAME, "swapoff", &[]));
    let (kind, text) = answer.unwrap();
    assert_eq!(kind, ClaimKind::Refused);
    assert!(text.contains("swap"), "{text}");
}

#[test]
fn a_partition_table_is_refused_and_so_is_the_disk_of_a_mounted_partition() {
    const NAME: &str = "a_partition_table_is_refused";
    let Some(disk) = Loop::new(NAME) else { return };
    let mut table = [0u8; 66];
    // One Linux partition from sector 2048, 65536 sectors long.
    table[4] = 0x83;
    table[8..12].copy_from_slice(&2048u32.to_le_bytes());
    table[12..16].copy_from_slice(&65536u32.to_le_bytes());
    table[64..].copy_from_slice(&[0x55, 0xaa]);
    disk.write(&table, 446);
    let (kind, text) = refusal(&disk.device, false).unwrap();
    assert_eq!(kind, ClaimKind::Refused);
    assert!(text.contains("partition table"), "{text}");

    // partx helps a kernel that cannot read partition tables; other kernels have found the partition by themselves.
    let _ = Command::new("partx").arg("--add").arg(&disk.device).output();
    // If no udev makes the partition's node, the test makes one itself.
    let at = tempfile::tempdir().unwrap();
    let part = at.path().join("partition");
    let name = disk.device.file_name().unwrap().to_str().unwrap();
    let number = std::fs::read_to_string(format!("/sys/block/{name}/{name}p1/dev"));
    let number = number.unwrap_or_default();
    let (major, minor) = number.trim().split_once(':').unwrap_or_default();
    let node = Command::new("mknod").arg(&part).args(["b", major, minor]).status();
    if !node.is_ok_and(|status| status.success()) {
        println!("SKIP {NAME}: no partition of a loop device here");
        return;
    }
    let made = Command::new("mkfs.ext4").arg("-q").arg(&part).status();
    let mount = at.path().join("mount");
    std::fs::create_dir(&mount).unwrap();
    let mounted = Command::new("mount").arg(&part).arg(&mount).status();
    if !made.is_ok_and(|s| s.success()) || !mounted.is_ok_and(|s| s.success()) {
        println!("SKIP {NAME}: no partition of a loop device can be mounted here");
        return;
    }
    let answer = refusal(&disk.device, true);
    let _ = Command::new("umount").arg(&mount).status();
    let (kind, text) = answer.unwrap();
    assert_eq!(kind, ClaimKind::Refused);
    assert!(text.contains("partition") && text.contains("mounted on"), "{text}");
}

#[test]
fn a_loop_device_stands_in_the_way_of_its_backing_device() {
    const NAME: &str = "a_loop_device_stands_in_the_way_of_its_backing_device";
    let Some(disk) = Loop::new(NAME) else { return };
    let output =
        Command::new("losetup").args(["--find", "--show"]).arg(&disk.device).output().unwrap();
    if !output.status.success() {
        println!("SKIP {NAME}: no loop device on a loop device");
        return;
    }
    let upper = String::from_utf8(output.stdout).unwrap();
    let answer = refusal(&disk.device, true);
    let _ = Command::new("losetup").args(["--detach", upper.trim()]).status();
    let (kind, text) = answer.unwrap();
    assert_eq!(kind, ClaimKind::Refused);
    assert!(text.contains("stands on it") || text.contains("in use"), "{text}");
}

#[test]
fn what_is_no_block_device_is_a_mistake_and_no_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    File::create(&file).unwrap();
    for path in
        [file.as_path(), folder.path(), Path::new("/dev/null"), Path::new("/dev/fathom-none")]
    {
        assert_eq!(refusal(path, true).unwrap().0, ClaimKind::Usage, "{}", path.display());
    }
}

#[test]
fn a_target_is_held_from_users_of_the_whole_device_and_what_an_experiment_builds_on_is_not() {
    const NAME: &str =
        "a_target_is_held_from_users_of_the_whole_device_and_what_an_experiment_builds_on_is_not";
    let Some(disk) = Loop::new(NAME) else { return };
    let alone = || OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.device);
    // A process that another test is just starting may hold what was let go.
    let let_go = || {
        (0..200).any(|_| {
            let free = alone().is_ok();
            if !free {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            free
        })
    };
    let target = claim_target(&disk.device, DESTROY).unwrap();
    assert_eq!(alone().unwrap_err().kind(), std::io::ErrorKind::ResourceBusy);
    // The holder itself works on it.
    OpenOptions::new().write(true).open(target.way()).unwrap().write_all(b"mine").unwrap();
    drop(target);
    assert!(let_go());
    let built_on = claim(&disk.device, true).unwrap();
    assert!(let_go());
    drop(built_on);
}

const CREATE: TargetPermit = TargetPermit { destroy: false, create: true };
const DESTROY: TargetPermit = TargetPermit { destroy: true, create: false };

#[test]
fn a_file_with_data_is_refused_unless_fathom_made_it_or_it_may_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious");
    assert!(claim_target(&path, CREATE).is_ok(), "a new file");
    assert!(!path.exists(), "nothing was written to it");
    assert_eq!(claim_target(&path, TargetPermit::default()).unwrap_err().kind(), ClaimKind::Usage);
    let mut file = File::create(&path).unwrap();
    assert!(claim_target(&path, TargetPermit::default()).is_ok(), "an empty file");
    file.write_all(b"data").unwrap();
    let error = claim_target(&path, CREATE).unwrap_err();
    assert_eq!(error.kind(), ClaimKind::Refused);
    assert!(error.help().contains("--destroy-data"));
    assert!(claim_target(&path, DESTROY).is_ok());
    if sys::made::mark(&file).is_err() {
        println!("SKIP a_file_with_data_is_refused: no user attributes here");
        return;
    }
    let first = claim_target(&path, TargetPermit::default()).unwrap();
    assert_eq!(
        claim_target(&path, TargetPermit::default()).unwrap_err().kind(),
        ClaimKind::Refused
    );
    drop(first);
    assert_eq!(
        claim_target(folder.path(), TargetPermit { destroy: true, create: true })
            .unwrap_err()
            .kind(),
        ClaimKind::Usage
    );
}

#[test]
fn a_file_that_is_to_be_made_is_taken_by_the_first_claim_under_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("new"), folder.path().join("other"));
    let first = claim_target(&path, CREATE).unwrap();
    fs::hard_link(&path, &other).unwrap();
    for name in [&path, &other] {
        for permit in [CREATE, DESTROY] {
            assert_eq!(claim_target(name, permit).unwrap_err().kind(), ClaimKind::Refused);
        }
    }
    // A file that took its name in the meantime stays, and so does a file that was written to.
    fs::rename(&other, &path).unwrap();
    fs::write(&path, "data").unwrap();
    drop(first);
    assert_eq!(fs::read(&path).unwrap(), b"data");
    let dangling = folder.path().join("dangling");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).unwrap();
    assert_eq!(claim_target(&dangling, CREATE).unwrap_err().kind(), ClaimKind::Refused);
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn a_loop_device_on_a_claimed_file_is_refused_and_two_loop_devices_on_one_file_are_not() {
    const NAME: &str =
        "a_loop_device_on_a_claimed_file_is_refused_and_two_loop_devices_on_one_file_are_not";
    if !rustix::process::geteuid().is_root() {
        println!("SKIP {NAME}: needs root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let file = claim_target(&path, CREATE).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(8 << 20).unwrap();
    let upper = Upper::on(&path);
    let error = claim_target(Path::new(&upper.0), DESTROY).unwrap_err();
    assert_eq!(error.kind(), ClaimKind::Refused, "{error}");
    assert!(error.to_string().contains("the file that it stands on"), "{error}");
    drop(file);
    // A third one with the bytes of both keeps neither away, and is kept away by each.
    let half = |offset: &str| Upper::part(&path, offset);
    let halves = [half("0"), half("4194304")];
    let claims = halves.each_ref().map(|half| claim(Path::new(&half.0), true).unwrap());
    assert_eq!(claim_target(&path, DESTROY).unwrap_err().kind(), ClaimKind::Refused);
    let [first, second] = claims;
    drop(first);
    assert_eq!(refusal(Path::new(&upper.0), true).unwrap().0, ClaimKind::Refused);
    drop(second);
    assert_eq!(refusal(Path::new(&upper.0), true), None);
}

#[test]
fn two_loop_devices_on_the_same_bytes_are_claimed_by_one_and_looked_at_before_each_step() {
    const NAME: &str =
        "two_loop_devices_on_the_same_bytes_are_claimed_by_one_and_looked_at_before_each_step";
    let Some(disk) = Loop::new(NAME) else { return };
    let twin = Upper::on(&disk.file);
    let mine = claim(&disk.device, true).unwrap();
    // The other one was there before, or is made later.
    for other in [&twin, &Upper::on(&disk.file)] {
        for error in [
            claim(Path::new(&other.0), true).unwrap_err(),
            claim_target(Path::new(&other.0), DESTROY).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ClaimKind::Refused, "{error}");
            // A process that another test is just starting has the lock, too, and is the one that is found.
            let text = error.to_string();
            let why = ["claimed by another run", "in use: locked by"];
            assert!(why.iter().any(|why| text.contains(why)), "{text}");
        }
    }
    let device = mine.device().unwrap();
    device.check().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", &twin.0]).status();
    let mount = |program: &str, args: &[&str]| Command::new(program).args(args).status();
    let at = folder.path().to_str().unwrap();
    if !made.is_ok_and(|s| s.success()) || !mount("mount", &[&twin.0, at]).unwrap().success() {
        println!("SKIP {NAME}: nothing can be mounted here");
        return;
    }
    let used = device.check().unwrap_err().to_string();
    assert!(mount("umount", &[at]).unwrap().success());
    assert!(used.contains(&twin.0[5..]) && used.contains("nothing is written to it"), "{used}");
    device.check().unwrap();
}

/// A loop device on `path` that goes with this value.
struct Upper(String);

impl Upper {
    fn on(path: &Path) -> Self {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(path).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(String::from_utf8(made.stdout).unwrap().trim().to_owned())
    }
}

impl Upper {
    /// 4 MiB of the file from `offset` on.
    fn part(path: &Path, offset: &str) -> Self {
        let args = ["--find", "--show", "--sizelimit", "4194304", "--offset", offset];
        let made = Command::new("losetup").args(args).arg(path).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(String::from_utf8(made.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Upper {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_file_whose_loop_device_is_in_use_is_refused_even_when_its_data_may_be_lost() {
    const NAME: &str = "a_file_whose_loop_device_is_in_use_is_refused";
    let Some(disk) = Loop::new(NAME) else { return };
    let of = |path: &Path| claim_target(path, DESTROY).err().map(|e| (e.kind(), e.to_string()));
    let refused = |path: &Path, word: &str| {
        let (kind, text) = of(path).expect(word);
        assert_eq!(kind, ClaimKind::Refused, "{text}");
        assert!(text.contains(word), "{text}");
    };
    assert_eq!(of(&disk.file), None, "a loop device that nobody uses");
    // Neither another run, on either side.
    let claimed = claim(&disk.device, false).unwrap();
    refused(&disk.file, "another run");
    drop(claimed);
    let claimed = claim_target(&disk.file, DESTROY).unwrap();
    assert_eq!(refusal(&disk.device, true).unwrap().0, ClaimKind::Refused);
    drop(claimed);
    // A loop device on top of the loop device is in use as swap.
    let upper = Upper::on(&disk.device);
    let swap = |program: &str| {
        Command::new(program).arg(&upper.0).output().is_ok_and(|output| output.status.success())
    };
    if swap("mkswap") && swap("swapon") {
        refused(&disk.file, "swap");
        assert!(swap("swapoff"));
    }
    drop(upper);
    assert_eq!(of(&disk.file), None);
    if disk.run(NAME, "mkswap", &[]) && disk.run(NAME, "swapon", &[]) {
        refused(&disk.file, "swap");
        assert!(disk.run(NAME, "swapoff", &[]));
    }
    if !disk.run(NAME, "mkfs.ext4", &["-q"]) {
        return;
    }
    let at = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").arg(&disk.device).arg(at.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("SKIP {NAME}: mount is refused");
        return;
    }
    refused(&disk.file, "mounted on");
    // Under another name than it had when the loop device was made, and under a second one.
    let renamed = disk.file.with_file_name("renamed");
    let linked = disk.file.with_file_name("linked");
    std::fs::rename(&disk.file, &renamed).unwrap();
    std::fs::hard_link(&renamed, &linked).unwrap();
    refused(&renamed, "mounted on");
    refused(&linked, "mounted on");
    // The same bytes as a second loop device.
    let second = Upper::on(&renamed);
    let (kind, text) = refusal(Path::new(&second.0), true).unwrap();
    assert_eq!(kind, ClaimKind::Refused, "{text}");
    assert!(text.contains("mounted on"), "{text}");
    let _ = Command::new("umount").arg(at.path()).status();
    assert_eq!(of(&renamed), None);
}

#[test]
fn a_device_shares_bytes_with_its_file_and_with_what_is_built_on_it() {
    const NAME: &str = "a_device_shares_bytes_with_its_file";
    let Some(disk) = Loop::new(NAME) else { return };
    let Some(other) = Loop::new(NAME) else { return };
    let of = |path: &Path| host::BackingChain::of(path).unwrap().unwrap();
    let upper = Upper::on(&disk.device);
    let (file, device, upper) = (of(&disk.file), of(&disk.device), of(Path::new(&upper.0)));
    for (one, two) in [(&file, &device), (&file, &upper), (&device, &upper)] {
        assert!(one.shares_bytes(two) && two.shares_bytes(one) && !one.is(two));
    }
    for none in [of(&other.file), of(&other.device)] {
        assert!(!none.shares_bytes(&file) && !upper.shares_bytes(&none));
    }
    assert!(host::BackingChain::of(Path::new("/dev/null")).unwrap().is_none());
}

#[test]
fn a_device_that_was_made_anew_under_its_name_and_number_is_another_one() {
    let Some(disk) = Loop::new("a_device_that_was_made_anew") else { return };
    if !Path::new("/sys/block/loop0/diskseq").exists() {
        println!("SKIP a_device_that_was_made_anew: this kernel does not number its disks");
        return;
    }
    let node = disk.device.to_str().unwrap();
    let mut executor = Executor::new(RealMachine::new(), &Clock::real(), &Interrupt::new());
    executor.hold(&[], &[node]).unwrap();
    executor.intact("look").unwrap();
    let number = fs::metadata(node).unwrap().rdev();
    assert_eq!(executor.place(node).unwrap().meant, Some(Meant::Device(number)));
    let losetup = |args: &[&str]| {
        assert!(Command::new("losetup").args(args).status().unwrap().success(), "{args:?}");
    };
    let other = tempfile::NamedTempFile::new().unwrap();
    other.as_file().set_len(64 << 20).unwrap();
    losetup(&["--detach", node]);
    losetup(&[node, other.path().to_str().unwrap()]);
    assert_eq!(fs::metadata(node).unwrap().rdev(), number);
    let error = executor.intact("look").unwrap_err();
    let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
    assert!(text.contains("no longer the device that the stack was built with"), "{text}");
    // Its layer may make it anew.
    executor.release();
    executor.intact("look").unwrap();
    executor.hold(&[], &[node]).unwrap();
    executor.intact("look").unwrap();
}
