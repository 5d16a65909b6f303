//! The tables of effects: what each factor does, and what two of them do together.

use analysis::FactorEffect;
use maud::{Markup, html};
use stats::Verdict;

use super::inline::{chip, range};
use crate::view::{EffectRow, View, told};
use crate::wording;

/// All effects; nothing where no factors were crossed.
pub fn effects(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! { @if !view.effects.is_empty() {
        h2 id=(id("effects")) { "What each factor does" }
        p.reading { "A factor alone: the figure at the one level over that at the other, over all levels of everything else. Two factors together: how many \
                     times as much the first does after the second has changed; 1× says that they do not depend on each other, and so does the verdict " b { "same" } ". \
                     Below a ratio its 95 % interval. A verdict rests on the p-value corrected for all effects of all that is asked." }
        @for row in &view.effects { (table(row)) }
    } }
}

fn table(row: &EffectRow) -> Markup {
    let (alone, together): (Vec<_>, Vec<_>) =
        row.found.effects.iter().partition(|effect| effect.with.is_none());
    // Of many the sure ones are worth the room.
    let sure = |effect: &&&FactorEffect| effect.verdict != Verdict::Unclear;
    let few = together.len() <= FEW;
    // Of one run each no p is known: a column of nothing says nothing.
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

/// More pairs of changes than these are folded, but for those that are sure.
const FEW: usize = 8;

fn line(effect: &FactorEffect, tested: bool) -> Markup {
    let adjusted = effect.p_adjusted.map_or_else(String::new, |p| wording::p_value(Some(p)));
    let interval = format!(
        "[{}, {}]",
        units::show::significant(effect.low, 3),
        units::show::significant(effect.high, 3)
    );
    html! { tr {
        th scope="row" { (told(effect)) }
        td { (wording::ratio(effect.ratio)) (range(&interval)) }
        td.text { (chip(Some(effect.verdict.word()))) }
        @if tested { td { (adjusted) } }
    } }
}
