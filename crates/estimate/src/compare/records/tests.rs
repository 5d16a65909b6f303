use super::*;

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
