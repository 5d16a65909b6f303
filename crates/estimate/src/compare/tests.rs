use super::*;

/// Records of a run: 1 MiB.
const RUN: u64 = 8;

/// A record of one kind of content, what its blocks foretell, and what is made of it.
struct Kind {
    bytes: Vec<u8>,
    foretold: u64,
    made: [u64; 2],
}

/// Makes a kind: each block has so many random bytes, `apart` says how many blocks follow before they come again.
fn kind(random: usize, apart: u64) -> Kind {
    let mut bytes = vec![0; RECORD];
    for (at, block) in (0..).zip(bytes.chunks_exact_mut(BLOCK)) {
        let mut rng = Seed(at % apart).derive("kind").generator();
        block[..random].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
    }
    let mut lz4 = Lz4::new();
    let size = |block: &[u8]| lz4.size_of(block).unwrap();
    let foretold = bytes.chunks_exact(BLOCK).map(size).sum::<usize>().div_ceil(BLOCK);
    let zstd = zstd::bulk::compress(&bytes, ZSTD_LEVEL).unwrap().len();
    let made = [lz4.size_of(&bytes).unwrap(), zstd];
    let made = made.map(|size| (size.div_ceil(BLOCK) as u64).min(32));
    Kind { bytes, foretold: foretold.max(1) as u64, made }
}

/// Returns what is found of runs of these kinds, by `workers` that take them in turn, and what it should be.
fn found(runs: &[&Kind], all: Option<bool>, seed: u64) -> (Comparison, [f64; 2]) {
    let scatter = Arc::new(Scatter::default());
    let worker = || {
        let draw = Draw::new(Seed(seed));
        Sampler { draw, ..Sampler::new(all, Arc::clone(&scatter)) }
    };
    let mut workers = [worker(), worker()];
    let (mut place, mut made) = (0, [0, 0]);
    for (at, kind) in runs.iter().enumerate() {
        for _ in 0..RUN {
            workers[at % 2].look(place, &kind.bytes, kind.foretold);
            place += 32;
            made = [made[0] + kind.made[0], made[1] + kind.made[1]];
        }
    }
    let mut records = Records::default();
    for mut worker in workers {
        worker.finish(place);
        records.add(worker.records);
    }
    (records.comparison(), made.map(|made| 100.0 * (1.0 - made as f64 / place as f64)))
}

/// Returns how many of both figures the stated interval does not hold.
fn outside((found, truth): &(Comparison, [f64; 2])) -> u32 {
    let figures = [found.lz4, found.zstd].into_iter().zip(truth);
    let outside = figures.map(|(figure, truth)| {
        let off = figure.saving_percent.unwrap() - truth;
        u32::from(off.abs() > figure.error_points.unwrap() + 1e-9)
    });
    outside.sum()
}

fn kinds() -> Vec<Kind> {
    // The last two are other than their blocks foretell: what is random comes again within the record.
    let random = [0, 500, 1000, 2000, 3000, 4000, 4096];
    random.iter().map(|&random| kind(random, 32)).chain([kind(4096, 2), kind(2500, 20)]).collect()
}

#[test]
fn runs_of_known_compressibility_lie_within_the_stated_interval_at_every_size() {
    let kinds = kinds();
    let (mut of_few, mut of_many) = (0, 0);
    for mib in [4, 12, 32, 64, 66, 96, 160] {
        for seed in 0..4 {
            let mut rng = Seed(seed).derive("runs").generator();
            let runs: Vec<_> =
                (0..mib).map(|_| &kinds[rng.below(kinds.len() as u64) as usize]).collect();
            if mib > 64 {
                // Of a pipe nobody knows beforehand.
                let known = found(&runs, (seed > 0).then_some(false), seed);
                let errors = [known.0.lz4, known.0.zstd].map(|figure| figure.error_points);
                assert!(errors.iter().all(|error| *error <= Some(1.0)), "{mib} MiB: {errors:?}");
                of_many += outside(&known);
            } else if seed < 2 {
                let whole = found(&runs, None, seed);
                assert_eq!((whole.0.lz4.error_points, whole.0.records), (Some(0.0), mib * RUN));
                of_few += outside(&whole);
            }
        }
    }
    assert_eq!(of_few, 0);
    assert!(of_many <= 3, "{of_many} of 24 outside the interval of 95 %");
}

#[test]
fn the_order_of_zeros_and_noise_does_not_matter() {
    let (zeros, noise) = (kind(0, 32), kind(4096, 32));
    let run = |kind, mib| std::iter::repeat_n(kind, mib);
    let after: Vec<_> = run(&zeros, 4).chain(run(&noise, 11)).collect();
    let before: Vec<_> = run(&noise, 11).chain(run(&zeros, 4)).collect();
    let truth = 100.0 * (1.0 - (11.0 * 32.0 + 4.0) / (15.0 * 32.0));
    for runs in [after, before] {
        let (found, _) = found(&runs, None, 0);
        assert_eq!((found.lz4.saving_percent, found.lz4.error_points), (Some(truth), Some(0.0)));
        assert_eq!((found.zstd, found.records), (found.lz4, 120));
    }
    let after: Vec<_> = run(&zeros, 4).chain(run(&noise, 110)).collect();
    let before: Vec<_> = run(&noise, 110).chain(run(&zeros, 4)).collect();
    for runs in [after, before] {
        let found = found(&runs, None, 0);
        assert!(outside(&found) == 0 && found.0.lz4.error_points < Some(1.0), "{found:?}");
    }
}

#[test]
fn a_piece_is_cut_where_the_records_of_its_file_are() {
    let cut = |offset, bytes| parts(offset, bytes).collect::<Vec<_>>();
    assert_eq!(cut(0, RECORD + 1), [0..RECORD, RECORD..RECORD + 1]);
    assert_eq!(cut(256 << 10, 200 << 10), [0..RECORD, RECORD..200 << 10]);
    assert_eq!(cut(120 << 10, 16 << 10), [0..8 << 10, 8 << 10..16 << 10]);
    assert_eq!(cut(512, 256 << 10), [0..RECORD, RECORD..256 << 10]);
    assert!(cut(4096, 0).iter().all(|part| part.is_empty()));
}
