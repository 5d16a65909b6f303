use std::os::unix::fs::symlink;

use super::*;

/// Files in the directory `own/files`.
fn begun<'a>(folder: &Path, interrupt: &'a Interrupt) -> Result<OwnFiles<'a>, EngineError> {
    let ground = AgeingGround::make((folder, folder), None, "own")?;
    let bounds = AgeingBounds { interrupt, until: None };
    OwnFiles::begin((&ground, "files"), (&ContentSpec::default(), Seed(7)), bounds)
}

fn sizes(folder: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let one = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())
    };
    let mut sizes: Vec<_> = entries.map(one).collect();
    sizes.sort();
    sizes
}

#[test]
fn files_grow_in_turn_and_every_second_goes_and_nothing_is_left_of_the_fresh_ones() {
    let folder = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    let mut ageing = begun(folder.path(), &interrupt).unwrap();
    let fresh = ageing.fresh(2, 3 << 20).unwrap().unwrap();
    let files = folder.path().join("own/files");
    assert_eq!((fresh.bytes, sizes(&files)), (6 << 20, vec![]));
    for _ in 0..3 {
        assert_eq!(ageing.round(4, 5000).unwrap(), None);
    }
    ageing.thin_out().unwrap();
    let there = [("old000000".to_owned(), 15000), ("old000002".to_owned(), 15000)];
    assert_eq!(sizes(&files), there);
    assert_eq!(ageing.written(), (6 << 20) + 4 * 15000);
    let read = ageing.read(u64::MAX).unwrap().unwrap();
    assert_eq!(read.bytes, 30000);
    assert_eq!(ageing.read(1).unwrap().unwrap().bytes, 15000, "the last one");
    assert!(begun(folder.path(), &interrupt).is_err(), "it is there already");
}

#[test]
fn a_file_that_was_exchanged_is_neither_written_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = tempfile::NamedTempFile::new().unwrap();
    let interrupt = Interrupt::new();
    let mut ageing = begun(folder.path(), &interrupt).unwrap();
    ageing.round(2, 4096).unwrap();
    let files = folder.path().join("own/files");
    let file = files.join("old000001");
    std::fs::remove_file(&file).unwrap();
    symlink(foreign.path(), &file).unwrap();
    assert!(ageing.round(2, 4096).is_err() && ageing.thin_out().is_err());
    assert_eq!(foreign.as_file().metadata().unwrap().len(), 0);
    assert!(file.is_symlink());
    let folder = tempfile::tempdir().unwrap();
    let mut ageing = begun(folder.path(), &interrupt).unwrap();
    ageing.round(1, 4096).unwrap();
    let files = folder.path().join("own/files");
    std::fs::hard_link(files.join("old000000"), files.join("second")).unwrap();
    assert!(ageing.round(1, 4096).is_err(), "it has another name");
}

#[test]
fn a_directory_that_was_moved_ends_it_and_what_took_its_name_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    let ground = AgeingGround::make((folder.path(), folder.path()), None, "own").unwrap();
    let bounds = AgeingBounds { interrupt: &interrupt, until: None };
    let content = ContentSpec::default();
    let begin = |part| OwnFiles::begin((&ground, part), (&content, Seed(7)), bounds);
    let mut ageing = begin("files").unwrap();
    ageing.round(2, 4096).unwrap();
    let directory = folder.path().join("own");
    std::fs::rename(&directory, folder.path().join("moved")).unwrap();
    std::fs::create_dir_all(directory.join("files")).unwrap();
    for error in [ageing.round(2, 4096).unwrap_err(), ageing.fill(100.0, 1 << 20).unwrap_err()] {
        assert!(error.to_string().contains("is not where it was made"), "{error}");
    }
    let mut more = begin("more").unwrap();
    assert!(more.fresh(1, 4096).is_err());
    assert_eq!((sizes(&directory.join("files")), directory.join("more").exists()), (vec![], false));
    let elsewhere = Some(Meant::FileOn(u64::MAX));
    let around = (folder.path(), folder.path());
    assert!(AgeingGround::make(around, elsewhere.as_ref(), "other").is_err());
    assert!(!folder.path().join("other").exists());
}

#[test]
fn a_wish_to_stop_ends_a_round() {
    let folder = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    let mut ageing = begun(folder.path(), &interrupt).unwrap();
    interrupt.request(Level::Finish);
    assert_eq!(ageing.round(2, 4096).unwrap(), Some(AgeingEnd::Interrupted));
    let folder = tempfile::tempdir().unwrap();
    let ground = AgeingGround::make((folder.path(), folder.path()), None, "own").unwrap();
    let interrupt = Interrupt::new();
    let bounds = AgeingBounds { interrupt: &interrupt, until: Some(Instant::now()) };
    let late = OwnFiles::begin((&ground, "files"), (&ContentSpec::default(), Seed(7)), bounds);
    assert_eq!(late.unwrap().fill(99.0, 1 << 20).unwrap(), Some(AgeingEnd::Late));
}
