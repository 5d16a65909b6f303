use super::*;

#[test]
fn a_result_directory_must_not_exist_and_nothing_leaves_it() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(DirSink::create(dir.path()), Err(SinkError::Exists(_))));
    let mut sink = DirSink::create(&dir.path().join("a/b")).unwrap();
    for path in ["../x", "/x", "", "a/../../x"] {
        assert!(matches!(sink.put(path, b""), Err(SinkError::Outside(_))), "{path}");
    }
}

#[test]
fn a_result_is_opened_again_only_when_its_run_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("r");
    let mut run = DirSink::create(&root).unwrap();
    run.append("transcript.jsonl", b"a").unwrap();
    assert!(matches!(DirSink::reopen(&root), Err(SinkError::Live(_))));
    drop(run);
    DirSink::reopen(&root).unwrap().append("transcript.jsonl", b"b").unwrap();
    assert_eq!(fs::read(root.join("transcript.jsonl")).unwrap(), b"ab");
}

#[test]
fn what_is_removed_is_gone_and_can_come_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
    sink.append("cells/0/rows.log", b"a").unwrap();
    for _ in 0..2 {
        sink.remove("cells/0").unwrap();
        sink.remove("SHA256SUMS").unwrap();
    }
    assert!(!sink.name().join("cells/0").exists());
    sink.append("cells/0/rows.log", b"b").unwrap();
    assert_eq!(fs::read(sink.name().join("cells/0/rows.log")).unwrap(), b"b");
    assert!(matches!(sink.remove("../r"), Err(SinkError::Outside(_))));
}

#[test]
fn links_in_a_result_are_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = dir.path().join("foreign");
    fs::write(&foreign, "theirs").unwrap();
    let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
    for name in ["m.json.new", "m.json", "rows.log"] {
        std::os::unix::fs::symlink(&foreign, sink.name().join(name)).unwrap();
    }
    sink.put("m.json", b"one").unwrap();
    assert!(sink.append("rows.log", b"a").is_err());
    assert_eq!(fs::read(sink.name().join("m.json")).unwrap(), b"one");
    assert_eq!(fs::read(&foreign).unwrap(), b"theirs");
}

#[test]
fn a_folder_that_is_a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = dir.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("theirs"), "theirs").unwrap();
    let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
    std::os::unix::fs::symlink(&foreign, sink.name().join("cells")).unwrap();
    assert!(sink.put("cells/a", b"x").is_err() && sink.append("cells/a", b"x").is_err());
    assert!(sink.remove("cells/theirs").is_err());
    sink.remove("cells").unwrap();
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
}

type Swap = fn(&Path, &Path);
type Write = fn(&mut DirSink) -> Result<(), SinkError>;

/// Everything that others do to the name of a result's directory; the second path is a directory of theirs.
const SWAPS: [(&str, Swap); 5] = [
    ("exchanged", |r, theirs| {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, r, CWD, theirs, RenameFlags::EXCHANGE).unwrap();
    }),
    ("moved", |r, _| fs::rename(r, r.with_extension("moved")).unwrap()),
    ("replaced by theirs", |r, theirs| {
        fs::rename(r, r.with_extension("moved")).unwrap();
        fs::rename(theirs, r).unwrap();
    }),
    ("replaced by a link", |r, theirs| {
        fs::rename(r, r.with_extension("moved")).unwrap();
        std::os::unix::fs::symlink(theirs, r).unwrap();
    }),
    ("removed", |r, _| fs::remove_dir_all(r).unwrap()),
];

/// Everything that a run does to a member of its result.
const WRITES: [(&str, Write); 6] = [
    ("put", |sink| sink.put("manifest.json", b"ours")),
    ("put in a folder", |sink| sink.put("cells/0/cell.json", b"ours")),
    ("append to the open file", |sink| sink.append("transcript.jsonl", b"ours")),
    ("append", |sink| sink.append("cells/0/rows.log", b"ours")),
    ("remove", |sink| sink.remove("cells/0")),
    ("seal", |sink| crate::checksums::write(sink.way())),
];

#[test]
fn whatever_becomes_of_the_name_all_goes_to_the_directory_that_was_opened() {
    for (swapped, swap) in SWAPS {
        for (written, write) in WRITES {
            let dir = tempfile::tempdir().unwrap();
            let (root, theirs) = (dir.path().join("r"), dir.path().join("theirs"));
            let files = ["manifest.json", "transcript.jsonl", "SHA256SUMS", "cells/0/cell.json"];
            for file in files {
                fs::create_dir_all(theirs.join("cells/0")).unwrap();
                fs::write(theirs.join(file), "theirs").unwrap();
            }
            let foreign = fs::metadata(&theirs).unwrap().ino();
            let mut sink = DirSink::create(&root).unwrap();
            sink.put("manifest.json", b"first").unwrap();
            sink.put("cells/0/cell.json", b"first").unwrap();
            sink.append("transcript.jsonl", b"first").unwrap();
            assert!(sink.check_name().is_ok());
            swap(&root, &theirs);
            let case = format!("{swapped}, {written}");
            let done = write(&mut sink);
            assert_eq!(done.is_err(), swapped == "removed", "{case}: {done:?}");
            let named = sink.check_name().unwrap_err();
            if swapped == "removed" {
                assert!(matches!(named, SinkError::Removed(_)), "{case}: {named}");
                assert!(!root.exists(), "{case}: nothing is made anew");
            } else {
                let SinkError::Moved { now, .. } = &named else { panic!("{case}: {named}") };
                assert_ne!(fs::read(now.join("manifest.json")).unwrap(), b"theirs", "{case}");
                assert!(named.to_string().contains(&now.display().to_string()), "{named}");
            }
            let all = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
            let is_theirs = |path: &PathBuf| fs::metadata(path).unwrap().ino() == foreign;
            let theirs = all.into_iter().find(is_theirs).unwrap();
            for file in files {
                assert_eq!(fs::read(theirs.join(file)).unwrap(), b"theirs", "{case}: {file}");
            }
        }
    }
}

/// Everything that others do to a file of a result.
type Ruin = fn(&Path);

#[test]
fn a_file_that_others_remove_cut_or_replace_is_named_and_not_added_to() {
    let ruin: [(&str, Ruin); 5] = [
        ("moved to a folder elsewhere that a link leads to", |file| {
            let (folder, elsewhere) = (file.parent().unwrap(), file.ancestors().nth(4).unwrap());
            fs::rename(folder, elsewhere.join("0")).unwrap();
            std::os::unix::fs::symlink(elsewhere.join("0"), folder).unwrap();
        }),
        ("removed", |file| fs::remove_file(file).unwrap()),
        ("removed with its folder", |file| fs::remove_dir_all(file.parent().unwrap()).unwrap()),
        ("cut", |file| File::options().write(true).open(file).unwrap().set_len(1).unwrap()),
        ("replaced by a link", |file| {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink("/dev/null", file).unwrap();
        }),
    ];
    let path = "cells/0/rows.log";
    for (case, ruin) in ruin {
        for is_open in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
            sink.append(path, b"rows").unwrap();
            sink.append(path, b"rows").unwrap();
            if !is_open {
                sink.append("transcript.jsonl", b"a").unwrap();
            }
            assert!(sink.changed().is_empty(), "{case}");
            ruin(&sink.name().join(path));
            assert_eq!(sink.changed(), [path], "{case}");
            // A file of its own that is open stays its own, wherever it is now.
            let is_own = is_open && case.starts_with("moved");
            let refused = sink.append(path, b"rows").is_err();
            assert_eq!(refused, !is_own, "{case}, open: {is_open}");
            assert_eq!(sink.changed(), [path], "{case}");
            sink.remove("cells/0").unwrap();
            assert!(sink.changed().is_empty(), "what the run removes itself is not missed");
        }
    }
}

#[test]
fn a_file_that_others_write_over_at_the_same_length_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
    sink.put("manifest.json", b"ours").unwrap();
    sink.append("cells/0/rows.log", b"ours").unwrap();
    sink.append("cells/0/rows.log", b"ours").unwrap();
    assert!(sink.changed().is_empty());
    for (file, theirs) in [("manifest.json", "THEY"), ("cells/0/rows.log", "oursOURS")] {
        fs::write(sink.name().join(file), theirs).unwrap();
        assert_eq!(sink.changed(), [file]);
        sink.remove(file).unwrap();
    }
}

#[test]
fn a_folder_that_is_exchanged_for_a_link_again_and_again_leads_nothing_astray() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
    sink.put("cells/0/cell.json", b"ours").unwrap();
    let (folder, link) = (sink.name().join("cells/0"), dir.path().join("link"));
    std::os::unix::fs::symlink(&theirs, &link).unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let refused = (0..2_000).filter(|_| sink.put("cells/0/cell.json", b"ours").is_err());
        let refused = refused.count();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!((1..2_000).contains(&refused), "{refused} of 2,000 while the link stood there");
    });
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}

#[test]
fn put_replaces_and_append_adds() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = DirSink::create(&dir.path().join("r")).unwrap();
    sink.put("m.json", b"one").unwrap();
    sink.put("m.json", b"two").unwrap();
    sink.append("cells/0/rows.log", b"a").unwrap();
    sink.append("other", b"x").unwrap();
    sink.append("cells/0/rows.log", b"b").unwrap();
    assert_eq!(fs::read(sink.name().join("m.json")).unwrap(), b"two");
    assert_eq!(fs::read(sink.name().join("cells/0/rows.log")).unwrap(), b"ab");
    assert_eq!(fs::read_dir(sink.name()).unwrap().count(), 3);
}
