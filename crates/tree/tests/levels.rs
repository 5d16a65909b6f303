//! Levels that loads come to, against those that were predicted, and the memory that it takes to know.
#![allow(clippy::unwrap_used)]

use tree::{
    Distribution, Equilibrium, Never, Pick, RestWatch, Size, StepOutcome, Stream, TreeSpec,
};
use units::Seed;

/// The table that fs-drift has built in.
const BUILT_IN: &str = "read=2,randread=1,create=4,write=2,randwrite=1,append=4,softlink=0.05,hardlink=0.05,delete=0.1,rename=1,\
     truncate=0.2,readdir=0.1";

fn spec(ops: &str, files: u64, workers: u32) -> TreeSpec {
    TreeSpec {
        ops: ops.parse().unwrap(),
        files,
        levels: 2,
        dirs: 10,
        size: Size::Fixed(4096),
        record: Size::Fixed(4096),
        pick: Pick::Any,
        distribution: Distribution::Uniform,
        workers,
        fsync_percent: 0.0,
        fdatasync_percent: 0.0,
    }
}

/// Runs a worker without doing anything; `watch` sees the books after each operation.
fn run(spec: &TreeSpec, operations: u64, mut watch: impl FnMut(&Stream)) -> Stream {
    let mut stream = Stream::new(spec, Seed(1), 0).unwrap();
    for _ in 0..operations {
        let step = stream.next_step();
        stream.record(&step, StepOutcome::expected(&step));
        watch(&stream);
    }
    stream
}

#[test]
fn population_and_bytes_come_to_what_was_predicted() {
    for ops in ["create=40,randread=40,delete=20", BUILT_IN, "create=2,reflink=3,delete=3"] {
        let spec = spec(ops, 2_000, 1);
        let predicted = Equilibrium::predict(&spec);
        let (population, bytes) = (predicted.population.unwrap(), predicted.bytes.unwrap());
        let stream = run(&spec, bytes.operations(), |_| {});
        let books = stream.books();
        let share = f64::from(books.files()) / 2_000.0;
        assert!((share - population.level).abs() < 0.035, "{ops}: {share} and {population:?}");
        let ratio = books.bytes() as f64 / bytes.level;
        assert!((0.9..1.1).contains(&ratio), "{ops}: {ratio}");
    }
}

#[test]
fn rest_is_seen_when_it_is_there_and_each_by_its_own_window() {
    let spec = spec("create=20,append=30,read=40,delete=10", 2_000, 1);
    let predicted = Equilibrium::predict(&spec);
    let (population, bytes) = (predicted.population.unwrap(), predicted.bytes.unwrap());
    let mut watches = [population, bytes].map(|one| RestWatch::new(one.time_constant as u64));
    let mut at_rest = [0.0; 2];
    run(&spec, 6 * bytes.time_constant as u64, |stream| {
        let books = stream.books();
        let levels = [f64::from(books.files()) / 2_000.0, books.bytes() as f64];
        for ((watch, level), at_rest) in watches.iter_mut().zip(levels).zip(&mut at_rest) {
            let before = watch.settled();
            watch.note(level);
            if before != watch.settled() {
                *at_rest = level;
            }
        }
    });
    let [of_files, of_bytes] = watches.map(|watch| watch.settled().unwrap());
    assert!(of_files < of_bytes, "population settles first: {of_files} and {of_bytes}");
    assert!((at_rest[0] / population.level - 1.0).abs() < 0.05, "{at_rest:?}");
    assert!((at_rest[1] / bytes.level - 1.0).abs() < 0.08, "{at_rest:?} and {bytes:?}");
}

#[test]
fn a_table_without_deletes_and_renames_never_rests() {
    let spec = spec("create=4,append=4,read=2", 1000, 1);
    assert_eq!(Equilibrium::predict(&spec).bytes, Err(Never::NoDelete));
    let half = run(&spec, 50_000, |_| {}).books().bytes();
    assert!(run(&spec, 100_000, |_| {}).books().bytes() > half * 19 / 10);
}

#[test]
fn a_file_takes_at_most_20_bytes() {
    for ops in [BUILT_IN, "create=4,hardlink=4,rename=1,delete=2,softlink=4,mkdir=1", "create=1"] {
        let stream = run(&spec(ops, 1 << 20, 8), 2_000_000, |_| {});
        let books = stream.books();
        // Names, and files that have only a hard link left.
        let files = u64::from(books.names()) + u64::from(books.hard_links());
        let each = books.memory() as f64 / files as f64;
        assert!(each <= 20.0, "{ops}: {each}");
    }
}
