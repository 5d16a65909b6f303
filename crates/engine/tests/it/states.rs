//! States of verification: whose they are, and what they say when their targets have changed.

use std::path::{Path, PathBuf};

use engine::Load;
use engine::verify::Options;
use results::model::{LoadSummary, VerifyFigures, WrongKind};
use units::{Bytes, Seed};

use crate::support;

const MIB: u64 = 1 << 20;
const READ: &str = "ops = { read = 100 }\npasses = 1\nsize = '8M'\nverify = 'read'";
const WRITE: &str = "ops = { write = 100 }\npasses = 1\nsize = '8M'\n";

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn load(&self, path: &Path, state: Option<&str>, spec: &str) -> Load {
        let mut load = support::on(path, spec);
        load.may_create = Some(Bytes(8 * MIB));
        load.verification.state = state.map(|name| self.file(name));
        load
    }
}

fn run(load: &Load) -> LoadSummary {
    support::run(load).result.unwrap()
}

fn refused(load: &Load) -> String {
    support::run(load).result.unwrap_err().to_string()
}

#[test]
fn a_check_of_another_target_leaves_the_state_to_its_owner_and_a_load_that_writes_takes_it() {
    let place = Place::new();
    let [first, moved, copy] = ["r1", "r2", "r3"].map(|name| place.file(name));
    run(&place.load(&first, Some("state"), WRITE));
    std::fs::rename(&first, &moved).unwrap();
    std::fs::copy(&moved, &copy).unwrap();
    let right = |load: &Load| {
        let found = run(load).verify.unwrap();
        assert_eq!((found.checked, found.correct), (2048, 2048), "{:?}", found.first);
    };
    let of_another = |spec: &str| Load {
        verification: Options {
            state_of_another: true,
            state: Some(place.file("state")),
            ..Options::default()
        },
        ..place.load(&copy, None, spec)
    };
    right(&of_another(READ));
    right(&place.load(&moved, Some("state"), READ));
    let why = refused(&place.load(&copy, Some("state"), READ));
    // The message names the owner by the name that it had when it wrote.
    let name = |path: &Path| format!("the file {} (inode", path.display());
    assert!(why.contains(&format!("it was {}", name(&first))), "{why}");
    assert!(why.contains(&format!("is {}", name(&copy))) && why.contains(" UTC"), "{why}");
    run(&of_another(WRITE));
    right(&place.load(&copy, Some("state"), READ));
    assert!(refused(&place.load(&moved, Some("state"), READ)).contains("of another target"));
}

#[test]
fn a_target_that_has_grown_is_verified_where_it_was_written_and_one_that_shrank_is_refused() {
    for write in [
        WRITE.to_string(),
        "ops = { randwrite = 100 }\nios = 6000\nsize = '8M'\njobs = 2\n".to_owned(),
    ] {
        let place = Place::new();
        let path = place.file("target");
        let written = run(&place.load(&path, Some("state"), &format!("{write}verify = 'after'")));
        let written = written.verify.unwrap();
        assert!(written.checked > 1500 && written.wrong_blocks() == 0, "{:?}", written.first);
        let size = |bytes| {
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        };
        size(12 * MIB);
        let all = "ops = { read = 100 }\npasses = 1\nverify = 'read'";
        for (spec, read, noted) in [(READ, 2048, true), (all, 3072, false), (all, 3072, false)] {
            let summary = run(&place.load(&path, Some("state"), spec));
            let found = summary.verify.unwrap();
            assert_eq!(found.wrong_blocks(), 0, "{:?}", found.first);
            assert_eq!((found.read, found.checked), (read, written.checked));
            let grown = |text: &String| text.contains("of 8 MiB, which has 12 MiB now");
            assert_eq!(summary.notices.iter().any(grown), noted, "{:?}", summary.notices);
        }
        // What is added may be written, and is then known.
        let more = run(&place.load(
            &path,
            Some("state"),
            "ops = { write = 100 }\npasses = 1\n\
             offset = '8M'\nsize = '4M'",
        ));
        assert!(more.incomplete.is_empty(), "{:?}", more.incomplete);
        let found: VerifyFigures = run(&place.load(&path, Some("state"), all)).verify.unwrap();
        assert_eq!((found.checked, found.wrong_blocks()), (written.checked + 1024, 0));
        size(6 * MIB);
        let why = refused(&place.load(&path, Some("state"), all));
        assert!(why.contains("of 12 MiB, which has 6 MiB now"), "{why}");
    }
}

#[test]
fn data_of_another_load_that_nobody_wrote_here_is_foreign_and_has_no_home() {
    for write in
        [WRITE.to_owned(), "ops = { randwrite = 100 }\nios = 6000\nsize = '8M'\n".to_owned()]
    {
        let place = Place::new();
        let path = place.file("target");
        run(&place.load(&path, Some("state"), &write));
        let another = Load { seed: Seed(77), ..place.load(&path, None, WRITE) };
        run(&Load { spec: toml::from_str(&WRITE.replace("8M", "2M")).unwrap(), ..another });
        let found = run(&place.load(&path, Some("state"), READ)).verify.unwrap();
        assert!(found.wrong.len() > 400, "{}", found.wrong.len());
        for wrong in &found.wrong {
            assert_eq!((wrong.kind, wrong.home), (WrongKind::Foreign, None), "{wrong:?}");
        }
        assert_eq!(found.foreign, found.wrong_blocks(), "{:?}", found.first);
    }
}

#[test]
fn discards_of_a_new_file_prove_nothing_and_those_of_what_was_written_do() {
    let place = Place::new();
    let discard = "ops = { discard = 100 }\npasses = 1\nverify = 'after'";
    let summary = run(&place.load(&place.file("new"), None, discard));
    let found = summary.verify.unwrap();
    assert_eq!((found.checked, found.untouched), (0, 2048), "{found:?}");
    assert!(summary.incomplete[0].starts_with("Nothing was verified"), "{:?}", summary.incomplete);
    let path = place.file("written");
    run(&place.load(&path, Some("state"), WRITE));
    let found = run(&place.load(&path, Some("state"), discard)).verify.unwrap();
    assert_eq!((found.checked, found.correct), (2048, 2048), "{found:?}");
}
