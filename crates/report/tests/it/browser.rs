//! The page in a real browser: no word on its console, every chart drawn.

use std::path::Path;

use results::model::Row;
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
        &[fixture::result()],
    );
}

#[test]
fn hostile_names_and_several_results_draw_as_well() {
    check(
        "hostile_names_and_several_results_draw_as_well",
        &[given::hostile(), fixture::with(1, 9_000.0)],
    );
}

/// Returns the value of `expression` in a page that is `width` pixels wide.
///
/// A browser's window cannot be as narrow as a telephone, so the page stands in a frame, which sends the answer out.
fn evaluate(browser: &Path, page: &str, width: u32, expression: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let inner = home.path().join("inner.html");
    let question = format!(
        "<script>(async () => {{ const f = window.__fathom; \
         parent.postMessage(String(f.errors.length ? f.errors : {expression}), '*'); }})()</script></body>"
    );
    std::fs::write(&inner, page.replace("</body>", &question)).unwrap();
    let outer = format!(
        "<!DOCTYPE html><html><body style=\"margin:0\"><iframe src=\"file://{}\" width={width} height=900 frameborder=0></iframe>\
         <script>addEventListener('message', e => document.documentElement.dataset.answer = e.data)</script></body></html>",
        inner.display()
    );
    let (dom, log) = opened(browser, &outer, "");
    assert!(dom.contains("data-answer"), "no answer: {log}");
    attribute(&dom, "data-answer")
}

/// The browser, or a word that the test could not run.
macro_rules! browser_or_skip {
    ($test:literal) => {
        match browser() {
            Some(browser) => browser,
            None => {
                println!("SKIP {}: none of {} is in PATH", $test, NAMES.join(", "));
                return;
            }
        }
    };
}

/// Elements that are wider than the page, or whose content is cut off, except what scrolls by itself.
const WIDER: &str = "[...document.querySelectorAll('body *')].filter(e => !e.closest('svg, .scroll, pre, .sr') \
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).slice(0, 3).map(e => e.outerHTML.slice(0, 120)) \
    .concat(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['the page'] : [])";

/// Tables that show less than they hold.
const CUT: &str = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1) \
    .map(e => e.getAttribute('aria-label') + ' ' + e.clientWidth + ' of ' + e.scrollWidth)";

/// Tables that would be cut off on paper.
const SHORT: &str = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollHeight > e.clientHeight + 1) \
    .map(e => e.getAttribute('aria-label') + ' ' + e.clientHeight + ' of ' + e.scrollHeight)";

#[test]
fn nothing_is_wider_than_the_page_whatever_the_names() {
    let browser = browser_or_skip!("nothing_is_wider_than_the_page_whatever_the_names");
    let long = given::page(&given::named(&fixture::result(), &"x".repeat(62)));
    for width in [420, 1300] {
        assert_eq!(evaluate(&browser, &long, width, WIDER), "", "{width} px");
    }
}

#[test]
fn no_table_is_cut_off_at_a_desk_or_on_paper() {
    let browser = browser_or_skip!("no_table_is_cut_off_at_a_desk_or_on_paper");
    let page = given::page(&fixture::with(3, 7_600.0));
    assert_eq!(evaluate(&browser, &page, 1300, CUT), "");
    let four = given::page(&given::variants(4));
    assert_eq!(evaluate(&browser, &four, 1300, CUT), "");
    // Of many variants, a line each.
    let many = given::page(&given::variants(14));
    assert_eq!(evaluate(&browser, &many, 1300, CUT), "");
    // A4 less the margins of a printer, by the rules for paper.
    for page in [page, four, many] {
        let paper = page.replace("@media print{", "@media all{");
        let print =
            format!("(dispatchEvent(new Event('beforeprint')), {CUT}.concat({WIDER}, {SHORT}))");
        assert_eq!(evaluate(&browser, &paper, 717, &print), "");
    }
}

#[test]
fn long_names_of_a_legend_do_not_overlap() {
    let browser = browser_or_skip!("long_names_of_a_legend_do_not_overlap");
    let page =
        given::page(&given::named(&given::variants(4), "a name of thirty-four characters: "));
    let overlap = "[...document.querySelectorAll('figure.chart')].flatMap(f => { \
        const names = [...f.querySelectorAll('.legend li')].map(e => e.getBoundingClientRect()); \
        if (!names.length) return ['no legend']; \
        return names.flatMap((a, i) => names.slice(i + 1).filter(b => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)); })";
    for width in [420, 1300] {
        assert_eq!(evaluate(&browser, &page, width, overlap), "", "{width} px");
    }
}

#[test]
fn a_single_interval_is_drawn_as_a_mark() {
    let browser = browser_or_skip!("a_single_interval_is_drawn_as_a_mark");
    let mut set = fixture::with(1, 7_600.0);
    let vdo = set.cells.iter_mut().find(|cell| cell.entry.variant == "vdo").unwrap();
    let mut met = false;
    vdo.rows.retain(|row| match row {
        Row::Interval(row) if row.operation == "randwrite" => !std::mem::replace(&mut met, true),
        _ => true,
    });
    let page = given::page(&set);
    let figure = page.split_once("Throughput of randwrite</figcaption>").unwrap().1;
    let drawing = figure.split_once("</svg>").unwrap().0;
    assert_eq!(drawing.matches("class=\"dots\"").count(), 1, "{drawing}");
    // The dot is as wide as it is high, however far the drawing is stretched.
    let shape = "getComputedStyle(document.querySelector('.plot[data-chart*=throughput] path.dots')).vectorEffect";
    assert_eq!(evaluate(&browser, &page, 1300, shape), "non-scaling-stroke");
}

#[test]
fn a_link_opens_what_is_folded_and_so_does_paper() {
    let browser = browser_or_skip!("a_link_opens_what_is_folded_and_so_does_paper");
    let page = given::page(&fixture::result());
    let (dom, _) = opened(&browser, &page, "#r0-cells");
    assert!(dom.contains("<details class=\"part\" id=\"r0-cells\" open=\"\">"));
    assert!(dom.contains("<details class=\"part\" id=\"r0-run\">"));
    let closed = "document.querySelectorAll('details.part:not([open])').length";
    let print = format!(
        "[{closed}, (dispatchEvent(new Event('beforeprint')), {closed}), (dispatchEvent(new Event('afterprint')), {closed})]"
    );
    assert_eq!(evaluate(&browser, &page, 1300, &print), "11,0,11");
}

#[test]
fn a_click_on_a_name_hides_its_lines() {
    let browser = browser_or_skip!("a_click_on_a_name_hides_its_lines");
    let page = given::page(&fixture::result());
    let click = "(() => { const f = document.querySelector('figure.chart'); \
        const lines = () => [...f.querySelectorAll('path.line')].filter(e => getComputedStyle(e.parentElement).display !== 'none').length; \
        const before = lines(); f.querySelector('.legend li').click(); const hidden = lines(); f.querySelector('.legend li').click(); \
        return [before, hidden, lines()]; })()";
    assert_eq!(evaluate(&browser, &page, 1300, click), "12,6,12");
}

/// Things that a hand does to the first chart over time.
const HAND: &str = "const p = document.querySelector('.plot[data-cut]'), room = p.querySelector('.room'), r = room.getBoundingClientRect(); \
    const move = (type, share) => room.dispatchEvent(new PointerEvent(type, { clientX: r.left + share * r.width, pointerType: 'mouse', button: 0, bubbles: true })); \
    const values = () => [...p.closest('figure').querySelectorAll('.legend b')].map(e => e.textContent); \
    const xs = () => [...p.querySelectorAll('.xs span')].map(e => e.textContent); const view = () => p.querySelector('svg').getAttribute('viewBox');";

#[test]
fn a_cursor_reads_all_charts_over_one_axis_and_a_part_can_be_stretched_and_let_go() {
    let browser = browser_or_skip!(
        "a_cursor_reads_all_charts_over_one_axis_and_a_part_can_be_stretched_and_let_go"
    );
    let page = given::page(&fixture::result());
    let read = format!(
        "(() => {{ {HAND} move('pointermove', .5); const cursors = document.querySelectorAll('.cursor').length; \
         const read = values(); move('pointerleave', .5); \
         return [cursors > 1, read.length, read.every(v => / (MiB|KiB|GiB)\\/s$|^–$/.test(v)) && read.some(v => v !== '–'), document.querySelectorAll('.cursor').length]; }})()"
    );
    assert_eq!(evaluate(&browser, &page, 1300, &read), "true,2,true,0");
    let part = format!(
        "(() => {{ {HAND} const before = [view(), xs()].join(); move('pointerdown', .25); move('pointermove', .5); move('pointerup', .5); \
         const cut = view(), ticks = xs().length; room.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'Escape', bubbles: true }})); \
         return [cut, ticks > 2, [view(), xs()].join() === before]; }})()"
    );
    assert_eq!(evaluate(&browser, &page, 1300, &part), "500 0 500 1000,true,true");
}

#[test]
fn pictures_of_every_kind_are_drawn() {
    let mut set = fixture::with(3, 7_600.0);
    set.manifest.plan.pictures = given::pictures();
    check("pictures_of_every_kind_are_drawn", &[set]);
}
