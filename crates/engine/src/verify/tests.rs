//! Faults that are found and named, and none where there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use content::{BLOCK, ContentId, ContentSpec, Source};
use faulty::{Fault, On, Store, What, When};
use results::model::{VerifyFigures, WrongKind};
use units::{Percent, Seed, SplitMix64};

use super::*;

fn spec(dedupe: f64, compress: &str) -> ContentSpec {
    let compress = compress.parse().unwrap();
    ContentSpec { dedupe: Percent(dedupe), compress, ..ContentSpec::default() }
}

fn verifier(bytes: u64, width: Width, source: &Source) -> Arc<Verifier> {
    let known_contents = KnownContents::of(source.contents().clone());
    Arc::new(Verifier::new(&[(bytes, Promises::default())], BLOCK, width, known_contents).unwrap())
}

/// One job at depth 1 on a store with faults.
struct Bench {
    store: Store,
    source: Source,
    worker_verifier: WorkerVerifier,
    verifier: Arc<Verifier>,
    buffer: Vec<u8>,
}

impl Bench {
    fn new(blocks: usize, spec: &ContentSpec, width: Width) -> Self {
        let source = Source::new(spec, Seed(9), 0, 1);
        let verifier = verifier((blocks * BLOCK) as u64, width, &source);
        let worker_verifier = WorkerVerifier::new(Arc::clone(&verifier), 1, 4 * BLOCK);
        let store = Store::new(blocks * BLOCK, Vec::new());
        Self { store, source, worker_verifier, verifier, buffer: vec![0; 4 * BLOCK] }
    }

    fn write(&mut self, offset: u64, blocks: usize) {
        let length = blocks * BLOCK;
        self.worker_verifier.write(0, 0, offset, length as u64);
        let buffer = &mut self.buffer[..length];
        for (n, block) in buffer.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let id = self.source.next_id(0);
            self.source.fill(id, block);
            self.worker_verifier.writes(0, (n * BLOCK) as u64, BLOCK, id);
        }
        self.worker_verifier.begin(0);
        let done = self.store.write(offset, buffer).result == Ok(length);
        self.worker_verifier.ended(0, done, &[], 1);
    }

    fn read(&mut self, offset: u64, blocks: usize) {
        let buffer = &mut self.buffer[..blocks * BLOCK];
        self.worker_verifier.read(0, 0, offset, buffer.len() as u64);
        let done = self.store.read(offset, buffer).result == Ok(buffer.len());
        self.worker_verifier.ended(0, done, buffer, 2);
    }

    fn pass(&mut self) {
        for offset in (0..self.store.size() as u64).step_by(4 * BLOCK) {
            self.write(offset, 4);
        }
    }

    fn read_all(&mut self) -> VerifyFigures {
        for offset in (0..self.store.size() as u64).step_by(4 * BLOCK) {
            self.read(offset, 4);
        }
        self.verifier.figures(std::iter::once(self.worker_verifier.figures()))
    }
}

#[test]
fn a_hundred_blocks_of_each_fault_are_found_and_named() {
    let specs = [
        spec(0.0, "none"),
        spec(0.0, "2.5x"),
        spec(50.0, "none"),
        spec(75.0, "4.1x"),
        spec(30.0, "50x"),
    ];
    for spec in &specs {
        let blocks = 8192;
        let whats = [
            (What::Torn(1), WrongKind::Torn),
            (What::Stale, WrongKind::Stale),
            (What::Flipped(vec![77, 300]), WrongKind::Corrupt),
            (What::Flipped(vec![5000]), WrongKind::Corrupt),
        ];
        for (what, kind) in whats {
            let mut bench = Bench::new(blocks, spec, Width::Four);
            if what == What::Torn(1) && spec.expected().lz4_size_mean_bytes <= 512.0 {
                // All its data is in the first sector: nothing is torn off.
                continue;
            }
            bench.pass();
            bench.store.arm(vec![Fault::new(
                On::Write,
                When::share(0.03).at_most(100),
                what.clone(),
            )]);
            bench.pass();
            let figures = bench.read_all();
            let places: Vec<_> = bench.store.injected().iter().map(|i| i.at).collect();
            let found: Vec<_> = figures.wrong.iter().map(|wrong| wrong.offset).collect();
            assert_eq!((places.len(), &found), (100, &places), "{what:?} {spec:?}");
            assert_eq!(figures.count(kind), 100, "{what:?} {spec:?} {:?}", figures.wrong.first());
            assert_eq!((figures.wrong_blocks(), figures.checked), (100, blocks as u64));
            assert_eq!(figures.correct, figures.checked - 100);
        }
    }
}

#[test]
fn misplaced_blocks_are_named_with_their_home_and_what_they_left_is_stale() {
    for spec in [spec(0.0, "none"), spec(50.0, "2.5x")] {
        let blocks = 8192;
        let mut bench = Bench::new(blocks, &spec, Width::Four);
        bench.pass();
        // Odd blocks by an even distance backwards: what lands is not overwritten by this pass.
        let what = What::Misplaced(((blocks - 300) * BLOCK) as u64);
        let late =
            When { within: Some(4_096_000..u64::MAX), share: 0.03, most: Some(100), after: 0 };
        bench.store.arm(vec![Fault::new(On::Write, late, what)]);
        bench.pass();
        let figures = bench.read_all();
        let away = |at: u64| at - 300 * BLOCK as u64;
        let homes: Vec<_> = bench.store.injected().iter().map(|i| i.at).collect();
        assert_eq!(homes.len(), 100);
        let gone: Vec<_> = homes
            .iter()
            .copied()
            .filter(|at| !homes.contains(&(at + 300 * BLOCK as u64)))
            .collect();
        for home in &homes {
            let wrong = figures.wrong.iter().find(|wrong| wrong.offset == away(*home)).unwrap();
            assert_eq!(wrong.kind, WrongKind::Misplaced, "{wrong:?}");
            if spec.dedupe.0 == 0.0 {
                // One other block in 65,536 has the same tag.
                assert!(
                    wrong.homes == 1 && wrong.home == Some((0, *home)) || wrong.homes > 1,
                    "{wrong:?}"
                );
            }
        }
        for gone in gone {
            let wrong = figures.wrong.iter().find(|wrong| wrong.offset == gone).unwrap();
            assert_eq!(wrong.kind, WrongKind::Stale, "{wrong:?}");
        }
        assert_eq!(figures.wrong_blocks(), figures.misplaced + figures.stale);
    }
}

#[test]
fn zeros_and_strange_data_are_named() {
    let mut bench = Bench::new(64, &spec(0.0, "none"), Width::Four);
    bench.pass();
    bench.store.bytes_mut()[4096..8192].fill(0);
    bench.store.bytes_mut()[12288..16384].fill(0x5a);
    let figures = bench.read_all();
    let kinds: Vec<_> = figures.wrong.iter().map(|w| (w.offset, w.kind)).collect();
    assert_eq!(kinds, [(4096, WrongKind::Zeros), (12288, WrongKind::Foreign)]);
}

#[test]
fn one_byte_per_block_finds_what_four_find_but_one_stale_block_in_119() {
    let mut bench = Bench::new(16_384, &spec(0.0, "none"), Width::One);
    bench.pass();
    bench.store.arm(vec![Fault::new(On::Write, When::share(0.5), What::Stale)]);
    bench.pass();
    let figures = bench.read_all();
    let injected = bench.store.injected().len() as f64;
    let missed = 1.0 - figures.stale as f64 / injected;
    assert!((0.002..0.02).contains(&missed), "{missed} of {injected}");
    assert_eq!(figures.wrong_blocks(), figures.stale);
}

/// A block each that is flipped, torn, another's, and zero, without the verifier's knowledge.
fn spoil(store: &mut Store) {
    let block = |store: &mut Store, number: usize| {
        let mut block = [0; BLOCK];
        assert_eq!(store.read((number * BLOCK) as u64, &mut block).result, Ok(BLOCK));
        block
    };
    let mut flipped = block(store, 3);
    flipped[70] ^= 4;
    let (mut torn, other) = (block(store, 5), block(store, 6));
    torn[..1024].copy_from_slice(&other[..1024]);
    for (number, bytes) in [(3, flipped), (5, torn), (8, other), (11, [0; BLOCK])] {
        assert_eq!(store.write((number * BLOCK) as u64, &bytes).result, Ok(BLOCK));
    }
}

#[test]
fn a_quick_look_finds_what_the_long_one_finds() {
    for (compress, width) in [("none", Width::Four), ("2.5x", Width::Four), ("none", Width::One)] {
        let mut bench = Bench::new(32, &spec(0.0, compress), width);
        bench.pass();
        // Two writes at once: the block may hold either, which only the list of overlaps knows.
        let id = bench.source.next_id(0);
        let mut two = WorkerVerifier::new(Arc::clone(&bench.verifier), 2, BLOCK);
        for slot in 0..2 {
            two.write(slot, 0, 20 * BLOCK as u64, BLOCK as u64);
            two.writes(slot, 0, BLOCK, ContentId(id.0 + slot as u64));
            two.begin(slot);
        }
        bench.source.fill(id, &mut bench.buffer[..BLOCK]);
        let _ = bench.store.write(20 * BLOCK as u64, &bench.buffer[..BLOCK]);
        (0..2).for_each(|slot| two.ended(slot, true, &[], 1));
        spoil(&mut bench.store);
        let mut found = [false, true].map(|quiet| {
            let worker = WorkerVerifier::new(Arc::clone(&bench.verifier), 1, 4 * BLOCK);
            bench.worker_verifier = if quiet { worker.read_only() } else { worker };
            for number in 0..32 {
                bench.read(number * BLOCK as u64, 1);
            }
            // Several blocks, and one that could not be read.
            bench.read(12 * BLOCK as u64, 4);
            bench.worker_verifier.read(0, 0, 0, BLOCK as u64);
            bench.worker_verifier.ended(0, false, &[], 1);
            bench.worker_verifier.figures()
        });
        assert_eq!(found[0], found[1], "{compress} {width:?}");
        let [_, fast_check] = &mut found;
        let kinds = [
            fast_check.corrupt,
            fast_check.torn,
            fast_check.misplaced + fast_check.stale,
            fast_check.zeros,
        ];
        assert_eq!(
            (fast_check.checked, fast_check.correct, kinds),
            (36, 32, [1; 4]),
            "{fast_check:?}"
        );
        drop(std::mem::replace(
            &mut bench.worker_verifier,
            WorkerVerifier::new(Arc::clone(&bench.verifier), 1, BLOCK),
        ));
        assert!(bench.verifier.take_made()[0][0] >= 2 * 34, "every read is counted");
    }
}

#[test]
fn a_sector_that_is_read_while_it_is_written_may_be_of_both_and_not_afterwards() {
    // Cut at places where the new content has most of the sector, and where neither content has most of it.
    for (cut, width) in [(100, Width::Four), (250, Width::Four), (100, Width::One)] {
        let mut bench = Bench::new(4, &spec(0.0, "none"), width);
        bench.pass();
        let id = bench.source.next_id(0);
        let mut writer = WorkerVerifier::new(Arc::clone(&bench.verifier), 1, BLOCK);
        writer.write(0, 0, BLOCK as u64, BLOCK as u64);
        writer.writes(0, 0, BLOCK, id);
        writer.begin(0);
        let mut both = [0; BLOCK];
        bench.source.fill(id, &mut both);
        let mut old = [0; BLOCK];
        assert_eq!(bench.store.read(BLOCK as u64, &mut old).result, Ok(BLOCK));
        both[..cut].copy_from_slice(&old[..cut]);
        let _ = bench.store.write(BLOCK as u64, &both);
        bench.read(BLOCK as u64, 1);
        let figures = bench.worker_verifier.figures();
        assert_eq!((figures.unsure, figures.wrong_blocks()), (1, 0), "{cut} {width:?}");
        writer.ended(0, true, &[], 1);
        bench.read(BLOCK as u64, 1);
        let figures = bench.worker_verifier.figures();
        assert_eq!((figures.unsure, figures.wrong_blocks()), (1, 1), "{cut} {width:?}");
    }
}

#[test]
fn discarded_and_zeroed_blocks_are_checked_for_what_the_device_promises() {
    for promised in [false, true] {
        let source = Source::new(&spec(0.0, "none"), Seed(9), 0, 1);
        let known_contents = KnownContents::of(source.contents().clone());
        let promises = Promises { discard_zeroes: promised, fresh: false };
        let size = 16 * BLOCK as u64;
        let verifier =
            Verifier::new(&[(size, promises)], BLOCK, Width::Four, known_contents).unwrap();
        let mut bench = Bench::new(16, &spec(0.0, "none"), Width::Four);
        bench.verifier = Arc::new(verifier);
        bench.worker_verifier = WorkerVerifier::new(Arc::clone(&bench.verifier), 1, 4 * BLOCK);
        bench.pass();
        // A discard that the device ignores, one that it obeys, and zeros that it does not write.
        for (offset, zeroes, obeyed) in
            [(0, false, false), (8192, false, true), (16384, true, false)]
        {
            bench.worker_verifier.clear(0, 0, offset, 4096, zeroes);
            if obeyed {
                let _ = bench.store.punch(offset, 4096);
            }
            bench.worker_verifier.ended(0, true, &[], 1);
        }
        // A discard of half a block leaves its content unknown.
        bench.worker_verifier.clear(0, 0, 24576 + 2048, 4096, false);
        bench.worker_verifier.ended(0, true, &[], 1);
        let figures = bench.read_all();
        let found: Vec<_> = figures.wrong.iter().map(|w| (w.offset, w.kind)).collect();
        let ignored = (0, WrongKind::Stale);
        let zeroes = (16384, WrongKind::Stale);
        assert_eq!(found, if promised { vec![ignored, zeroes] } else { vec![zeroes] });
        // What a device returns for a discarded block is neither right nor wrong, zeros or not.
        let discarded = if promised { 0 } else { 2 };
        assert_eq!((figures.unwritten, figures.discarded), (2, discarded));
        assert_eq!((figures.read, figures.checked), (16, 14 - discarded));
    }
}

/// Blocks that hold ids; each is written and read at some moment between submission and completion.
struct Device(Vec<AtomicU64>);

/// One I/O in flight of a job.
#[derive(Clone, Copy)]
struct InFlight {
    block: usize,
    write: bool,
    id: u64,
    at_device: bool,
}

/// `ios` I/Os of one job at `depth`; gives its verifier.
fn drive(
    device: &Device,
    verifier: &Arc<Verifier>,
    source: &Source,
    depth: usize,
    ios: u64,
    seed: u64,
) -> WorkerVerifier {
    let mut worker_verifier = WorkerVerifier::new(Arc::clone(verifier), depth, BLOCK);
    let mut flights: Vec<Option<InFlight>> = vec![None; depth];
    let mut random: SplitMix64 = Seed(seed).generator();
    let mut block = [0; BLOCK];
    let mut left = ios;
    while left > 0 {
        let slot = random.below(depth as u64) as usize;
        match &mut flights[slot] {
            None => {
                let at = random.below(device.0.len() as u64) as usize;
                let write = random.below(4) == 0;
                let id = 1 + random.below(100_000);
                let id = if id.is_multiple_of(7) { 0 } else { id };
                let offset = (at * BLOCK) as u64;
                if write {
                    worker_verifier.write(slot, 0, offset, BLOCK as u64);
                    worker_verifier.writes(slot, 0, BLOCK, ContentId(id));
                    worker_verifier.begin(slot);
                } else {
                    worker_verifier.read(slot, 0, offset, BLOCK as u64);
                }
                flights[slot] = Some(InFlight { block: at, write, id, at_device: false });
            }
            Some(flight) if !flight.at_device => {
                flight.at_device = true;
                match flight.write {
                    true => device.0[flight.block].store(flight.id, Ordering::SeqCst),
                    false => flight.id = device.0[flight.block].load(Ordering::SeqCst),
                }
            }
            Some(flight) => {
                if !flight.write {
                    source.fill(ContentId(flight.id), &mut block);
                }
                worker_verifier.ended(slot, true, &block, ios - left);
                flights[slot] = None;
                left -= 1;
            }
        }
    }
    worker_verifier
}

fn busy(blocks: usize, depth: usize, ios: u64, width: Width) -> VerifyFigures {
    let source = Source::new(&spec(0.0, "2.5x"), Seed(1), 0, 1);
    let verifier = verifier((blocks * BLOCK) as u64, width, &source);
    let device = Device((0..blocks).map(|_| AtomicU64::new(0)).collect());
    let worker_verifiers: Vec<_> = std::thread::scope(|scope| {
        let job = |seed| {
            let (device, verifier, source) = (&device, &verifier, &source);
            scope.spawn(move || drive(device, verifier, source, depth, ios, seed))
        };
        let jobs: Vec<_> = (0..4).map(job).collect();
        jobs.into_iter().map(|job| job.join().unwrap()).collect()
    });
    verifier.figures(worker_verifiers.iter().map(WorkerVerifier::figures))
}

#[test]
fn ten_million_reads_among_overwrites_raise_no_alarm() {
    let mut reads = 0;
    for (blocks, depth, ios, width) in [
        (65_536, 128, 1_900_000, Width::Four),
        (1024, 32, 600_000, Width::Four),
        (8, 16, 200_000, Width::Four),
        (4096, 32, 600_000, Width::One),
        (8, 16, 100_000, Width::One),
    ] {
        let figures = busy(blocks, depth, ios, width);
        assert_eq!(figures.wrong_blocks(), 0, "{blocks} {width:?}: {:?}", figures.wrong.first());
        if blocks > 1000 && width == Width::Four {
            assert!(figures.unsure * 1000 < figures.checked, "{blocks}: {} unsure", figures.unsure);
        }
        reads += figures.read;
    }
    assert!(reads > 10_000_000, "{reads}");
}
