//! What sources found beside what was found here.

use report::sources::{MARK, markdown};
use results::model::{Bound, ExpectedFigure, FigureName};

use crate::given;

/// A result that expects these of its vdo variant's IOPS.
fn expecting(repeats: u32, expected: &[(Bound, Option<&str>)]) -> report::view::View {
    let mut set = fixture::with(repeats, 6_000.0);
    let figure = |metric: &str, variant: &str| FigureName {
        metric: metric.into(),
        stage: None,
        operation: Some("randwrite".into()),
        layer: None,
        variant: variant.into(),
    };
    set.manifest.plan.expectations = expected
        .iter()
        .map(|(bound, source)| ExpectedFigure {
            of: Some(figure("iops", "plain")),
            source: source.map(str::to_owned),
            ..ExpectedFigure::new(figure("iops", "vdo"), *bound)
        })
        .collect();
    given::view(&set)
}

#[test]
fn every_expectation_stands_beside_what_was_found_and_its_source() {
    let near = Bound::Near { value: 0.2, by: 0.01 };
    let all = [
        (Bound::Below(0.9), Some("1.13 | 67.3 MB/s\n<b>")),
        (Bound::Above(0.9), None),
        (near, Some("section 5.3")),
    ];
    let page = markdown(&[expecting(5, &all)]);
    assert!(page.starts_with(MARK), "{page}");
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("randwrite")).collect();
    assert_eq!(rows.len(), 3, "{page}");
    assert!(rows[0].contains("IOPS of randwrite, vdo over plain | below 0.9"), "{}", rows[0]);
    assert!(
        rows[0].contains("5 repeats | as the source found | 1.13 \\| 67.3 MB/s"),
        "{}",
        rows[0]
    );
    assert!(!page.contains("<b>"), "{page}");
    assert!(rows[1].ends_with("| differs | – |"), "{}", rows[1]);
    assert!(rows[2].contains("0.19× to 0.21×") || rows[2].contains("0.19 to 0.21"), "{}", rows[2]);
    assert!(page.contains("simulated: no figure is real"), "{page}");
}

#[test]
fn one_run_is_said_to_be_one_and_a_result_that_expects_nothing_says_so() {
    let page = markdown(&[expecting(1, &[(Bound::Below(0.9), None)]), expecting(1, &[])]);
    assert!(page.contains(", one run | as the source found | – |"), "{page}");
    assert!(page.contains("It expects nothing"), "{page}");
    assert_eq!(page.matches("\n## ").count(), 2, "{page}");
}
