//! Changes after which a target is the same one, and others.

use std::path::PathBuf;
use std::process::Command;

use super::*;

fn at(path: &Path) -> Identity {
    Identity::of(&File::open(path).unwrap()).unwrap()
}

fn made(path: &Path) -> Identity {
    let file = File::create_new(path).unwrap();
    file.set_len(1 << 20).unwrap();
    mark(&file);
    Identity::of(&file).unwrap()
}

#[test]
fn a_file_stays_itself_under_another_name_and_with_other_content() {
    let folder = tempfile::tempdir().unwrap();
    let (name, other) = (folder.path().join("a"), folder.path().join("b"));
    let before = made(&name);
    std::fs::rename(&name, &other).unwrap();
    std::fs::write(&other, "something else").unwrap();
    std::fs::hard_link(&other, &name).unwrap();
    assert_eq!([at(&other), at(&name)].map(|now| before.difference(&now)), [None, None]);
}

#[test]
fn a_copy_with_the_mark_and_a_new_file_of_the_old_name_are_others() {
    let folder = tempfile::tempdir().unwrap();
    let (name, other) = (folder.path().join("a"), folder.path().join("b"));
    let before = made(&name);
    std::fs::copy(&name, &other).unwrap();
    let copy = File::open(&other).unwrap();
    if let Some(mark) = mark_at(&name) {
        rustix::fs::fsetxattr(&copy, MARK, mark.as_bytes(), XattrFlags::empty()).unwrap();
    }
    let why = before.difference(&at(&other)).unwrap();
    let shown = |path: &Path| format!("the file {} (inode ", path.display());
    assert!(why.starts_with(&format!("it was {}", shown(&name))), "{why}");
    assert!(why.contains(&format!("and is {}", shown(&other))), "{why}");
    std::fs::remove_file(&name).unwrap();
    assert!(before.difference(&made(&name)).is_some());
}

#[test]
fn the_time_at_which_a_file_was_made_is_told_as_a_date() {
    let made = Identity::File(file(None, 1, 7, Some(1_795_701_064_659_845_186)));
    assert_eq!(made.to_string(), "the file of inode 7, made 2026-11-26 13:51:04.659 UTC");
}

/// A loop device; gone when it is dropped.
struct Loop(PathBuf);

impl Loop {
    fn on(file: &Path, offset: u64) -> Option<Self> {
        let options = ["--find", "--show", "--offset", &offset.to_string()];
        let made = Command::new("/sbin/losetup").args(options).arg(file).output();
        let made = made.ok().filter(|made| made.status.success());
        if made.is_none() {
            println!("SKIP a_loop_device_is_what_it_stands_on: losetup gives no device");
        }
        made.map(|made| Self(String::from_utf8_lossy(&made.stdout).trim().into()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("/sbin/losetup").arg("--detach").arg(&self.0).status();
    }
}

#[test]
fn a_loop_device_is_what_it_stands_on() {
    let folder = tempfile::tempdir().unwrap();
    let [name, moved, other] = ["a", "moved", "other"].map(|name| folder.path().join(name));
    made(&name);
    made(&other);
    let Some(first) = Loop::on(&name, 0) else { return };
    let before = at(&first.0);
    let after = [Loop::on(&name, 0), Loop::on(&name, 4096), Loop::on(&other, 0)];
    let [Some(again), Some(part), Some(another)] = after else { return };
    let differs = |device: &Loop| before.difference(&at(&device.0));
    assert_eq!(differs(&again), None);
    assert!(differs(&part).unwrap().contains("from byte 4096"));
    assert!(differs(&another).is_some());
    std::fs::rename(&name, &moved).unwrap();
    assert_eq!((differs(&first), differs(&again)), (None, None), "the file has another name");
    std::fs::remove_file(&moved).unwrap();
    assert!(matches!(at(&first.0), Identity::Loop { .. }), "the file has no name");
}

fn file(mark: Option<&str>, device: u64, inode: u64, made_ns: Option<u64>) -> FileIdentity {
    let mark = mark.map(str::to_owned);
    FileIdentity { path: None, mark, device, inode, subvolume: None, made_ns, on: None }
}

fn disk(wwid: &str, serial: &str, model: &str) -> Identity {
    let [wwid, serial, model] = [wwid, serial, model].map(joined_words);
    Identity::Disk(DiskIdentity { wwid, serial, model })
}

fn passing(number: &str, sequence: u64, boot: &str) -> Identity {
    let sequence = Some(sequence);
    Identity::Passing { number: number.into(), sequence, boot: boot.into() }
}

fn mapped(name: &str, uuid: &str, on: &[Identity]) -> Identity {
    Identity::Mapped { name: name.into(), uuid: joined_words(uuid), on: on.to_vec() }
}

fn part(start: u64, on: Identity) -> Identity {
    Identity::Partition { start, on: Box::new(on) }
}

#[test]
fn each_kind_is_told_by_what_outlives_a_rename_and_a_restart_of_the_machine() {
    let of = Identity::File;
    let seen = |device| FileIdentity { on: Some(Box::new(device)), ..file(None, 1, 2, Some(3)) };
    let within = |volume| FileIdentity { subvolume: Some(volume), ..file(None, 1, 2, Some(3)) };
    let [a, b] = ["S1", "S2"].map(|serial| disk("", serial, "M"));
    let cases = [
        (of(file(Some("m"), 1, 2, Some(3))), of(file(Some("m"), 9, 2, Some(3))), Likeness::Same),
        (of(file(None, 1, 2, Some(3))), of(file(Some("m"), 1, 2, Some(3))), Likeness::Same),
        (of(file(Some("m"), 1, 2, Some(3))), of(file(Some("n"), 1, 2, Some(3))), Likeness::Other),
        (of(file(Some("m"), 1, 2, Some(3))), of(file(Some("m"), 1, 2, Some(4))), Likeness::Other),
        (of(file(None, 1, 2, None)), of(file(None, 1, 2, None)), Likeness::Same),
        (of(file(None, 1, 2, None)), of(file(None, 9, 2, None)), Likeness::Other),
        (of(file(Some("m"), 1, 2, None)), of(file(Some("m"), 9, 2, None)), Likeness::Same),
        // The same file in a snapshot of its file system.
        (of(seen(a.clone())), of(seen(b.clone())), Likeness::Other),
        (of(within(5)), of(within(6)), Likeness::Other),
        (of(within(5)), of(within(5)), Likeness::Same),
        (of(seen(passing("1:0", 1, "x"))), of(seen(passing("1:0", 1, "y"))), Likeness::Same),
        (disk("w", "S1", "M"), disk("w", "", "M"), Likeness::Same),
        (disk("w", "S1", "M"), disk("v", "S1", "M"), Likeness::Other),
        (a.clone(), a.clone(), Likeness::Same),
        (a.clone(), b.clone(), Likeness::Other),
        (a.clone(), disk("", "S1", "N"), Likeness::Other),
        (disk("w", "", "M"), disk("", "S1", "M"), Likeness::Other),
        (part(8, a.clone()), part(8, a.clone()), Likeness::Same),
        (part(8, a.clone()), part(9, a.clone()), Likeness::Other),
        (part(8, a.clone()), part(8, b.clone()), Likeness::Other),
        (mapped("n", "u", &[]), mapped("other", "u", std::slice::from_ref(&a)), Likeness::Same),
        (mapped("n", "u", &[]), mapped("n", "v", &[]), Likeness::Other),
        (
            mapped("n", "", &[a.clone(), b.clone()]),
            mapped("n", "", &[a.clone(), b.clone()]),
            Likeness::Same,
        ),
        (
            mapped("n", "", std::slice::from_ref(&a)),
            mapped("n", "", std::slice::from_ref(&b)),
            Likeness::Other,
        ),
        (mapped("n", "", std::slice::from_ref(&a)), mapped("n", "", &[]), Likeness::Other),
        (passing("1:0", 1, "x"), passing("1:0", 1, "x"), Likeness::Same),
        (passing("1:0", 1, "x"), passing("1:0", 2, "x"), Likeness::Other),
        (passing("1:0", 1, "x"), passing("1:0", 1, "y"), Likeness::Untold),
        (part(8, passing("1:0", 1, "x")), part(8, passing("1:0", 1, "y")), Likeness::Untold),
        (a.clone(), part(8, a.clone()), Likeness::Other),
    ];
    for (before, now, likeness) in cases {
        assert_eq!(before.likeness(&now), likeness, "{before}; {now}");
        assert_eq!(now.likeness(&before), likeness, "{now}; {before}");
        assert_eq!(before.difference(&now).is_none(), likeness == Likeness::Same);
    }
}
