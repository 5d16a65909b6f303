//! A bisection: its outcome, and the list with every measurement as dots on one scale.

use std::fmt::Write;

use maud::{Markup, html};
use stats::bisect::Decision;
use units::show::significant;

use crate::bisected::{Bisected, BisectedRung, BisectedStep};
use crate::wording::{self, NONE};

/// Width and height of a strip of dots, in its own units.
const WIDTH: f64 = 2000.0;
const HEIGHT: f64 = 100.0;
/// Share of the scale that is left empty at either end.
const MARGIN: f64 = 0.08;
/// A label beyond this share of the scale is put on the left of its line, and one before 1 - `RIGHT` on the right, so that it is not cut off.
const RIGHT: f64 = 0.75;

/// Returns the head of the page, and the list.
pub fn bisected(of: &Bisected) -> Markup {
    let scale = Scale::of(of);
    html! {
        header.top {
            p.kicker { b { "Fathom" } span { (of.experiment) } span { "bisection of " (of.rungs.len()) } span { (of.figure) } }
            h1 { (of.figure) ": " (of.outcome) }
            @if of.simulated { p.banner { b { "Simulated." } " Nothing was measured: no figure on this page is real." } }
            p.reading { "Each dot is one pair: the value of a candidate divided by that of the good end in the same repeat. \
                         The bar is the confidence interval of their mean (98.65 %). If it lies wholly on one side of the border, \
                         which is halfway between the ends, the candidate is good or bad." }
            div.scroll tabindex="0" role="region" aria-label="The list" { table {
                thead { tr { th.text scope="col" { "List" }
                    th.text scope="col" { "Over the good end; the border is dashed" (scale.labels(of.border)) }
                    th scope="col" { "Ratio" } th scope="col" { "Pairs" } th scope="col" { "Measured" } th.text scope="col" { "Results" } } }
                tbody { @for rung in &of.rungs { (line(rung, of.border, &scale)) } }
            } }
            @for note in &of.notes { p.note { (note) } }
            (pairs(of))
        }
    }
}

fn line(rung: &BisectedRung, border: Option<f64>, scale: &Scale) -> Markup {
    let step = rung.measured.as_ref();
    html! { tr {
        th.name scope="row" {
            @if rung.named { b { (rung.name) } } @else { (rung.name) }
        }
        td.text style="min-width:14em;width:45%" {
            @match step { Some(step) => span.chip.(class(step.reading.word)) { (step.word) }, None => span.faint { "not measured" } }
            @if let Some(role) = rung.role { " " @if rung.named { b { (role) } } @else { span.soft { (role) } } }
            (scale.strip(step, border))
        }
        td { @match step.and_then(|step| step.reading.ratio) {
            Some(ratio) => { (significant(ratio, 3)) "×"
                @if let Some((low, high)) = step.and_then(|step| step.reading.interval) {
                    span.range { (significant(low, 3)) " to " (significant(high, 3)) } } },
            None => (NONE),
        } }
        td { @match step { Some(step) => (step.reading.pairs), None => (NONE) } }
        td { @match step { Some(step) => { "as no. " (step.place) }, None => (NONE) } }
        td.text { @if let Some(step) = step { (step.results.join(", ")) } }
    } }
}

/// Returns the style sheet's class for a step's decision.
fn class(word: Decision) -> &'static str {
    match word {
        Decision::Good => "better",
        Decision::Bad => "worse",
        Decision::Alike | Decision::Reversed => "same",
        Decision::Open | Decision::Unclear => "unclear",
    }
}

fn colour(word: Decision) -> &'static str {
    match word {
        Decision::Good => "var(--good)",
        Decision::Bad => "var(--bad)",
        _ => "var(--open)",
    }
}

/// Returns the table of all pairs, folded.
fn pairs(of: &Bisected) -> Markup {
    let steps: Vec<(&str, &BisectedStep)> = of
        .rungs
        .iter()
        .filter_map(|rung| Some((rung.name.as_str(), rung.measured.as_ref()?)))
        .collect();
    let value = |number: f64| wording::value(of.unit, number);
    html! { @if !steps.is_empty() { details { summary { "Every pair in figures" }
        div.scroll tabindex="0" role="region" aria-label="Every pair" { table {
            thead { tr { th.text scope="col" { "List" } th scope="col" { "Pair" } th scope="col" { "Good end" }
                th scope="col" { "Compared with it" } th scope="col" { "Ratio" } } }
            tbody { @for (name, step) in &steps { @for (at, pair) in step.pairs.iter().enumerate() { tr {
                th.name scope="row" { (name) }
                td { (at + 1) }
                @match pair {
                    Some((good, other)) => { td { (value(*good)) } td { (value(*other)) } td { (significant(other / good, 4)) "×" } },
                    None => { td { (NONE) } td { (NONE) } td { (NONE) } },
                }
            } } } }
        } }
    } } }
}

/// The scale of all strips: logarithms of ratios.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Makes a scale that covers all pairs, the border and 1.
    fn of(of: &Bisected) -> Self {
        let steps = of.rungs.iter().filter_map(|rung| rung.measured.as_ref());
        let all = steps.flat_map(BisectedStep::ratios).chain(of.border).map(f64::ln);
        let (low, high) =
            all.fold((0.0_f64, 0.0_f64), |(low, high), at| (low.min(at), high.max(at)));
        let margin = MARGIN * (high - low).max(0.01);
        Self { low: low - margin, high: high + margin }
    }

    /// Returns the place of a ratio as a share of the width, clamped to the ends.
    fn share(&self, ratio: f64) -> f64 {
        ((ratio.ln() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn place(&self, ratio: f64) -> f64 {
        self.share(ratio) * WIDTH
    }

    /// Returns the labels above the two vertical lines.
    fn labels(&self, border: Option<f64>) -> Markup {
        let at = |ratio: f64, left: bool, colour: &str, text: String| {
            let style = format!("--c:{colour};top:0;left:{:.1}%", 100.0 * self.share(ratio));
            html! { span.at.left[left] style=(style) { (text) } }
        };
        // The two labels are put on opposite sides, unless one would be cut off.
        let apart = |ratio: f64, other: f64| match self.share(ratio) {
            far if far > RIGHT => true,
            near if near < 1.0 - RIGHT => false,
            _ => ratio < other,
        };
        html! { div.room style="height:18px;font-weight:400" {
            @if let Some(border) = border { (at(border, apart(border, 1.0), "var(--bad)", format!("{}×", significant(border, 3)))) }
            (at(1.0, apart(1.0, border.unwrap_or(1.0)), "var(--soft)", "1×".to_owned()))
        } }
    }

    /// Draws the dots and the interval of a step, with the two vertical lines.
    fn strip(&self, step: Option<&BisectedStep>, border: Option<f64>) -> Markup {
        let upright = |ratio: f64| format!("M{:.0} 0V{HEIGHT}", self.place(ratio));
        let middle = HEIGHT / 2.0;
        let mut dots = String::new();
        for ratio in step.into_iter().flat_map(BisectedStep::ratios) {
            let _ = write!(dots, "M{:.0} {middle}h0", self.place(ratio));
        }
        let interval = step.and_then(|step| step.reading.interval);
        let interval = interval
            .map(|(low, high)| format!("M{:.0} {middle}H{:.0}", self.place(low), self.place(high)));
        let paint = step.map_or("var(--open)", |step| colour(step.reading.word));
        html! { div.room style="height:26px" aria-hidden="true" {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" {
                path.across d=(upright(1.0)) {}
                @if let Some(border) = border { path.mark style="--c:var(--bad)" d=(upright(border)) {} }
                g style={ "--c:" (paint) } {
                    @if let Some(interval) = interval { path.line d=(interval) {} }
                    @if !dots.is_empty() { path.dots style="stroke-width:7;opacity:.65" d=(dots) {} }
                }
            }
        } }
    }
}
