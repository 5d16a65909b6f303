//! Verification on real files with faults, over restarts, and what it leaves alone.

use std::path::Path;

use engine::verify::Width;
use engine::{ErrorKind, Load};
use faulty::{Fault, Faulty, On, What, When};
use results::model::{LoadSummary, VerifyFigures, WrongKind};
use units::Seed;

use crate::support::{self, skip};

const SIZE: u64 = 32 << 20;

fn mount(test: &str, size: u64) -> Option<Faulty> {
    match Faulty::mount(size as usize, Vec::new()) {
        Ok(faulty) => Some(faulty),
        Err(error) => {
            skip(test, &error.to_string());
            None
        }
    }
}

/// A load on `path` from `seed` that keeps its state at `state`.
fn load(path: &Path, state: Option<&Path>, seed: u64, spec: &str) -> Load {
    let mut load = support::on(path, spec);
    load.seed = Seed(seed);
    load.verification.state = state.map(Path::to_owned);
    load
}

fn run(load: &Load) -> LoadSummary {
    support::run(load).result.unwrap()
}

fn verified(load: &Load) -> VerifyFigures {
    run(load).verify.unwrap()
}

const FILL: &str = "ops = { randwrite = 100 }\npattern = 'permutation'\npasses = 1\njobs = 2\n";

#[test]
fn faults_under_every_backend_are_found_and_named_after_a_restart() {
    let contents = ["", "content = { dedupe = '50%', compress = '2.5x' }"];
    let faults = [
        (What::Torn(1), WrongKind::Torn),
        (What::Stale, WrongKind::Stale),
        (What::Flipped(vec![9, 600]), WrongKind::Corrupt),
    ];
    let backends = ["io_uring", "libaio", "sync"];
    for (n, backend) in backends.iter().enumerate() {
        let content = contents[n % 2];
        let Some(faulty) = mount("faults_under_every_backend", SIZE) else { return };
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let spec = format!("{FILL}backend = '{backend}'\ndepth = 8\nverify = 'after'\n{content}");
        let clean = verified(&load(faulty.path(), Some(&state), 1, &spec));
        assert_eq!((clean.checked, clean.correct), (SIZE / 4096, SIZE / 4096), "{:?}", clean.first);
        for (at, (what, kind)) in faults.iter().enumerate() {
            let before = faulty.injected().len();
            let when = When::share(0.05).at_most(100);
            faulty.arm(vec![Fault::new(On::Write, when, what.clone())]);
            let figures = verified(&load(faulty.path(), Some(&state), at as u64 + 2, &spec));
            let mut injected: Vec<_> = faulty.injected()[before..].iter().map(|i| i.at).collect();
            injected.sort_unstable();
            let mut found: Vec<_> = figures.wrong.iter().map(|wrong| wrong.offset).collect();
            found.sort_unstable();
            assert_eq!((injected.len(), &found), (100, &injected), "{backend} {what:?}");
            assert_eq!(figures.count(*kind), 100, "{backend} {what:?}: {:?}", figures.first);
            assert!(
                figures.wrong.iter().all(|wrong| wrong.expected.is_some()),
                "{:?}",
                figures.first
            );
            // What is wrong is put right again, so that the next fault stands alone.
            faulty.arm(Vec::new());
            let mended = verified(&load(faulty.path(), Some(&state), at as u64 + 10, &spec));
            assert_eq!(mended.wrong_blocks(), 0, "{:?}", mended.first);
        }
    }
}

#[test]
fn blocks_that_landed_elsewhere_are_named_with_their_home() {
    let Some(faulty) = mount("blocks_that_landed_elsewhere", SIZE) else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    for (seed, content) in [(1, ""), (3, "content = { dedupe = '50%', compress = '2.5x' }")] {
        let fill = format!("{FILL}verify = 'after'\n{content}");
        let clean = verified(&load(faulty.path(), Some(&state), seed, &fill));
        assert_eq!(clean.wrong_blocks(), 0, "{:?}", clean.first);
        let before = faulty.injected().len();
        let what = What::Misplaced(SIZE / 2);
        faulty.arm(vec![Fault::new(On::Write, When::share(0.1).at_most(100), what)]);
        let half = format!("{FILL}size = '16M'\nverify = 'off'\n{content}");
        run(&load(faulty.path(), Some(&state), seed + 1, &half));
        let homes: Vec<_> = faulty.injected()[before..].iter().map(|i| i.at).collect();
        faulty.arm(Vec::new());
        let look =
            "ops = { randread = 100 }\npattern = 'permutation'\npasses = 1\nverify = 'read'\n";
        let figures = verified(&load(faulty.path(), Some(&state), 9, look));
        assert_eq!(
            (homes.len(), figures.misplaced, figures.stale),
            (100, 100, 100),
            "{:?}",
            figures.first
        );
        for home in homes {
            let at = |offset| figures.wrong.iter().find(|w| w.offset == offset).unwrap();
            assert_eq!(at(home).kind, WrongKind::Stale);
            let misplaced = at(home + SIZE / 2);
            assert_eq!(misplaced.kind, WrongKind::Misplaced);
            assert!(misplaced.expected.is_some() && at(home).expected.is_some());
            assert!(misplaced.home == Some((0, home)) || misplaced.homes > 1, "{misplaced:?}");
            assert!(misplaced.homes == 1 || !content.is_empty(), "{misplaced:?}");
        }
    }
}

#[test]
fn a_mixed_load_with_overwrites_discards_and_zeroes_raises_no_alarm() {
    let folder = tempfile::tempdir().unwrap();
    for (n, rest) in [
        "ops = { randread = 60, randwrite = 40 }\njobs = 3\ndepth = 32",
        "ops = { randread = 50, randwrite = 30, randdiscard = 10, randwritezeroes = 10 }\njobs = 2\ndepth = 16",
        "ops = { randread = 50, randwrite = 50 }\nblock_size = '4k=50,64k=50'\ndepth = 16\ncontent = { zero = '20%', dedupe = '30%', compress = '4x' }",
        "ops = { randread = 50, randwrite = 50 }\nblock_size = 512\ndepth = 16\ndirect = false",
        "ops = { randread = 50, randwrite = 50 }\nsize = '64k'\njobs = 2\ndepth = 16\nbackend = 'sync'",
        "ops = { randread = 50, randwrite = 50 }\njobs = 2\nrate = '100000/s'\narrival = 'poisson'\ndepth = 32",
        "ops = { randread = 50, randwrite = 50 }\njobs = 3\nbackend = 'libaio'\nbatch = 8\ndepth = 32\nsync = 'fdatasync:64'",
        "ops = { randread = 50, randwrite = 50 }\npattern = 'zipf:1.1'\njobs = 3\nshare = 'shared'\ndepth = 16",
    ]
    .iter()
    .enumerate()
    {
        let path = folder.path().join(n.to_string());
        let mut load = load(&path, None, 5, &format!("{rest}\nverify = 'both'\nios = 40000\n"));
        load.may_create = Some(units::Bytes(16 << 20));
        let figures = verified(&load);
        assert_eq!(figures.wrong_blocks(), 0, "{rest}: {:?}", figures.first);
        assert!(figures.checked > 15_000, "{rest}: {figures:?}");
        // Sixteen blocks under 32 I/Os at a time often change too fast to say anything.
        let most = if rest.contains("64k'\njobs") { 7 } else { 9 };
        assert!(figures.correct * 10 > figures.checked * most, "{rest}: {figures:?}");
    }
}

#[test]
fn several_targets_are_verified_each_for_itself() {
    let Some(one) = mount("several_targets", SIZE) else { return };
    let Some(two) = mount("several_targets", SIZE) else { return };
    two.arm(vec![Fault::new(On::Write, When::share(0.1).at_most(50), What::Flipped(vec![5]))]);
    let mut load = load(one.path(), None, 5, &format!("{FILL}verify = 'after'"));
    load.targets.push(engine::Aim {
        target: engine::TargetSpec::Path(two.path().to_owned()),
        ..load.targets[0].clone()
    });
    let figures = verified(&load);
    assert_eq!(
        (figures.checked, figures.corrupt, figures.wrong_blocks()),
        (2 * SIZE / 4096, 50, 50)
    );
    assert!(figures.wrong.iter().all(|wrong| wrong.target == 1));
}

#[test]
fn verification_changes_nothing_of_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let achieved = |verify: &str| {
        let path = folder.path().join(verify);
        let content = "content = { dedupe = '40%', compress = '3x', zero = '5%' }";
        let mut load = load(&path, None, 7, &format!("{FILL}verify = '{verify}'\n{content}"));
        load.may_create = Some(units::Bytes(16 << 20));
        let summary = run(&load);
        (summary.achieved.unwrap(), std::fs::read(&path).unwrap())
    };
    let (off, bytes) = achieved("off");
    for verify in ["read", "both"] {
        let (on, same) = achieved(verify);
        assert!(on == off && bytes == same, "{verify}: {on:?} {off:?}");
    }
}

#[test]
fn a_state_needs_nothing_for_each_block_of_passes_and_four_bytes_of_random_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = 64 << 20;
    for (width, each) in [(Width::Four, 4), (Width::One, 1)] {
        let (path, state) = (folder.path().join("target"), folder.path().join("state"));
        let run = |seed, spec: &str| {
            let mut load = load(&path, Some(&state), seed, spec);
            load.may_create = Some(units::Bytes(bytes));
            load.verification.width = width;
            let summary = run(&load);
            (summary.verify, std::fs::metadata(&state).unwrap().len())
        };
        // Each job has separate blocks: otherwise the speed of the jobs would decide who wrote a block last.
        let passes =
            "pattern = 'permutation'\nops = { randwrite = 100 }\njobs = 3\nshare = 'parts'\n";
        let look = "ops = { randread = 100 }\nios = 10000\njobs = 2\nverify = 'read'";
        let all_right = |seed| {
            let (figures, length) = run(seed, look);
            let figures = figures.unwrap();
            assert_eq!((figures.checked, figures.correct), (10_000, 10_000), "{:?}", figures.first);
            length
        };
        for (seed, end) in [(1, "passes = 2"), (2, "ios = 9999"), (3, "bytes = '8M'")] {
            let (_, length) = run(seed, &format!("{passes}{end}"));
            assert!(length < 16_384, "{length} bytes after {end}");
            assert!(all_right(seed + 10) < 16_384);
        }
        let (_, length) = run(4, "ops = { randwrite = 100 }\njobs = 2\nios = 100000");
        let blocks = bytes / 4096;
        assert!(length > blocks * each && length < blocks * each + 32_768, "{length} bytes");
        all_right(20);
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&state).unwrap();
    }
}

#[test]
fn a_state_that_is_damaged_or_of_something_else_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, state) = (folder.path().join("target"), folder.path().join("state"));
    let spec = format!("{FILL}verify = 'read'");
    let load = |spec: &str| {
        let mut load = load(&path, Some(&state), 7, spec);
        load.may_create = Some(units::Bytes(8 << 20));
        load
    };
    run(&load(&spec));
    let good = std::fs::read(&state).unwrap();
    let refused = |bytes: &[u8], spec: &str, word: &str| {
        std::fs::write(&state, bytes).unwrap();
        let error = support::run(&load(spec)).result.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Usage && error.to_string().contains(word),
            "{error}: {word}"
        );
        assert!(!error.help().is_empty());
        assert_eq!(std::fs::read(&state).unwrap(), bytes);
    };
    for at in (12..good.len()).step_by(good.len() / 50) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        refused(&bytes, &spec, "state");
    }
    for length in [9, 40, good.len() / 2, good.len() - 1] {
        refused(&good[..length], &spec, if length < 12 { "not a state file" } else { "damaged" });
    }
    refused(b"anything else", &spec, "not a state file");
    let mut newer = good.clone();
    newer[8] = 9;
    refused(&newer, &spec, "version 9");
    refused(
        &good,
        "ops = { randread = 100 }\nblock_size = 512\nios = 10\nverify = 'read'\ndirect = false",
        "another block",
    );
    std::fs::write(&state, &good).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(4 << 20).unwrap();
    refused(&good, "ops = { randread = 100 }\nios = 10\nverify = 'read'", "has 4 MiB now");
}

#[test]
fn misaligned_duplicates_are_verified_in_whole_blocks_whatever_else_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0u8; 4 << 20]).unwrap();
    let content = "content = { dedupe = '50%', misaligned = 512, compress = '2x' }";
    let spec = format!("{FILL}verify = 'after'\n{content}");
    let state = folder.path().join("state");
    let figures = verified(&load(&path, Some(&state), 1, &spec));
    assert_eq!((figures.checked, figures.correct), (1024, 1024), "{:?}", figures.first);

    let mut bytes = std::fs::read(&path).unwrap();
    bytes.chunks_mut(4096).for_each(|block| block[700] ^= 1);
    std::fs::write(&path, bytes).unwrap();
    let spec = format!("ops = {{ read = 100 }}\npasses = 1\nverify = 'read'\n{content}");
    let figures = verified(&load(&path, Some(&state), 1, &spec));
    assert_eq!(figures.count(WrongKind::Corrupt), 1024, "{:?}", figures.first);

    // Reads of half a block verify nothing; after writes of whole blocks the blocks are known.
    let spec = "ops = { randread = 50, randwrite = 50 }\nverify = 'both'\nios = 4000\n";
    let parts = "each = { randread = { block_size = '2k' } }\ndirect = false\ndepth = 8\n";
    let figures = verified(&load(&path, None, 2, &format!("{spec}{parts}{content}")));
    assert_eq!(figures.wrong_blocks(), 0, "{:?}", figures.first);
    assert_eq!(figures.partial_bytes, 2000 * 2048);
    assert!(figures.correct > 500, "{figures:?}");
}

#[test]
fn writes_of_a_pass_that_failed_are_not_called_wrong() {
    let Some(faulty) = mount("writes_of_a_pass_that_failed", SIZE) else { return };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let blocks = SIZE / 4096;
    for backend in ["io_uring", "sync"] {
        let spec = format!("{FILL}backend = '{backend}'\ndepth = 8\nverify = 'after'");
        let clean = verified(&load(faulty.path(), Some(&state), 1, &spec));
        assert_eq!((clean.correct, clean.table_bytes), (blocks, 0), "{:?}", clean.first);
        let when = When::share(0.05).at_most(100);
        faulty.arm(vec![Fault::new(On::Write, when, What::Errno(libc::EIO))]);
        let figures = verified(&load(faulty.path(), Some(&state), 2, &spec));
        faulty.arm(Vec::new());
        assert_eq!((figures.correct, figures.unwritten), (blocks - 100, 100), "{figures:?}");
        // A later run knows the same, and that what stands there now is known again once it is written.
        let look = "ops = { read = 100 }\npasses = 1\nverify = 'read'";
        let later = verified(&load(faulty.path(), Some(&state), 3, look));
        assert_eq!((later.correct, later.unwritten, later.table_bytes), (blocks - 100, 100, 0));
    }
}

#[test]
fn what_could_not_be_read_was_not_verified_and_a_pass_that_was_stopped_is_not_whole() {
    let name = "what_could_not_be_read_was_not_verified_and_a_pass_that_was_stopped_is_not_whole";
    for (verify, fill) in [("after", true), ("both", true), ("read", false)] {
        let Some(faulty) = mount(name, SIZE) else { return };
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        if !fill {
            run(&load(faulty.path(), Some(&state), 1, FILL));
        }
        faulty.arm(vec![Fault::new(
            On::Read,
            When::share(1.0).at_most(10),
            What::Errno(libc::EIO),
        )]);
        let ops = if fill { FILL } else { "ops = { read = 100 }\npasses = 1\nbackend = 'sync'\n" };
        let summary =
            run(&load(faulty.path(), Some(&state), 2, &format!("{ops}verify = '{verify}'")));
        let found = summary.verify.unwrap();
        assert!(found.checked > 0 && found.wrong_blocks() == 0, "{verify}: {:?}", found.first);
        let lacks = &summary.incomplete;
        let is_failed = |text: &String| text.contains("10 reads failed (EIO 10 times)");
        assert!(lacks.iter().any(is_failed), "{verify}: {lacks:?}");
    }
    let Some(faulty) = mount(name, SIZE) else { return };
    let spec = format!("{FILL}verify = 'after'");
    let stopped = support::run_with(
        &load(faulty.path(), None, 3, &spec),
        &sys::clock::Clock::real(),
        |event, interrupt| {
            if matches!(event, engine::Event::ReadingBack(_)) {
                interrupt.request(sys::interrupt::Level::Finish);
            }
        },
    );
    let summary = stopped.result.unwrap();
    assert!(summary.incomplete.iter().any(|text| text.contains("interrupted")), "{summary:?}");
}
