//! The page in a real browser: no word on its console, every chart drawn.

use results::read::ResultSet;

use crate::chromium::{NAMES, attribute, browser, check_page, opened};
use crate::given;

/// Opens the page of results with all charts drawn and looks at its console.
fn check(test: &str, sets: &[ResultSet]) {
    let views: Vec<_> = sets.iter().map(given::view).collect();
    let page = report::html::page(&views);
    check_page(test, &page, given::charts(&page).len());
}

#[test]
fn the_page_opens_without_a_word_on_the_console_and_draws_every_chart() {
    check(
        "the_page_opens_without_a_word_on_the_console_and_draws_every_chart",
        &[results::fixture::result()],
    );
}

#[test]
fn hostile_names_and_several_results_draw_as_well() {
    check(
        "hostile_names_and_several_results_draw_as_well",
        &[given::hostile(), results::fixture::with(1, 9_000.0)],
    );
}

#[test]
fn a_chart_is_not_drawn_before_it_is_seen() {
    let Some(browser) = browser() else {
        println!(
            "SKIP a_chart_is_not_drawn_before_it_is_seen: none of {} is in PATH",
            NAMES.join(", ")
        );
        return;
    };
    let page = given::page(&results::fixture::result());
    let (dom, log) = opened(&browser, &page, "");
    assert_eq!(attribute(&dom, "data-errors"), "", "{log}");
    assert_eq!(attribute(&dom, "data-drawn"), "0");
    assert!(dom.contains("<svg class=\"sketch\""), "the sketch stands in for it");
}
