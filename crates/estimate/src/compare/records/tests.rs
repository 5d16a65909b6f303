use super::*;

#[test]
fn a_single_one_may_be_off_by_all_and_none_says_nothing() {
    let none = Records::default().comparison();
    assert_eq!((none.lz4.saving_percent, none.lz4.error_points, none.records), (None, None, 0));
    let record = Record { place: 0, blocks: 32, foretold: 8 };
    let mut one = Records::default();
    one.count_predicted(record);
    one.point(record, 768, [8, 4]);
    let one = one.comparison();
    assert_eq!((one.lz4.saving_percent, one.lz4.error_points), (Some(75.0), Some(100.0)));
}

#[test]
fn points_are_held_against_those_of_their_own_worker() {
    // The draws of one worker are too high and exact by turns; other workers draw the same.
    let error = |workers: u64| {
        let mut all = Records::default();
        for worker in 0..workers {
            let mut records = Records::default();
            for at in 0..50 {
                let place = at * 768 * workers + worker * 32;
                let record = Record { place, blocks: 32, foretold: 8 };
                records.count_predicted(record);
                records.point(record, 768, [8 + at % 2 * 16, 8]);
            }
            all.add(records);
        }
        all.comparison().lz4.error_points.unwrap()
    };
    let (one, four) = (error(1), error(4));
    assert!((four / one - 0.5).abs() < 0.02, "{one}, {four}");
}
