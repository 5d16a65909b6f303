//! The stack of each variant as layers on top of each other, side by side.

use maud::{Markup, html};
use results::model::LayerFacts;

use super::inline::dot;
use crate::view::{Variant, View};

const WIDTH: f64 = 420.0;
const HEAD: f64 = 34.0;
const LINE: f64 = 18.0;
const GAP: f64 = 16.0;
/// Characters that fit a line of the box: of its title, and of a setting's name and value together.
const TITLE: usize = 44;
const SETTING: usize = 58;

/// All variants' stacks.
pub fn stacks(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("stacks")) { "Stacks and stages" }
        p.reading { "The load enters at the top; each layer hands on to the one below. Settings that the experiment leaves alone are shown \
                     with their defaults." }
        div.stacks { @for (index, variant) in view.variants.iter().enumerate() {
            figure {
                figcaption { (dot(index)) (variant.name) }
                (drawing(index, variant))
                @if !variant.stages.is_empty() { ol.soft.steps { @for stage in &variant.stages { li { (stage) } } } }
            }
        } }
    }
}

fn height(layer: &LayerFacts) -> f64 {
    let lines = layer.settings.len() as f64;
    if lines == 0.0 { HEAD } else { HEAD + lines * LINE + 8.0 }
}

fn drawing(index: usize, variant: &Variant) -> Markup {
    let load = 30.0;
    let total: f64 = load + variant.stack.iter().map(|l| height(l) + GAP).sum::<f64>() + 2.0;
    let mut y = load;
    let places: Vec<_> = variant
        .stack
        .iter()
        .rev()
        .map(|layer| {
            let at = y + GAP;
            y = at + height(layer);
            (at, layer)
        })
        .collect();
    let names: Vec<_> = variant.stack.iter().rev().map(|l| l.name.as_str()).collect();
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (total) } role="img" aria-label={ "load on " (names.join(" on ")) } {
            rect x="120" y="1" width="180" height=(load - 2.0) rx="14" style={ "fill:var(--v" (index % 8) ")" } {}
            text x=(WIDTH / 2.0) y="20" font-size="13" text-anchor="middle" style="fill:var(--bg);font-weight:600" { "load" }
            @for (at, layer) in &places { (block(*at, layer, index)) }
        }
    }
}

fn block(y: f64, layer: &LayerFacts, index: usize) -> Markup {
    let device = layer.layer == "device";
    let arrow = format!(
        "M{x} {top}V{end}m-4 -5l4 5l4 -5",
        x = WIDTH / 2.0,
        top = y - GAP + 1.0,
        end = y - 2.0
    );
    let edge = if device { "var(--faint)".to_owned() } else { format!("var(--v{})", index % 8) };
    html! {
        path d=(arrow) fill="none" stroke-width="1.5" style="stroke:var(--faint)" {}
        rect x="1" y=(y) width=(WIDTH - 2.0) height=(height(layer)) rx="8" stroke-width="1.5"
            stroke-dasharray=[device.then_some("5 4")] style={ "fill:var(--card);stroke:" (edge) } {}
        text x="14" y=(y + 22.0) font-size="14.5" style="fill:var(--ink);font-weight:650" { (begun(&layer.name, TITLE)) title { (layer.name) } }
        @if layer.name != layer.layer {
            text x=(WIDTH - 14.0) y=(y + 22.0) font-size="12.5" text-anchor="end" style="fill:var(--soft)" { (layer.layer) }
        }
        @for (line, (name, value)) in layer.settings.iter().enumerate() {
            @let at = y + HEAD + LINE * line as f64 + 10.0;
            text x="14" y=(at) font-size="12.5" style="fill:var(--soft)" { (begun(name, SETTING / 2)) title { (name) } }
            text x=(WIDTH - 14.0) y=(at) font-size="12.5" text-anchor="end" style="fill:var(--ink)" { (short(value, SETTING.saturating_sub(name.chars().count()).max(SETTING / 2))) title { (value) } }
        }
    }
}

/// The beginning of a name that does not fit.
fn begun(name: &str, fits: usize) -> String {
    if name.chars().count() <= fits {
        return name.to_owned();
    }
    name.chars().take(fits - 1).chain(['…']).collect()
}

/// The end of a value that does not fit.
fn short(value: &str, fits: usize) -> String {
    if value.chars().count() <= fits {
        return value.to_owned();
    }
    let tail: String =
        value.chars().rev().take(fits - 1).collect::<Vec<_>>().into_iter().rev().collect();
    format!("…{tail}")
}
