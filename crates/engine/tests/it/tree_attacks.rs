//! Loads of file trees while somebody else makes, exchanges and moves names in the directory, or ends the load early.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use engine::{Context, Event};
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};
use tree::{Name, NameKind, Size};

use crate::support::skip;
use crate::tree::{load, run_with, seconds, spec};

#[test]
fn names_that_are_exchanged_lead_to_nothing_outside() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut spec =
        spec("create=5,write=40,append=10,truncate=20,read=10,randwrite=10,punch=5", 8, 1);
    (spec.levels, spec.size) = (0, Size::Fixed(4096));
    let load = load(folder.path(), spec, seconds(2));
    let precious = outside.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let mut exchanged = false;
    let (summary, ..) = run_with(&load, |event, _| {
        if !matches!(event, Event::Intervals { .. }) || exchanged {
            return;
        }
        exchanged = true;
        let at = |index| folder.path().join(Name::new(index, NameKind::File).as_str());
        let made = |index: u64| outside.path().join(index.to_string());
        fs::hard_link(&precious, made(0)).unwrap();
        symlink(&precious, made(1)).unwrap();
        assert!(Command::new("mkfifo").arg(made(2)).status().unwrap().success());
        (0..3).for_each(|index| fs::rename(made(index), at(index)).unwrap());
    });
    let summary = summary.unwrap();
    assert_eq!((exchanged, summary.ended_by.as_str()), (true, "duration"));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    let errors = &summary.operations["write"].errors;
    for kind in ["not ours", "ELOOP", "ENXIO"] {
        assert!(errors.contains_key(kind), "{kind}: {errors:?}");
    }
}

/// Names of a test that may change hands between the load's check of a name and its call that removes the name: no call of the kernel does both.
const AT_ONCE: usize = 2;

#[test]
fn names_of_somebody_else_are_neither_removed_nor_replaced() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut spec = spec("create=4,delete=4,rename=4,mkdir=1,rmdir=1", 600, 1);
    (spec.levels, spec.size) = (0, Size::Fixed(100));
    let load = load(folder.path(), spec, seconds(2));
    let precious = outside.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let at = |index, kind| folder.path().join(Name::new(index, kind).as_str());
    let inode = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.ino());
    let mut foreign = Vec::new();
    let (summary, ..) = run_with(&load, |event, _| {
        if !matches!(event, Event::Intervals { .. }) || !foreign.is_empty() {
            return;
        }
        // Next to the names of the load, instead of some, and at names that the load does not have at the moment.
        for index in 0..4 {
            let range = |first: u64| (first + index * 50)..(first + index * 50 + 50);
            let mut files = range(0).map(|index| at(index, NameKind::File));
            let mut directories = range(400).map(|index| at(index, NameKind::Directory));
            let free = files.find(|path| fs::hard_link(&precious, path).is_ok()).unwrap();
            let directory = directories.find(|path| fs::create_dir(path).is_ok()).unwrap();
            let taken = at(200 + index, NameKind::File);
            let made = outside.path().join(index.to_string());
            fs::hard_link(&precious, &made).unwrap();
            fs::rename(&made, &taken).unwrap();
            foreign.extend([free, taken, directory].map(|path| (inode(&path), path)));
        }
    });
    let summary = summary.unwrap();
    assert_eq!((foreign.len(), summary.ended_by.as_str()), (12, "duration"));
    let lost: Vec<_> = foreign
        .iter()
        .filter(|(before, path)| before.is_none() || inode(path) != *before)
        .collect();
    assert!(lost.len() <= AT_ONCE, "{lost:?}");
    assert!(fs::metadata(&precious).unwrap().nlink() >= 9 - lost.len() as u64);
    for name in ["delete", "rename", "rmdir"] {
        let errors = &summary.operations[name].errors;
        assert!(errors.contains_key("not ours"), "{name}: {errors:?}");
    }
}

#[test]
fn a_file_of_somebody_else_that_takes_a_name_of_the_tree_keeps_its_content_and_its_name() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut spec = spec(
        "create=5,write=20,append=20,truncate=20,read=10,delete=5,rename=5,hardlink=5,softlink=5",
        40,
        1,
    );
    (spec.levels, spec.size) = (0, Size::Fixed(4096));
    let load = load(folder.path(), spec, seconds(2));
    let mut foreign = Vec::new();
    let (summary, ..) = run_with(&load, |event, _| {
        if !matches!(event, Event::Intervals { .. }) || !foreign.is_empty() {
            return;
        }
        // Regular files with one name, as those of the tree are; each is held, whatever becomes of its name.
        for index in 0..20 {
            let mine = outside.path().join(index.to_string());
            fs::write(&mine, format!("payroll of November, {index}")).unwrap();
            let held = fs::File::open(&mine).unwrap();
            let taken = folder.path().join(Name::new(index, NameKind::File).as_str());
            fs::rename(&mine, &taken).unwrap();
            foreign.push((held, taken));
        }
    });
    let summary = summary.unwrap();
    assert_eq!(foreign.len(), 20);
    let mut lost = Vec::new();
    for (index, (mut held, path)) in foreign.into_iter().enumerate() {
        let (mut text, ino) = (String::new(), held.metadata().unwrap().ino());
        held.read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("payroll of November, {index}"));
        if fs::metadata(&path).map(|found| found.ino()).ok() != Some(ino) {
            lost.push(path);
        }
    }
    assert!(lost.len() <= AT_ONCE, "{lost:?}");
    let errors = ["append", "truncate", "write"].map(|name| &summary.operations[name].errors);
    assert!(errors.iter().all(|one| one.contains_key("not ours")), "{errors:?}");
}

#[test]
fn an_interrupt_while_directories_are_made_ends_the_load_before_its_first_operation() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, interrupt) = (Clock::real(), Interrupt::new());
    interrupt.request(Level::Finish);
    let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: None };
    let load = load(folder.path(), spec("create=1,delete=1", 90, 2), seconds(60));
    let summary = engine::tree::run(&load, &context, &mut |_| {}).unwrap();
    assert_eq!((summary.ended_by.as_str(), &summary.notices[..]), ("interrupted", &[][..]));
    assert!(summary.operations.values().all(|figures| figures.attempted == Some(0)), "{summary:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_moved_covered_or_exchanged_ends_the_load() {
    let test = "a_directory_that_is_moved_covered_or_exchanged";
    for attack in ["moved", "exchanged", "covered"] {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let leaf = folder.path().join("d0002/d0001");
        let mut done = false;
        let load = load(folder.path(), spec("create=5,delete=5", 90, 2), seconds(60));
        let (summary, _, message) = run_with(&load, |event, interrupt| {
            if !matches!(event, Event::Intervals { .. }) || done {
                return;
            }
            done = true;
            if attack == "covered" {
                let mut mount = Command::new("mount");
                mount.arg("--bind").arg(outside.path()).arg(&leaf);
                if !mount.output().is_ok_and(|o| o.status.success()) {
                    skip(test, "nothing can be mounted (needs root)");
                    interrupt.request(Level::Finish);
                }
                return;
            }
            fs::rename(&leaf, folder.path().join("away")).unwrap();
            if attack == "exchanged" {
                symlink(outside.path(), &leaf).unwrap();
            }
        });
        let summary = summary.unwrap();
        let _ = Command::new("umount").arg(&leaf).output();
        if summary.ended_by != "interrupted" {
            assert_eq!(summary.ended_by, "errors", "{attack}");
            assert!(
                message.contains("d0002/d0001 is not where it was made"),
                "{attack}: {message}"
            );
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{attack}");
    }
}
