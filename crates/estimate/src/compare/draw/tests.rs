use super::*;
use crate::compare::records::{Comparison, Records};

/// A record and what is made of it.
type Made = (Record, [u64; 2]);

/// Returns the comparison of records that are drawn by `draw`, or all counted.
fn found(all: &[Made], draw: Option<Seed>) -> Comparison {
    let (mut records, scatter) = (Records::default(), Scatter::default());
    let mut draws = draw.map(Draw::new);
    for &(record, made) in all {
        let drawn = draws.as_mut().map_or(Drawn::Whole, |draws| draws.take(record, &scatter));
        match drawn {
            Drawn::Whole => records.count_compressed(record, made),
            _ => records.count_predicted(record),
        }
        if let Drawn::For(blocks) = drawn {
            records.point(record, blocks, made);
        }
        if let Some(draws) = draws.as_mut().filter(|_| drawn != Drawn::Passed) {
            draws.note(record, made, &scatter);
        }
    }
    records.comparison()
}

/// Makes records of so many blocks together: files of like content, their sizes foretold as well as real ones are, that begin compressible
/// and end as noise.
fn data(blocks: u64, seed: u64) -> Vec<Made> {
    let mut rng = Seed(seed).derive("records").generator();
    let (mut place, mut all) = (0, Vec::new());
    while place < blocks {
        let (length, like) = (1 + rng.below(600), rng.below(32));
        for _ in 0..length.div_ceil(32) {
            let blocks = 1 + rng.below(32);
            let noise = if place > 10_000 && rng.below(2) == 0 { 32 } else { 0 };
            let share = |add: u64| (like + add + noise).min(32);
            let foretold = (blocks * share(rng.below(8))).div_ceil(32).max(1);
            let made = [share(rng.below(6)), share(rng.below(6)) * 3 / 4];
            let made = made.map(|share| (blocks * share).div_ceil(32).max(1));
            all.push((Record { place, blocks, foretold }, made));
            place += blocks;
        }
    }
    all
}

#[test]
fn the_stated_error_is_within_a_point_and_covers_what_all_records_would_have_said() {
    for blocks in [17_000, 20_000, 65_536, 600_000] {
        let all = data(blocks, blocks);
        let truth = found(&all, None);
        assert_eq!((truth.lz4.error_points, truth.records), (Some(0.0), all.len() as u64));
        let (mut outside, mut stated, mut squares) = (0, 0.0, 0.0);
        for seed in 0..100 {
            let drawn = found(&all, Some(Seed(seed)));
            for (found, truth) in [(drawn.lz4, truth.lz4), (drawn.zstd, truth.zstd)] {
                let off = found.saving_percent.unwrap() - truth.saving_percent.unwrap();
                let error = found.error_points.unwrap();
                outside += u32::from(off.abs() > error);
                assert!(error <= 1.0, "{blocks}, {seed}: {error}");
                stated += error / 200.0;
                squares += off * off / 200.0;
            }
        }
        let needed = 1.96 * f64::sqrt(squares);
        assert!(outside <= 14, "{blocks}: {outside} of 200 outside the interval of 95 %");
        assert!(stated < 1.5 * needed, "{blocks}: stated {stated}, needed {needed}");
    }
}

#[test]
fn what_is_drawn_stands_for_all_and_grows_by_the_logarithm_of_the_data() {
    let mut counts = Vec::new();
    for blocks in [1 << 15, 1 << 18, 1 << 21] {
        let (mut draw, scatter) = (Draw::new(Seed(3)), Scatter::default());
        let (mut stands, mut count) = (0, 0);
        for number in 0..blocks / 32 {
            let record = Record { place: 32 * number, blocks: 32, foretold: 16 };
            let drawn = draw.take(record, &scatter);
            let here = match drawn {
                Drawn::Whole => 32,
                Drawn::For(blocks) => blocks,
                Drawn::Passed => continue,
            };
            (stands, count) = (stands + here, count + 1);
            draw.note(record, [14 + number % 4, 16], &scatter);
        }
        assert!((stands as f64 / blocks as f64 - 1.0).abs() < 0.05, "{stands} of {blocks}");
        counts.push(count);
    }
    let [few, more, many] = counts[..] else { panic!() };
    assert!(few > 50 && many < 600, "{few}, {more}, {many}");
    assert!((many - more) * 4 < 5 * (more - few), "{few}, {more}, {many}");
}
