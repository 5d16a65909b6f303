//! Odd input: counted, said, or refused; never wrong in silence.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use estimate::Error;
use sys::interrupt::{Interrupt, Level};

use super::{block, estimate, of, request};

#[test]
fn a_sparse_file_of_a_petabyte_takes_no_longer_than_its_data() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    let file = File::create(&path).unwrap();
    // As large as this file system lets it be.
    let size = (12..=50).rev().map(|bits| 1u64 << bits).find(|&size| file.set_len(size).is_ok());
    let size = size.unwrap();
    file.write_all_at(&block(1, 4096), size / 2).unwrap();
    file.write_all_at(&block(1, 4096), size - 4096).unwrap();
    if file.metadata().unwrap().blocks() > 4096 {
        return println!("SKIP a_sparse_file_of_a_petabyte: this file system makes no holes");
    }
    let started = Instant::now();
    let got = of(&path);
    assert!(got.blocks.total <= 64, "{:?}", got.blocks);
    assert_eq!((got.blocks.unique, got.blocks.duplicate), (1, 1));
    assert_eq!(got.sources.hole_bytes, size - got.blocks.total * 4096);
    // Reading it would take hours; a busy machine gets its time.
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn links_make_neither_loops_nor_copies() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("sub/data"), block(1, 4096)).unwrap();
    symlink("..", dir.path().join("sub/up")).unwrap();
    symlink("loop", dir.path().join("loop")).unwrap();
    symlink("nowhere", dir.path().join("dangling")).unwrap();
    fs::hard_link(dir.path().join("sub/data"), dir.path().join("again")).unwrap();
    let got = estimate(&request(&[dir.path(), &dir.path().join("sub")])).unwrap();
    assert_eq!((got.blocks.total, got.sources.files), (1, 1));
    assert_eq!((got.sources.symbolic_links, got.sources.hard_links), (3, 1));
    assert_eq!(got.sources.directories, 2, "one that is named again counts once");
}

#[test]
fn directories_that_are_not_held_open_any_more_are_read_like_the_others() {
    let dir = tempfile::tempdir().unwrap();
    // Deeper, and more of them waiting at a time, than are held open.
    let mut deep = dir.path().to_owned();
    for level in 0..300u64 {
        deep.push("d");
        fs::create_dir(&deep).unwrap();
        fs::write(deep.join("z"), block(level, 4096)).unwrap();
        let wide = dir.path().join(format!("w{level}"));
        fs::create_dir(&wide).unwrap();
        fs::write(wide.join("data"), block(1000 + level, 4096)).unwrap();
    }
    let got = of(dir.path());
    assert_eq!((got.sources.files, got.sources.directories, got.sources.unreadable), (600, 601, 0));
    assert_eq!((got.blocks.unique, got.sources.changed), (600, 0));
}

#[test]
fn what_cannot_be_read_is_counted_and_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("open"), block(1, 4096)).unwrap();
    let shut = dir.path().join("shut");
    fs::write(&shut, block(2, 4096)).unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let look = || {
        if rustix::process::geteuid().is_root() {
            // Root may read everything: this thread, and what it starts, goes on as a user who may not.
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).unwrap();
        }
        let got = of(dir.path());
        assert_eq!((got.blocks.total, got.sources.unreadable), (1, 1));
        assert!(got.sources.troubles[0].path.ends_with("shut"));
        let refused = estimate(&request(&[&shut])).unwrap_err();
        assert!(matches!(refused, Error::Unreadable { .. }) && refused.help().contains("may read"));
    };
    std::thread::scope(|scope| scope.spawn(look).join().unwrap());
}

#[test]
fn a_file_that_shrank_after_it_was_found_is_said_to_have_changed() {
    // It is changed between being found and being read: what comes before it takes its time.
    let dir = tempfile::tempdir().unwrap();
    for i in 0..3000 {
        fs::write(dir.path().join(format!("{i:05}")), block(i, 4096)).unwrap();
    }
    let last = dir.path().join("99999");
    fs::write(&last, vec![7; 1 << 20]).unwrap();
    let mut changed = 0;
    for round in 0..20 {
        let path = last.clone();
        let change = std::thread::spawn(move || {
            for length in (0..2000u64).cycle().take(40_000) {
                let file = File::options().write(true).open(&path).unwrap();
                file.set_len((1 << 20) | (length + round)).unwrap();
            }
        });
        let got = of(dir.path());
        changed += got.sources.changed;
        change.join().unwrap();
        if changed > 0 {
            assert!(got.sources.troubles[0].what.contains("while it was read"));
            return;
        }
    }
    panic!("a file that changed all the time was never noticed");
}

#[test]
fn what_is_neither_file_nor_device_is_refused_with_a_way_out() {
    let refused = estimate(&request(&[Path::new("/dev/null")])).unwrap_err();
    assert!(matches!(refused, Error::Kind { .. }) && refused.is_usage());
    let refused = estimate(&request(&[Path::new("/nowhere/at/all")])).unwrap_err();
    assert!(refused.is_usage() && refused.to_string().contains("/nowhere/at/all"));
}

#[test]
fn an_interrupt_gives_what_was_seen_and_says_that_it_is_not_all() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("data"), block(1, 4096)).unwrap();
    let interrupt = Interrupt::new();
    interrupt.request(Level::Finish);
    let found = estimate::estimate(&request(&[dir.path()]), &interrupt, None).unwrap();
    assert!(!found.answer.complete && found.answer.blocks.total <= 1);
    assert_eq!(found.answer.vdo.saving_percent.is_some(), found.answer.blocks.total > 0);
}

#[test]
fn nothing_gives_no_percentages() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("empty"), b"").unwrap();
    let got = of(dir.path());
    assert_eq!((got.sources.files, got.blocks.total), (1, 0));
    assert_eq!((got.vdo.saving_percent, got.lz4_saving_percent), (None, None));
    assert_eq!((got.comparison.lz4.saving_percent, got.sizing), (None, None));
}

/// A file of 512 pages, none of them in the page cache, opened without reading ahead. `None` where the file system keeps its pages.
fn cold(path: &Path) -> Option<File> {
    let bytes: Vec<u8> = (0..512).flat_map(|id| block(id, 4096)).collect();
    fs::write(path, &bytes).unwrap();
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    // A page that the kernel just holds for another reason stays once.
    (0..50).find_map(|_| {
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        (cached(&file, 0..512) == 0).then(|| file.try_clone().unwrap())
    })
}

fn cached(file: &File, pages: Range<u64>) -> u64 {
    sys::cached::pages(file, pages.start * 4096, (pages.end - pages.start) * 4096).unwrap()
}

#[test]
fn the_page_cache_is_left_as_it_was() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("data");
    // Whole parts of the file that are there stay, and some pages here and there; and where nothing was nothing is left, be
    // it looked at by its name, which is asked whether it is an image, or met in a tree.
    for (given, there) in [
        (file.as_path(), vec![0..64, 101..102, 110..112, 200..512]),
        (file.as_path(), Vec::new()),
        (dir.path(), Vec::new()),
    ] {
        let expected: u64 = there.iter().map(|pages| pages.end - pages.start).sum();
        let mut seen = Vec::new();
        // The kernel may take a page back, or hold one, at any moment: in one of ten rounds it does neither.
        while seen.last() != Some(&(expected, expected)) {
            assert!(seen.len() < 10, "pages of {there:?} and of all that are cached: {seen:?}");
            let Some(open) = cold(&file) else {
                return println!(
                    "SKIP the_page_cache_is_left_as_it_was: this file system keeps its pages"
                );
            };
            for pages in &there {
                let mut bytes = vec![0; (pages.end - pages.start) as usize * 4096];
                open.read_exact_at(&mut bytes, pages.start * 4096).unwrap();
            }
            assert_eq!(of(given).blocks.total, 512);
            let kept = there.iter().map(|pages| cached(&open, pages.clone())).sum();
            seen.push((kept, cached(&open, 0..512)));
        }
    }
}

#[test]
fn what_begins_with_frames_that_are_skipped_is_packed_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("packed");
    let frame = |kind: u8, length: usize| -> Vec<u8> {
        let magic = [0x50 + kind, 0x2a, 0x4d, 0x18];
        [&magic[..], &(length as u32).to_le_bytes(), &vec![7; length]].concat()
    };
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x24, 9, 9, 9, 9];
    let lz4 = [0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 9, 9];
    let package = [&b"\x50\x2a\x4d\x18\x0e\0\0\0fathom result\n"[..], &zstd].concat();
    for (bytes, name, way) in [
        ([&frame(0, 4)[..], &zstd].concat(), "zstd file", "zstd -dc"),
        ([&frame(15, 1 << 20)[..], &zstd].concat(), "zstd file", "zstd -dc"),
        ([&frame(3, 5000)[..], &frame(1, 0), &lz4].concat(), "lz4 file", "lz4 -dc"),
        (package, "result that Fathom packed", "fathom unpack"),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = estimate(&request(&[&path])).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.help().contains(way), "{}", error.help());
    }
    // Data that begins so by chance is data.
    for bytes in [frame(0, 4096), [&frame(0, 4)[..], &[1; 5000]].concat(), frame(2, 9)[..12].into()]
    {
        fs::write(&path, bytes).unwrap();
        assert!(of(&path).blocks.total > 0);
    }
}

#[test]
fn what_another_program_holds_is_read_and_said_to_be_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    fs::write(&path, vec![1; 2 << 20]).unwrap();
    let script = "import fcntl, struct, sys\nf = open(sys.argv[1], 'r+b')\n\
        fcntl.fcntl(f, 37, struct.pack('hhqqi', fcntl.F_RDLCK, 0, 100, 4, 0))\nprint(flush=True)\nsys.stdin.read()";
    let mut child = Command::new("python3");
    let child = child.args(["-c", script]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = child.spawn() else {
        return println!("SKIP what_another_program_holds_is_read: python3 is not there");
    };
    let out = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut String::new()).unwrap();
    // By its name, and in a tree.
    let found = [path.as_path(), dir.path()].map(|path| of(path).sources);
    drop(child.stdin.take());
    child.wait().unwrap();
    for sources in found {
        let held: Vec<_> = sources.in_use_named.iter().map(|held| held.what.clone()).collect();
        assert_eq!(held, [format!("locked by python3 (process {})", child.id())]);
    }
    assert_eq!(of(&path).sources.in_use, 0);
}
