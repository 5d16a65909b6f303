//! Known contents of targets go from load to load, each target for itself.

use std::path::{Path, PathBuf};

use engine::verify::Carried;
use engine::{Aim, Load, TargetSpec};
use results::model::{VerifyFigures, WrongKind};
use units::{Bytes, Percent, Seed};

use crate::support;

const SIZE: u64 = 4 << 20;
const BLOCK: usize = 4096;
const BLOCKS: u64 = SIZE / BLOCK as u64;
const FILL: &str = "ops = { randwrite = 100 }\npattern = 'permutation'\npasses = 1\njobs = 2\n";
const MIXED: &str =
    "ops = { randwrite = 60, randread = 30, randdiscard = 10 }\nios = 4000\ndepth = 16\n";
const LOOK: &str = "ops = { read = 100 }\npasses = 1\nverify = 'read'\n";

/// Files, and what is known of them.
struct Cell {
    folder: tempfile::TempDir,
    carried: Carried,
    loads: u64,
}

impl Cell {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, carried: Carried::default(), loads: 0 }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Runs a load on files, which are there or made.
    fn load(&mut self, files: &[&str], spec: &str) -> Option<VerifyFigures> {
        let aim = |file: &&str| {
            let path = self.path(file);
            if !path.exists() {
                std::fs::write(&path, vec![7; SIZE as usize]).unwrap();
            }
            Aim { target: TargetSpec::Path(path), share: Percent(100.0) }
        };
        let targets: Vec<_> = files.iter().map(aim).collect();
        let mut load = Load { targets, ..support::on(Path::new("x"), spec) };
        self.loads += 1;
        load.seed = Seed(self.loads);
        let names = files.iter().map(|file| format!("{{{file}}}")).collect();
        load.verification.carried = Some(self.carried.targets(names));
        support::run(&load).result.unwrap().verify
    }

    /// Reads these files and counts what was found: blocks checked and right.
    fn look(&mut self, files: &[&str]) -> (u64, u64) {
        let found = self.load(files, LOOK).unwrap();
        assert_eq!(found.wrong_blocks(), 0, "{files:?}: {:?}", found.first);
        (found.checked, found.correct)
    }
}

#[test]
fn each_target_is_known_for_itself_whatever_it_shared_a_load_with() {
    let mut cell = Cell::new();
    assert_eq!(cell.look(&["a", "b"]), (0, 0), "nothing was written");
    cell.load(&["a", "b"], FILL);
    assert_eq!(cell.look(&["b", "a"]), (2 * BLOCKS, 2 * BLOCKS), "in another order");
    for spec in [MIXED, FILL, MIXED, "ops = { write = 100 }\nsize = '1M'\npasses = 1\n"] {
        cell.load(&["b"], spec);
        cell.load(&["a"], spec);
        cell.load(&["c", "a"], spec);
        for files in [&["a"][..], &["b"], &["b", "a", "c"]] {
            let (checked, correct) = cell.look(files);
            // Discarded blocks of files are zeros.
            let least = BLOCKS * files.iter().filter(|file| **file != "c").count() as u64;
            assert!(checked >= least && checked == correct, "{spec} {files:?}: {checked}");
        }
    }
}

#[test]
fn a_target_that_has_grown_is_known_as_far_as_it_was_and_one_that_was_made_again_is_not() {
    for spec in [FILL.to_owned(), format!("{FILL}content = {{ dedupe = 40 }}"), MIXED.to_owned()] {
        let mut cell = Cell::new();
        cell.load(&["a"], &spec);
        let (known, _) = cell.look(&["a"]);
        assert!(known > BLOCKS / 2, "{spec}");
        let file = std::fs::File::options().write(true).open(cell.path("a")).unwrap();
        file.set_len(2 * SIZE).unwrap();
        assert_eq!(cell.look(&["a"]), (known, known), "{spec}");
        cell.load(&["a"], "ops = { write = 100 }\noffset = '4M'\npasses = 1\n");
        assert_eq!(cell.look(&["a"]), (known + BLOCKS, known + BLOCKS), "{spec}");
        cell.carried.forget(|name| name == "{a}");
        assert_eq!(cell.look(&["a"]), (0, 0));
        cell.load(&["a"], &spec);
        std::fs::remove_file(cell.path("a")).unwrap();
        let names = vec!["{a}".to_owned()];
        let mut again = support::on(&cell.path("a"), LOOK);
        again.may_create = Some(Bytes(SIZE));
        again.verification.carried = Some(cell.carried.targets(names));
        let found = support::run(&again).result.unwrap().verify.unwrap();
        assert_eq!((found.untouched, found.wrong_blocks()), (BLOCKS, 0), "all of it is zeros");
    }
}

#[test]
fn a_lost_write_of_an_earlier_load_is_named_and_so_is_where_a_moved_block_belongs() {
    for between in ["", MIXED] {
        let mut cell = Cell::new();
        cell.load(&["a", "b"], FILL);
        let old = std::fs::read(cell.path("a")).unwrap();
        if !between.is_empty() {
            cell.load(&["a"], between);
        }
        cell.load(&["a"], FILL);
        let mut now = std::fs::read(cell.path("a")).unwrap();
        let at = |block: usize| block * BLOCK..(block + 1) * BLOCK;
        if between.is_empty() {
            now[at(5)].copy_from_slice(&old[at(5)]);
        }
        let moved = now[at(9)].to_vec();
        now[at(100)].copy_from_slice(&moved);
        std::fs::write(cell.path("a"), now).unwrap();
        let found = cell.load(&["b", "a"], LOOK).unwrap();
        let stale = u64::from(between.is_empty());
        let counts = [WrongKind::Stale, WrongKind::Misplaced].map(|kind| found.count(kind));
        assert_eq!(counts, [stale, 1], "{between}: {:?}", found.first);
        let misplaced = found.wrong.iter().find(|w| w.kind == WrongKind::Misplaced).unwrap();
        assert_eq!((misplaced.target, misplaced.offset), (1, 100 * BLOCK as u64));
        assert_eq!(misplaced.home, Some((1, 9 * BLOCK as u64)), "{misplaced:?}");
    }
}
