//! The tables of effects: that of each factor, and the interaction of each two.

use analysis::FactorEffect;
use maud::{Markup, html};
use stats::Verdict;

use super::inline::{chip, range};
use crate::view::{EffectRow, View, effect_name};
use crate::wording;

/// All effects; nothing where no factors were crossed.
pub fn effects(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! { @if !view.effects.is_empty() {
        h2 id=(id("effects")) { "What each factor does" }
        p.reading { "A single factor: the ratio of the figure at one level to that at another, averaged over all levels of the other factors. Two \
                     factors: by what factor the effect of the first changes when the second changes; 1×, or the verdict " b { "same" }
                     ", means that they do not depend on each other. Below each ratio is its 95 % interval. A verdict rests on the p-value \
                     corrected for all effects on all figures that are asked about." }
        @for row in &view.effects { (table(row)) }
    } }
}

fn table(row: &EffectRow) -> Markup {
    let (alone, together): (Vec<_>, Vec<_>) =
        row.found.effects.iter().partition(|effect| effect.with.is_none());
    // If there are many, only the sure ones are shown at once.
    let sure = |effect: &&&FactorEffect| effect.verdict != Verdict::Unclear;
    let few = together.len() <= MAX_UNFOLDED_PAIRS;
    // With one run of each variant there are no p-values, and so no column for them.
    let tested = row.found.effects.iter().any(|effect| effect.p_adjusted.is_some());
    let line = |effect| line(effect, tested);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Effects on " (row.label) } { table {
            thead { tr { th scope="col" { (row.label) } th scope="col" { "Ratio" } th.text scope="col" { "Verdict" } @if tested { th scope="col" { "p, adjusted" } } } }
            tbody {
                @for effect in &alone { (line(effect)) }
                @if !together.is_empty() { tr.group { th.name colspan="4" scope="rowgroup" { "Two together" } } }
                @for effect in together.iter().filter(|effect| few || sure(effect)) { (line(effect)) }
            }
        } }
        @if !few { details { summary { "All " (together.len()) " pairs of changes" }
            div.scroll tabindex="0" role="region" aria-label={ "Pairs of changes of " (row.label) } { table { tbody { @for effect in &together { (line(effect)) } } } } } }
        p.soft { (row.basis()) }
    }
}

/// If there are more pairs of changes than this, all but the sure ones are folded.
const MAX_UNFOLDED_PAIRS: usize = 8;

fn line(effect: &FactorEffect, tested: bool) -> Markup {
    let adjusted = effect.p_adjusted.map_or_else(String::new, |p| wording::p_value(Some(p)));
    let interval = format!(
        "[{}, {}]",
        units::show::significant(effect.low, 3),
        units::show::significant(effect.high, 3)
    );
    html! { tr {
        th scope="row" { (effect_name(effect)) }
        td { (wording::ratio(effect.ratio)) (range(&interval)) }
        td.text { (chip(Some(effect.verdict.word()))) }
        @if tested { td { (adjusted) } }
    } }
}
