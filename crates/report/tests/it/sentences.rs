//! The sentences about a result: the page tells the differences, the terminal tells also how sure they are.

use results::ResultSet;
use results::model::{Accelerator, CellState};

use crate::given;

/// Returns the terminal's summary and the page's first sentence.
fn first_sentences(result: &ResultSet) -> (String, String) {
    let view = given::view(result);
    (view.summary, view.verdicts[0].text.clone())
}

fn measured() -> ResultSet {
    let mut result = fixture::result();
    result.manifest.simulated = false;
    result
}

#[test]
fn page_and_terminal_say_the_same_and_the_terminal_says_how_surely() {
    let (terminal, page) = first_sentences(&measured());
    let start = "With “vdo”, randwrite ran at 0.38× the IOPS of “plain”";
    assert!(page.starts_with(&format!("{start}, with 2.6× the p99 latency")), "{page}");
    let sure = format!(
        "{start} [0.371, 0.395] (worse, adjusted p < 0.0001, 5 + 5 runs), with 2.6× the p99 latency ["
    );
    assert!(terminal.starts_with(&sure), "{terminal}");
    for text in [&terminal, &page] {
        assert!(text.ends_with("; 75 % of the space was saved."), "{text}");
    }
}

#[test]
fn the_terminal_begins_with_what_takes_from_the_figures() {
    let mut result = fixture::result();
    result.manifest.accelerator = Accelerator::Tcg;
    result.incomplete = Some("the run was killed".into());
    let (terminal, _) = first_sentences(&result);
    assert!(
        terminal.starts_with(
            "Simulated: no figure here was measured. Incomplete: the run was killed. On an emulated CPU, \
             where ratios count and absolute speed does not: With “vdo”"
        ),
        "{terminal}"
    );
}

#[test]
fn of_few_runs_it_is_told_that_they_decide_nothing() {
    let (terminal, page) = first_sentences(&fixture::with(3, 7_600.0));
    let sure = "(unclear, fewer than 5 repeats decide nothing, 3 + 3 runs)";
    assert!(terminal.contains(sure), "{terminal}");
    // Ranks of three have no interval.
    assert!(terminal.contains(" of “plain” [0.366, 0.406]"), "{terminal}");
    assert!(terminal.contains("2.6× the p99 latency (unclear,"), "{terminal}");
    assert!(!terminal.contains("p ="), "no p where the verdict wants repeats: {terminal}");
    assert!(!terminal.contains("Verdict: unclear"), "it stands at each figure: {terminal}");
    assert!(page.ends_with("Verdict: unclear."), "{page}");
}

#[test]
fn equal_runs_are_the_same_within_the_threshold() {
    let mut result = fixture::result();
    let copies: Vec<_> = result.cells_of("plain").cloned().collect();
    for (cell, copy) in result.cells.iter_mut().filter(|c| c.entry.variant == "vdo").zip(copies) {
        cell.record = copy.record;
    }
    let (terminal, page) = first_sentences(&result);
    assert!(page.contains("the same CPU of the load per I/O (within 3 %)"), "{page}");
    let sure = "1× the CPU of the load per I/O [1, 1] (same within 3 %";
    assert!(terminal.contains(sure), "{terminal}");
}

#[test]
fn a_single_variant_tells_its_own_figures_and_no_cell_tells_nothing() {
    let mut result = measured();
    result.manifest.plan.variants.truncate(1);
    let (terminal, page) = first_sentences(&result);
    assert!(page.starts_with("With plain, randwrite IOPS was 1"), "{page}");
    assert!(!page.contains("runs") && terminal.contains("/s (median of 5 runs)"), "{terminal}");
    for cell in &mut result.cells {
        cell.record.as_mut().unwrap().state = CellState::Failed;
    }
    let none = "No cell ended well, so there are no figures.";
    assert_eq!(first_sentences(&result), (none.to_owned(), none.to_owned()));
}

/// The fixture with seven variants: the base, five that are as slow as `vdo`, and one as fast as the base.
fn crowd(repeats: u32) -> ResultSet {
    let mut result = fixture::with(repeats, 7_600.0);
    result.manifest.simulated = false;
    for (name, like) in [("b", "vdo"), ("c", "vdo"), ("d", "vdo"), ("e", "vdo"), ("f", "plain")] {
        let plan = &mut result.manifest.plan;
        let mut variant = plan.variants.iter().find(|v| v.name == like).unwrap().clone();
        variant.name = name.into();
        plan.variants.push(variant);
        let mut cells: Vec<_> = result.cells_of(like).cloned().collect();
        cells.iter_mut().for_each(|cell| cell.entry.variant = name.into());
        result.cells.extend(cells);
    }
    result
}

#[test]
fn of_many_variants_the_headline_says_what_surely_differs_and_from_few_runs_that_nothing_does() {
    let (terminal, page) = first_sentences(&crowd(5));
    let start = "Over 7 variants, IOPS of randwrite against “plain”: 5 worse, most “";
    assert!(page.starts_with(start), "{page}");
    assert!(page.contains("” (0.382×) and 1 same; space saved since allocation: 75 %."), "{page}");
    assert_eq!(terminal.matches("IOPS of randwrite").count(), 1, "told once: {terminal}");
    assert!(terminal.contains("p99 latency of randwrite against the base:"), "{terminal}");
    let (_, few) = first_sentences(&crowd(3));
    assert!(few.contains("; 3 runs of each decide nothing"), "{few}");
    // Nothing differs: no variant is called the best.
    let mut alike = crowd(5);
    let base: Vec<_> = alike.cells_of("plain").cloned().collect();
    for cell in alike.cells.iter_mut().filter(|cell| cell.entry.variant != "plain") {
        let other = (cell.entry.repeat % 5 + 1) as usize - 1;
        cell.record = base[other].record.clone();
    }
    let (_, page) = first_sentences(&alike);
    let none = page.contains("none surely differs (") || page.contains(": 6 same");
    assert!(none && !page.contains("best"), "{page}");
}

#[test]
fn the_points_of_a_sweep_are_one_clause_and_the_best_and_the_worst_where_nothing_is_asked() {
    let (_, page) = first_sentences(&given::swept());
    let start = "With “vdo”, over 2 points, randwrite in random-write ran at 0.38× the IOPS of “plain”, with 2.6× the p99 latency";
    assert!(page.starts_with(start), "{page}");
    let mut alone = given::swept();
    alone.manifest.plan.variants.truncate(1);
    alone.manifest.plan.questions.clear();
    alone.cells.retain(|cell| cell.entry.variant == "plain");
    let view = given::view(&alone);
    let first = view.verdicts.first().map(|sentence| sentence.text.as_str()).unwrap_or_default();
    assert!(first.starts_with("IOPS of randwrite: most in random-write depth=32 ("), "{first}");
    let points = &report::json::json(&view)["variants"][0]["stages"]["random-write"]["points"];
    assert_eq!(points[1]["at"]["depth"], "1", "{points}");
    assert_eq!(points[1]["stage"], "random-write depth=1");
}

#[test]
fn a_point_of_a_sweep_that_is_asked_about_alone_is_told_by_its_name() {
    let mut result = given::swept();
    for question in &mut result.manifest.plan.questions {
        question.stage = Some("random-write depth=32".into());
    }
    let (_, page) = first_sentences(&result);
    let start = "With “vdo”, randwrite in random-write depth=32 ran at 0.38× the IOPS of “plain”";
    assert!(page.starts_with(start), "{page}");
}

/// The headline of a page, which is short.
fn headline(result: &ResultSet) -> String {
    let view = given::view(result);
    let text = view.headline.clone().unwrap();
    assert!(text.split_whitespace().count() <= report::view::HEADLINE_WORDS, "{text}");
    let page = report::html::page(&[view]);
    let heading = page.split_once("<h1").unwrap().1.split_once("</h1>").unwrap().0;
    assert!(heading.contains(&text.replace(" %", "\u{a0}%")), "{heading}");
    text
}

#[test]
fn a_headline_says_what_the_thing_does_and_what_it_costs_in_few_words() {
    assert_eq!(
        headline(&measured()),
        "vdo saves 75 % of the space and does 0.38 times the random writes of plain; \
         it has 2.6 times the p99 latency."
    );
    // Without a verdict, what is counted comes first and what is open last.
    let open = headline(&fixture::with(3, 7_600.0));
    let undecided =
        "vdo saves 75 % of the space, and whether it differs from plain in random writes is open";
    assert_eq!(open, format!("{undecided}; 3 runs of each decide nothing."));
}

/// Two equal variants, whose runs are far from each other: each run of `vdo` has the record of another repeat of `plain`, and one of them is slow.
fn undecided() -> ResultSet {
    let mut set = measured();
    let ios = |set: &mut ResultSet, variant: &str, factors: [u64; 5]| {
        let variant_cells = set.cells.iter_mut().filter(|cell| cell.entry.variant == variant);
        for cell in variant_cells {
            let factor = factors[cell.entry.repeat as usize - 1];
            let stages = cell.record.iter_mut().flat_map(|record| &mut record.stages);
            for load in stages.filter_map(|stage| stage.load.as_mut()) {
                load.operations
                    .values_mut()
                    .for_each(|operation| operation.ios = operation.ios * factor / 10);
            }
        }
    };
    ios(&mut set, "plain", [10, 1, 10, 1, 10]);
    ios(&mut set, "vdo", [26, 26, 3, 26, 3]);
    set.manifest.plan.questions.retain(|question| question.metric == "iops");
    set
}

#[test]
fn what_is_not_decided_is_no_fact_in_the_headline() {
    let text = headline(&undecided());
    assert!(
        text.contains("vdo saves 75 % of the space and cannot be told apart from plain"),
        "{text}"
    );
    assert!(text.contains("; 5 runs allow 0.") && text.ends_with(" times."), "{text}");
    assert!(!text.contains("times the random writes"), "{text}");
}

#[test]
fn two_runs_have_neither_an_interval_nor_a_p_value_and_say_so() {
    let view = given::view(&fixture::with(2, 7_600.0));
    let comparisons: Vec<_> =
        view.figures.iter().flat_map(|row| row.comparisons.iter().flatten()).collect();
    assert!(comparisons.iter().all(|c| c.low.is_none() && c.high.is_none()), "{comparisons:?}");
    assert!(
        view.summary.contains(
            "(unclear, fewer than 5 repeats decide nothing, 2 runs give no interval, 2 + 2 runs)"
        ),
        "{}",
        view.summary
    );
    let json = report::json::json(&view);
    assert!(json["comparisons"][0]["low"].is_null(), "{}", json["comparisons"][0]);
    let page = report::html::page(&[view]);
    let page = page.replace('\u{a0}', " ");
    assert!(
        page.contains("2 runs give no interval")
            && !page.contains("adjusted p 0")
            && !page.contains("adjusted p &lt;"),
        "{}",
        page.len()
    );
}

#[test]
fn a_ratio_of_pairs_names_the_medians_where_these_say_something_else() {
    let view = given::view(&undecided());
    let row = view.figures.iter().find(|row| row.metric == "iops").unwrap();
    let ratio = row.comparisons[1].as_ref().unwrap().ratio.unwrap();
    let [base, new] = [0, 1].map(|index| row.values[index].unwrap().median);
    assert!((ratio / (new / base)).ln().abs() > 0.03, "{ratio} {}", new / base);
    let terminal = report::terminal::text(&view, 200, false);
    let shown = |ratio: f64| format!("{}×", units::show::significant(ratio, 3));
    let medians = shown(new / base);
    assert!(terminal.contains(&format!("(medians {medians})")), "{terminal}");
    let page = report::html::page(&[view]).replace('\u{a0}', " ");
    let beside = format!("pairs of runs: {}; medians: {medians}", shown(ratio));
    assert!(page.matches(&beside).count() >= 2, "card and table: {beside}");
    let plain = report::terminal::text(&given::view(&measured()), 200, false);
    assert!(
        !plain.lines().filter(|line| line.contains("IOPS")).any(|line| line.contains("medians"))
    );
}

#[test]
fn headlines_of_sweeps_factors_many_variants_and_one_keep_within_their_words() {
    let swept = headline(&given::swept());
    assert!(
        swept.starts_with("From depth 1 to 32, both variants do 3 times the random writes"),
        "{swept}"
    );
    let factors = headline(&fixture::crossed(5));
    assert!(
        factors.starts_with("dedupe from off to on does 0.53 times the random writes"),
        "{factors}"
    );
    let many = headline(&crowd(5));
    assert!(
        many.starts_with("5 of 6 variants are worse than plain in random writes, most "),
        "{many}"
    );
    let open = headline(&crowd(3));
    assert!(open.starts_with("None of 6 variants surely differs from plain"), "{open}");
    let mut alone = measured();
    alone.manifest.plan.variants.truncate(1);
    assert!(headline(&alone).contains(" random writes a second; p99 latency of random writes "));
    let long = given::named(&measured(), "a name that somebody made of very many words, indeed ");
    assert!(headline(&long).contains("“a name that somebody …”"));
}

#[test]
fn a_sweep_is_told_by_the_unit_of_its_figure_and_over_equal_ranges_alone() {
    let alone = |metric: &str| {
        let mut set = given::swept();
        set.manifest.plan.variants.truncate(1);
        set.manifest.plan.questions.retain(|question| question.metric == metric);
        headline(&set)
    };
    assert!(alone("iops").contains("random writes become 3 times as many"), "{}", alone("iops"));
    let latency = alone("latency_p99_ns");
    let open = "no change of p99 latency of random writes can be told; runs of plain overlap";
    assert!(latency.contains(open), "{latency}");
    // One lacks the lowest depth: the sentence does not include it.
    let mut set = given::swept();
    for cell in set.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        cell.record.as_mut().unwrap().stages.pop();
    }
    let text = headline(&set);
    assert!(text.starts_with("From depth 1 to 32, plain does 3 times the random writes"), "{text}");
    assert!(!text.contains("vdo"), "{text}");
}

#[test]
fn a_sweep_whose_ends_overlap_claims_no_direction() {
    // Every second run is three times as fast: both ends have the same range, and medians that differ.
    let overlapping = |cells: &dyn Fn(&str) -> bool| {
        let mut set = given::swept();
        for cell in set.cells.iter_mut().filter(|cell| cells(&cell.entry.variant)) {
            let odd = cell.entry.repeat % 2 == 1;
            let stages = &mut cell.record.as_mut().unwrap().stages;
            let point = if odd { "random-write depth=1" } else { "random-write depth=32" };
            let record = stages.iter_mut().find(|stage| stage.name == point).unwrap();
            record.load.as_mut().unwrap().duration_ns /= 3;
        }
        set
    };
    let set = overlapping(&|_| true);
    let both = headline(&set);
    let none = "From depth 1 to 32, no change of random writes can be told; runs of 2 variants overlap at both ends.";
    assert_eq!(both, none);
    let one = headline(&overlapping(&|variant| variant == "vdo"));
    let start = "From depth 1 to 32, plain does 3 times the random writes; runs of vdo overlap at both ends.";
    assert_eq!(one, start);
    // Nor does the sentence of a single variant.
    let mut alone = set;
    alone.manifest.plan.variants.truncate(1);
    alone.manifest.plan.questions.clear();
    alone.cells.retain(|cell| cell.entry.variant == "plain");
    let view = given::view(&alone);
    let text = &view.verdicts.first().unwrap().text;
    assert!(text.contains("their runs overlap") && !text.contains("most in"), "{text}");
}

#[test]
fn a_percentile_of_few_ios_says_so_on_page_and_terminal_and_asks_for_no_more_runs() {
    let mut set = measured();
    let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    let loads = records.flat_map(|r| &mut r.stages).filter_map(|stage| stage.load.as_mut());
    loads.flat_map(|load| load.operations.values_mut()).for_each(|operation| operation.ios = 999);
    set.manifest.plan.questions.retain(|question| question.metric == "latency_p99_ns");
    let text = headline(&set);
    assert!(text.ends_with("; too few I/Os to tell."), "{text}");
    let view = given::view(&set);
    let reason = "fewer than 10 I/Os of a run lie beyond this percentile";
    assert!(report::terminal::text(&view, 200, false).contains(reason));
    assert!(report::html::page(&[view]).contains(reason));
}
