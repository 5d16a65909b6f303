use super::*;

/// A record and what is made of it.
type Made = (Record, [u64; 2]);

/// Returns what is said of records when they are drawn by `draw`, or all counted.
fn found(all: &[Made], draw: Option<Seed>) -> Comparison {
    let mut records = Records::default();
    for &(record, made) in all {
        let Some(draw) = draw else {
            records.whole(record, made);
            continue;
        };
        records.rest(record);
        chosen(record.place..record.place + record.blocks, draw)
            .for_each(|stratum| records.point(record, stratum, made));
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
fn the_stated_error_covers_what_all_records_would_have_said_and_is_no_wider_than_needed() {
    for blocks in [20_000, 65_536, 600_000] {
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
fn every_block_stands_in_one_stratum_and_one_of_each_is_drawn() {
    let (mut at, mut drawn) = (0, 0);
    while at < 3 << 20 {
        let one = stratum(at);
        assert_eq!((one.start, stratum(one.end - 1)), (at, one.clone()));
        let lengths =
            (one.start..one.end).step_by(32).flat_map(|from| chosen(from..from + 32, Seed(7)));
        assert_eq!(lengths.collect::<Vec<_>>(), [one.end - one.start]);
        (at, drawn) = (one.end, drawn + 1);
    }
    assert!((768..1300).contains(&drawn), "{drawn}");
    assert_eq!(stratum(0), 0..768);
}

#[test]
fn a_single_one_may_be_off_by_all_and_none_says_nothing() {
    let none = Records::default().comparison();
    assert_eq!((none.lz4.saving_percent, none.lz4.error_points, none.records), (None, None, 0));
    let record = Record { place: 0, blocks: 32, foretold: 8 };
    let mut one = Records::default();
    one.rest(record);
    one.point(record, 768, [8, 4]);
    let one = one.comparison();
    assert_eq!((one.lz4.saving_percent, one.lz4.error_points), (Some(75.0), Some(100.0)));
}
