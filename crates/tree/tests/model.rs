//! The stream against a map of names that is replayed in memory.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use tree::{
    Distribution, Expectation, Pick, Size, Skip, Step, StepOutcome, Stream, TreeOp, TreeSpec,
    Verdict, errno,
};
use units::Seed;

fn spec(ops: &str) -> TreeSpec {
    TreeSpec {
        ops: ops.parse().unwrap(),
        files: 300,
        levels: 1,
        dirs: 3,
        size: "1-9000".parse().unwrap(),
        record: Size::Fixed(4096),
        pick: Pick::Any,
        distribution: Distribution::Uniform,
        workers: 2,
        fsync_percent: 0.0,
        fdatasync_percent: 0.0,
    }
}

const ALL: &str = "create=9,read=2,randread=2,write=2,randwrite=2,append=3,truncate=2,delete=3,rename=3,softlink=2,hardlink=3,mkdir=2,\
     rmdir=1,readdir=1,stat=1,fsync=1,fdatasync=1,fallocate=1,punch=1,reflink=2,copy_file_range=2";

/// A tree of names as the kernel would keep it: names stand for files by number.
#[derive(Debug, Default, PartialEq)]
struct Model {
    files: Vec<u64>,
    names: BTreeMap<u64, usize>,
    hard: BTreeMap<u64, usize>,
    soft: BTreeMap<u64, u64>,
    directories: BTreeMap<u64, ()>,
}

impl Model {
    fn links(&self, file: usize) -> u32 {
        self.names.values().chain(self.hard.values()).filter(|&&linked| linked == file).count()
            as u32
    }

    fn add(&mut self, name: u64, size: u64) -> i32 {
        if self.names.contains_key(&name) {
            return errno::EXISTS;
        }
        self.files.push(size);
        self.names.insert(name, self.files.len() - 1);
        0
    }

    /// Does a step as the kernel would.
    fn call(&mut self, step: &Step) -> StepOutcome {
        let ok = |bytes| StepOutcome { bytes, errno: 0, made: true };
        let failed = |errno| StepOutcome { errno, ..StepOutcome::default() };
        let (name, second) = (step.index, step.second.unwrap_or(step.index));
        match step.op {
            TreeOp::Create => match self.add(name, step.amount) {
                0 => return ok(step.requests().map(|request| request.bytes).sum()),
                errno => return failed(errno),
            },
            TreeOp::Mkdir if self.directories.insert(name, ()).is_some() => {
                return failed(errno::EXISTS);
            }
            TreeOp::Rmdir if self.directories.remove(&name).is_none() => {
                return failed(errno::NO_ENTRY);
            }
            TreeOp::Mkdir | TreeOp::Rmdir | TreeOp::Readdir => return ok(0),
            _ => {}
        }
        let Some(&file) = self.names.get(&name) else { return failed(errno::NO_ENTRY) };
        let size = self.files[file];
        assert_eq!((step.size, step.links), (size, self.links(file)), "{step:?}");
        match step.op {
            TreeOp::Write | TreeOp::Append => {
                let end = step.requests().map(|request| request.offset + request.bytes).max();
                self.files[file] = size.max(end.unwrap());
                assert!(step.op == TreeOp::Write || step.offset == size);
            }
            TreeOp::Read | TreeOp::Randread | TreeOp::Randwrite => {
                assert!(step.requests().all(|request| request.offset + request.bytes <= size));
            }
            TreeOp::Punch if size == 0 => return failed(errno::INVALID),
            TreeOp::Punch => assert!(step.offset + step.amount <= size),
            TreeOp::Truncate => self.files[file] = step.amount,
            TreeOp::Fallocate => self.files[file] = step.offset + step.amount,
            TreeOp::Delete => {
                self.names.remove(&name);
                assert_eq!(step.soft, self.soft.remove(&name).is_some());
                assert_eq!(step.other_links > 0, self.hard.remove(&name).is_some());
            }
            TreeOp::Rename if name != second => {
                self.names.remove(&name);
                self.names.insert(second, file);
            }
            TreeOp::Softlink if self.soft.contains_key(&second) => return failed(errno::EXISTS),
            TreeOp::Softlink => drop(self.soft.insert(second, name)),
            TreeOp::Hardlink if self.hard.contains_key(&second) => return failed(errno::EXISTS),
            TreeOp::Hardlink => drop(self.hard.insert(second, file)),
            TreeOp::Reflink | TreeOp::CopyFileRange => match self.add(second, size) {
                0 => return ok(size),
                errno => return failed(errno),
            },
            _ => {}
        }
        ok(step.requests().map(|request| request.bytes).sum())
    }

    fn agrees(&self, stream: &Stream) {
        let books = stream.books();
        for name in 0..books.names() {
            let index = stream.index(name);
            let size =
                |names: &BTreeMap<u64, usize>| names.get(&index).map(|&file| self.files[file]);
            assert_eq!(books.size(name), size(&self.names), "name {index}");
            assert_eq!(books.hard_link(name), size(&self.hard), "hard link {index}");
            assert_eq!(books.has_soft_link(name), self.soft.contains_key(&index));
            assert_eq!(books.has_directory(name), self.directories.contains_key(&index));
        }
        let held: std::collections::BTreeSet<_> =
            self.names.values().chain(self.hard.values()).collect();
        assert_eq!(books.bytes(), held.into_iter().map(|&file| self.files[file]).sum::<u64>());
        let counts = [books.files(), books.hard_links(), books.soft_links(), books.directories()];
        let there = [self.names.len(), self.hard.len(), self.soft.len(), self.directories.len()];
        assert_eq!(counts.map(|count| count as usize), there);
    }
}

fn run(spec: &TreeSpec, seed: u64, worker: u32, operations: u64) -> (Stream, Model) {
    let mut stream = Stream::new(spec, Seed(seed), worker).unwrap();
    let mut model = Model::default();
    for _ in 0..operations {
        let step = stream.next_step();
        assert_eq!(step.index % u64::from(spec.workers), u64::from(worker));
        let wanted = match step.expected {
            Expectation::Skip(_) => {
                assert_eq!(stream.record(&step, StepOutcome::default()), Verdict::Skipped);
                continue;
            }
            Expectation::Done => Verdict::Done,
            Expectation::Errno(_) => Verdict::Expected,
        };
        let answer = model.call(&step);
        assert_eq!(answer, StepOutcome::expected(&step), "{step:?}");
        assert_eq!(stream.record(&step, answer), wanted, "{step:?}");
    }
    (stream, model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn books_and_expectations_are_those_of_names_replayed_in_memory(
        seed in any::<u64>(),
        live in any::<bool>(),
        distribution in 0..3,
        kinds in proptest::collection::vec(0..4u32, 21),
    ) {
        let mut spec = spec(ALL);
        let kinds = TreeOp::ALL.into_iter().zip(kinds);
        let weights = kinds.map(|(op, weight)| (op, f64::from(weight)));
        let some = [(TreeOp::Create, 2.0), (TreeOp::Mkdir, 0.5)];
        let chosen: BTreeMap<_, _> = weights.chain(some).collect();
        spec.ops = tree::Mix::new(chosen);
        spec.pick = if live { Pick::Live } else { Pick::Any };
        spec.distribution = ["uniform", "zipf:1.2", "gaussian:20:0.1:3"][distribution as usize].parse().unwrap();
        for worker in 0..2 {
            let (stream, model) = run(&spec, seed, worker, 3000);
            model.agrees(&stream);
            let again = Stream::replay(&spec, Seed(seed), worker, 3000, stream.log()).unwrap();
            prop_assert_eq!(again.books(), stream.books());
            prop_assert!(stream.log().is_empty());
        }
    }
}

#[test]
fn every_operation_comes_as_often_as_its_weight_and_does_something() {
    let spec = spec(ALL);
    let mut stream = Stream::new(&spec, Seed(5), 0).unwrap();
    let mut tried: BTreeMap<TreeOp, [u32; 2]> = BTreeMap::new();
    for _ in 0..60_000 {
        let step = stream.next_step();
        let verdict = stream.record(&step, StepOutcome::expected(&step));
        tried.entry(step.op).or_default()[usize::from(verdict == Verdict::Done)] += 1;
    }
    for (op, weight) in spec.ops.weights() {
        let [missed, done] = tried[&op];
        let share = f64::from(missed + done) / 60_000.0;
        assert!((share / spec.ops.share(op) - 1.0).abs() < 0.15, "{op} {weight}: {share}");
        assert!(done > 100, "{op}: {done}");
    }
}

#[test]
fn two_runs_of_a_seed_are_alike_and_another_seed_is_not() {
    let spec = spec(ALL);
    let end = |seed| run(&spec, seed, 1, 20_000).0.books().clone();
    assert_eq!(end(1), end(1));
    assert_ne!(end(1), end(2));
}

#[test]
fn what_ran_out_of_space_or_came_short_is_booked_by_its_bytes_and_replayed() {
    let spec = spec("create=4,append=4,delete=2,reflink=1,rename=1,hardlink=1");
    let mut stream = Stream::new(&spec, Seed(9), 0).unwrap();
    let mut model = Model::default();
    let mut verdicts = BTreeMap::new();
    for number in 0..5000u64 {
        let step = stream.next_step();
        let Expectation::Done = step.expected else {
            let verdict = stream.record(&step, StepOutcome::expected(&step));
            *verdicts.entry(verdict).or_insert(0) += 1;
            continue;
        };
        let half = step.moved() / 2;
        let answer = match number % 7 {
            0 => StepOutcome { bytes: half, errno: errno::NO_SPACE, made: true },
            1 => StepOutcome { bytes: half, errno: 0, made: true },
            2 => StepOutcome { bytes: 0, errno: 5, made: false },
            _ => StepOutcome::expected(&step),
        };
        // The same for the map: as much as was moved.
        match step.op {
            TreeOp::Create if answer.made => drop(model.add(step.index, answer.bytes)),
            TreeOp::Reflink if answer.made => drop(model.add(step.second.unwrap(), answer.bytes)),
            TreeOp::Append => {
                let file = model.names[&step.index];
                model.files[file] += answer.bytes;
            }
            _ if answer.errno == 0 => drop(model.call(&step)),
            _ => {}
        }
        *verdicts.entry(stream.record(&step, answer)).or_insert(0) += 1;
    }
    model.agrees(&stream);
    assert_eq!(verdicts.len(), 3, "{verdicts:?}");
    let again = Stream::replay(&spec, Seed(9), 0, 5000, stream.log()).unwrap();
    assert_eq!(again.books(), stream.books());
    let blind = Stream::replay(&spec, Seed(9), 0, 5000, &tree::Log::default()).unwrap();
    assert_ne!(blind.books(), stream.books());
}

#[test]
fn live_names_are_found_until_there_are_none_and_free_ones_until_there_are_none() {
    let mut spec = spec("create=1");
    spec.pick = Pick::Live;
    let (mut stream, _) = run(&spec, 3, 0, 150);
    assert_eq!(stream.books().files(), 150, "each finds a free name");
    assert_eq!(stream.next_step().expected, Expectation::Skip(Skip::NoName));
    spec.ops = "delete=1,read=1".parse().unwrap();
    let mut stream = Stream::new(&spec, Seed(3), 0).unwrap();
    assert_eq!(stream.next_step().expected, Expectation::Skip(Skip::NoName));
}

#[test]
fn shares_of_what_is_made_durable_are_exact_at_both_ends() {
    let mut spec = spec("create=1,append=1");
    let count = |spec: &TreeSpec| {
        let mut stream = Stream::new(spec, Seed(1), 0).unwrap();
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            let step = stream.next_step();
            stream.record(&step, StepOutcome::expected(&step));
            if step.expected == Expectation::Done {
                counts[step.sync.map_or(0, |sync| 1 + sync as usize)] += 1;
            }
        }
        counts
    };
    assert_eq!(count(&spec)[1..], [0, 0]);
    (spec.fsync_percent, spec.fdatasync_percent) = (0.0, 100.0);
    assert_eq!(count(&spec)[..2], [0, 0]);
    (spec.fsync_percent, spec.fdatasync_percent) = (100.0, 50.0);
    let all = count(&spec);
    assert_eq!((all[0], all[2]), (0, 0));
    (spec.fsync_percent, spec.fdatasync_percent) = (20.0, 50.0);
    let [none, fsync, fdatasync] = count(&spec).map(|n| f64::from(n) / f64::from(all[1]));
    assert!(
        (none - 0.4).abs() < 0.03 && (fsync - 0.2).abs() < 0.03 && (fdatasync - 0.4).abs() < 0.03
    );
}

#[test]
fn space_may_lack_for_whatever_changes_something() {
    for op in ["randwrite", "punch", "truncate", "delete", "rename", "fsync"] {
        let spec = spec(&format!("create=9,{op}=1"));
        let (mut stream, _) = run(&spec, 1, 0, 2_000);
        let mut seen = false;
        for _ in 0..500 {
            let step = stream.next_step();
            let lacks = step.op.name() == op && step.expected == Expectation::Done;
            let lacking = StepOutcome { errno: errno::NO_SPACE, ..StepOutcome::default() };
            let verdict =
                stream.record(&step, if lacks { lacking } else { StepOutcome::expected(&step) });
            assert_ne!(verdict, Verdict::Unexpected, "{op}");
            seen |= lacks;
        }
        assert!(seen, "{op}");
    }
}
