//! The tables of `docs/method.md`, made from simulations: each between marks, as it stands there.

use crate::acceptance::{Acceptance, Bound};
use crate::verdicts::Condition;
use stats::simulation::{Repeats, Sample, Shares, Simulated};
use units::{Test, show::significant};

use cli::terminal::Text;

/// A condition with the measured shares.
pub type Measured = (Condition, Shares);

/// Returns the bound on a figure, in words.
pub fn bound(one: &Acceptance) -> String {
    match one.wanted {
        Bound::Most(bound) => format!("at most {}", percent(bound)),
        Bound::Least(bound) => format!("at least {}", percent(bound)),
    }
}

pub fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 3))
}

/// Returns all the tables.
pub fn of_method(
    measured: &[Measured],
    others: &[Acceptance],
    power: &[(Simulated, Shares)],
    coverage: &[(usize, [f64; Sample::ALL.len()])],
) -> Text {
    let mut text = Text::default();
    marked_lines(&mut text, "within", &acceptance_rows(others));
    marked_lines(&mut text, "coverage", &covered(coverage));
    marked_lines(&mut text, "border", &border(measured));
    marked_lines(&mut text, "looks", &looks(measured));
    marked_lines(&mut text, "plain", &plain(measured));
    marked_lines(&mut text, "power", &verdict_rows(power));
    text
}

/// Returns the table of verdicts with `--repeat auto` for true ratios away from the border.
fn plain(measured: &[Measured]) -> Vec<String> {
    let mut lines =
        vec!["| true ratio | verdicts | repeats |".to_owned(), "| ---: | --- | ---: |".to_owned()];
    let auto = |s: &Simulated| s.repeats == Repeats::Auto && !at_border(s);
    for (condition, shares) in measured.iter().filter(|(c, _)| auto(&c.simulated)) {
        let ratio = significant(condition.simulated.ratio, 3);
        lines.push(format!("| {ratio} | {} | {:.1} |", words(shares), shares.repeats));
    }
    lines
}

/// Returns the tables of how often the interval of a median contains the true one.
fn covered(coverage: &[(usize, [f64; Sample::ALL.len()])]) -> Vec<String> {
    let names = Sample::ALL.map(Sample::name).join(" | ");
    let mut lines = vec![
        format!("| runs | {names} |"),
        format!("| ---:{} |", " | ---:".repeat(Sample::ALL.len())),
    ];
    for (runs, shares) in coverage {
        lines.push(format!("| {runs} | {} |", shares.map(tenth).join(" | ")));
    }
    lines
}

fn marked_lines(text: &mut Text, name: &str, lines: &[String]) {
    text.line(format!("<!-- {name}: begin -->"));
    lines.iter().for_each(|line| text.line(line));
    text.line(format!("<!-- {name}: end -->"));
}

fn acceptance_rows(others: &[Acceptance]) -> Vec<String> {
    let head = ["| what | found | wanted | |", "| --- | ---: | ---: | --- |"].map(str::to_owned);
    let row = |one: &Acceptance| {
        let (found, wanted) = (percent(one.found), bound(one));
        format!("| {} | {found} | {wanted} | {} |", one.what, one.met().word())
    };
    head.into_iter().chain(others.iter().map(row)).collect()
}

/// Returns the shares of verdicts with one noise at the border, by test and repeats.
fn shares<'a>(
    measured: &'a [Measured],
    noise: &str,
    (test, repeats): (Test, Repeats),
) -> Option<&'a Shares> {
    let is_same = |(condition, _): &&Measured| {
        let s = condition.simulated;
        condition.noise == noise && s.test == test && s.repeats == repeats && at_border(&s)
    };
    measured.iter().find(is_same).map(|(_, shares)| shares)
}

fn at_border(simulated: &Simulated) -> bool {
    (simulated.ratio - 1.0 - simulated.threshold).abs() < 1e-9
}

fn noises(measured: &[Measured]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for (condition, _) in measured.iter().filter(|(c, _)| at_border(&c.simulated)) {
        if !names.contains(&condition.noise) {
            names.push(condition.noise);
        }
    }
    names
}

fn border(measured: &[Measured]) -> Vec<String> {
    let columns = [Test::Paired, Test::Ranked]
        .into_iter()
        .flat_map(|test| [5, 12].map(|n| (test, Repeats::Fixed(n))));
    let columns: Vec<_> = columns.collect();
    let mut lines = vec![
        "| noise | paired, 5 repeats: better | same | 12: better | same | ranked, 5 repeats: better | same | 12: better | same |".to_owned(),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |".to_owned(),
    ];
    for noise in noises(measured) {
        let cells = columns.iter().filter_map(|of| shares(measured, noise, *of));
        let cells = cells.map(|s| format!("{} | {}", tenth(s.better), tenth(s.same)));
        lines.push(format!("| {noise} | {} |", cells.collect::<Vec<_>>().join(" | ")));
    }
    lines
}

fn looks(measured: &[Measured]) -> Vec<String> {
    let mut lines = vec![
        "| noise | paired: better | same | repeats | ranked: better | same | repeats |".to_owned(),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |".to_owned(),
    ];
    for noise in noises(measured) {
        let tests = [Test::Paired, Test::Ranked];
        let cells = tests.iter().filter_map(|t| shares(measured, noise, (*t, Repeats::Auto)));
        let cells =
            cells.map(|s| format!("{} | {} | {:.1}", tenth(s.better), tenth(s.same), s.repeats));
        lines.push(format!("| {noise} | {} |", cells.collect::<Vec<_>>().join(" | ")));
    }
    lines
}

/// Returns the table of verdicts from five repeats, by spread and true ratio.
fn verdict_rows(power: &[(Simulated, Shares)]) -> Vec<String> {
    let mut spreads: Vec<f64> = power.iter().map(|(s, _)| s.spread).collect();
    spreads.dedup();
    let mut lines = vec![
        "| spread of cells | true difference 0 | 3 % (the border) | 5 % | 10 % | 20 % |".to_owned(),
        "| ---: | --- | --- | --- | --- | --- |".to_owned(),
    ];
    for spread in spreads {
        let of_spread = power.iter().filter(|(s, _)| s.spread.total_cmp(&spread).is_eq());
        let cells: Vec<String> = of_spread.map(|(_, shares)| words(shares)).collect();
        let spread = significant(100.0 * spread, 2);
        lines.push(format!("| {spread} % | {} |", cells.join(" | ")));
    }
    lines
}

/// Lists the verdicts that more than one in a thousand experiments have.
fn words(shares: &Shares) -> String {
    let all = [("same", shares.same), ("better", shares.better), ("worse", shares.worse)];
    let seen = all.into_iter().filter(|(_, share)| *share >= 0.001);
    seen.map(|(word, share)| format!("{word} {}", tenth(share))).collect::<Vec<_>>().join(", ")
}

fn tenth(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
