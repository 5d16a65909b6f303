//! The stack of each variant as layers on top of each other, side by side.

use maud::{Markup, html};
use results::model::LayerFacts;

use super::folds::folded;
use super::inline::{colour, dot};
use crate::view::{Alike, View, alike};
use crate::wording::NONE;

const WIDTH: f64 = 420.0;
/// Height of the load's box.
const LOAD: f64 = 30.0;
const HEAD: f64 = 34.0;
const LINE: f64 = 18.0;
const GAP: f64 = 16.0;
/// Number of characters that fit in a line of the box: for its title, and for a setting's name and value together.
const TITLE: usize = 44;
const SETTING: usize = 58;

/// Returns the stacks of all variants.
pub fn stacks(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let groups = alike(&view.variants);
    let body = html! {
        p.reading { "The load enters at the top; each layer hands on to the one below. Settings that the experiment leaves alone are shown \
                     with their defaults." }
        div.stacks { @for group in &groups {
            figure {
                figcaption { @if group.variants.len() > MAX_NAMED_VARIANTS && !group.differences.is_empty() { (group.variants.len()) " variants" } @else {
                    @for index in &group.variants { span.whose { (dot(*index)) (name(view, *index)) " " } } } }
                (drawing(group))
                @if !group.stages.is_empty() { ol.soft.steps { @for stage in &group.stages { li { (stage) } } } }
            }
        } }
        @for group in &groups { @if !group.differences.is_empty() { (differences(view, group)) } }
    };
    folded(&id("stacks"), "Stacks and stages", &body)
}

/// Most variants of one drawing that are named above it; more are named only in the table of differences, if there is one.
const MAX_NAMED_VARIANTS: usize = 6;

fn name(view: &View, index: usize) -> &str {
    view.variants.get(index).map_or(NONE, |variant| variant.name.as_str())
}

/// Returns a table with a row for each variant that shares a drawing, and a column for each thing in which they differ.
fn differences(view: &View, group: &Alike) -> Markup {
    html! {
        div.scroll.close tabindex="0" role="region" aria-label="In what variants with one stack differ" { table {
            caption { "In what they differ" }
            thead { tr { th scope="col" { "Variant" } @for (what, _) in &group.differences { th.text scope="col" { (what) } } } }
            tbody { @for (place, index) in group.variants.iter().enumerate() { tr {
                th.name scope="row" { (dot(*index)) (name(view, *index)) }
                @for (_, values) in &group.differences { td.text { (values.get(place).map_or(NONE, String::as_str)) } }
            } } }
        } }
    }
}

fn height(layer: &LayerFacts) -> f64 {
    let lines = layer.settings.len() as f64;
    if lines == 0.0 { HEAD } else { HEAD + lines * LINE + 8.0 }
}

/// A layer or device with its place in the drawing.
struct Placed<'a> {
    layer: &'a LayerFacts,
    x: f64,
    y: f64,
    width: f64,
    /// The input of the layer above that it is, where that layer has several.
    input: Option<&'a str>,
}

/// Returns the boxes of a stack: the layers directly below one share its width. If the result does not record which layer stands on which, there is
/// one column.
fn placed(stack: &[LayerFacts]) -> Vec<Placed<'_>> {
    let chain = stack.iter().all(|layer| layer.on.is_empty());
    let mut boxes = Vec::new();
    if chain {
        let mut y = LOAD;
        for layer in stack.iter().rev() {
            boxes.push(Placed { layer, x: 0.0, y: y + GAP, width: WIDTH, input: None });
            y += GAP + height(layer);
        }
        return boxes;
    }
    let below: Vec<&String> = stack.iter().flat_map(|layer| layer.on.values()).collect();
    // The layer that the load works on was set up last.
    let tops: Vec<_> = stack.iter().rev().filter(|layer| !below.contains(&&layer.name)).collect();
    let width = WIDTH / tops.len().max(1) as f64;
    for (place, layer) in tops.into_iter().enumerate() {
        tree(
            stack,
            Placed { layer, x: width * place as f64, y: LOAD + GAP, width, input: None },
            &mut boxes,
        );
    }
    boxes
}

/// Adds the topmost layer, and below it the layers it stands on.
fn tree<'a>(stack: &'a [LayerFacts], top: Placed<'a>, boxes: &mut Vec<Placed<'a>>) {
    let inputs: Vec<_> = top
        .layer
        .on
        .iter()
        .filter_map(|(input, name)| Some((input, stack.iter().find(|layer| layer.name == *name)?)))
        .collect();
    let (x, y) = (top.x, top.y + height(top.layer) + GAP);
    let width = top.width / inputs.len().max(1) as f64;
    // Each layer has one box: more can only come from a damaged result with a cycle.
    if boxes.len() >= stack.len() {
        return;
    }
    boxes.push(top);
    for (place, (input, layer)) in inputs.iter().enumerate() {
        let input = (inputs.len() > 1).then_some(input.as_str());
        tree(stack, Placed { layer, x: x + width * place as f64, y, width, input }, boxes);
    }
}

fn drawing(group: &Alike) -> Markup {
    // A drawing shared by several variants has the colour of none.
    let edge = match &group.variants[..] {
        [one] => colour(*one),
        _ => "var(--soft)".to_owned(),
    };
    let boxes = placed(&group.stack);
    let total = boxes.iter().map(|b| b.y + height(b.layer)).fold(LOAD, f64::max) + 2.0;
    let names: Vec<_> = boxes.iter().map(|b| b.layer.name.as_str()).collect();
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (total) } role="img" aria-label={ "load on " (names.join(" on ")) } {
            rect x="120" y="1" width="180" height=(LOAD - 2.0) rx="14" style={ "fill:" (edge) } {}
            text x=(WIDTH / 2.0) y="20" font-size="13" text-anchor="middle" style="fill:var(--bg);font-weight:600" { "load" }
            @for one in &boxes { (block(one, &edge)) }
        }
    }
}

fn block(one: &Placed, edge: &str) -> Markup {
    let Placed { layer, x, y, width, input } = one;
    let device = layer.layer == "device";
    let arrow = format!(
        "M{x} {top}V{end}m-4 -5l4 5l4 -5",
        x = x + width / 2.0,
        top = y - GAP + 1.0,
        end = y - 2.0
    );
    let edge = if device { "var(--faint)" } else { edge };
    // Boxes side by side stay apart.
    let inner = if *width < WIDTH { width - 6.0 } else { width - 2.0 };
    let fits = |letters: usize| (letters as f64 * width / WIDTH) as usize;
    let (left, right) = (x + 14.0, x + inner - 12.0);
    let kind = match input {
        Some(input) => Some(format!("as {input}")),
        None => (layer.name != layer.layer).then(|| layer.layer.clone()),
    };
    let title = fits(TITLE).saturating_sub(kind.as_ref().map_or(0, |kind| kind.chars().count()));
    html! {
        path d=(arrow) fill="none" stroke-width="1.5" style="stroke:var(--faint)" {}
        rect x=(x + 1.0) y=(y) width=(inner) height=(height(layer)) rx="8" stroke-width="1.5"
            stroke-dasharray=[device.then_some("5 4")] style={ "fill:var(--card);stroke:" (edge) } {}
        text x=(left) y=(y + 22.0) font-size="14.5" style="fill:var(--ink);font-weight:650" { (begun(&layer.name, title)) title { (layer.name) } }
        @if let Some(kind) = &kind {
            text x=(right) y=(y + 22.0) font-size="12.5" text-anchor="end" style="fill:var(--soft)" { (kind) }
        }
        @for (line, (name, value)) in layer.settings.iter().enumerate() {
            @let at = y + HEAD + LINE * line as f64 + 10.0;
            @let most = fits(SETTING);
            @let value = if value.is_empty() { "none" } else { value };
            text x=(left) y=(at) font-size="12.5" style="fill:var(--soft)" { (begun(name, most / 2)) title { (name) } }
            text x=(right) y=(at) font-size="12.5" text-anchor="end" style="fill:var(--ink)" { (value_end(value, most.saturating_sub(name.chars().count()).max(most / 2))) title { (value) } }
        }
    }
}

/// Returns the beginning of a name that does not fit.
fn begun(name: &str, fits: usize) -> String {
    if name.chars().count() <= fits {
        return name.to_owned();
    }
    name.chars().take(fits.saturating_sub(1)).chain(['…']).collect()
}

/// Returns the end of a value that does not fit.
fn value_end(value: &str, fits: usize) -> String {
    if value.chars().count() <= fits {
        return value.to_owned();
    }
    let tail: String = value
        .chars()
        .rev()
        .take(fits.saturating_sub(1))
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn layer(name: &str, on: &[(&str, &str)]) -> LayerFacts {
        let texts = |(input, below): &(&str, &str)| ((*input).to_owned(), (*below).to_owned());
        LayerFacts {
            layer: name.to_owned(),
            name: name.to_owned(),
            settings: BTreeMap::new(),
            on: on.iter().map(texts).collect(),
            computed: Vec::new(),
        }
    }

    #[test]
    fn two_inputs_stand_side_by_side_below_their_layer() {
        let stack = [
            layer("slow", &[]),
            layer("fast", &[]),
            layer("cache", &[("cache", "fast"), ("origin", "slow")]),
            layer("vdo", &[("data", "cache")]),
        ];
        let boxes = placed(&stack);
        let of = |name: &str| boxes.iter().find(|b| b.layer.name == name).unwrap();
        let (vdo, cache, fast, slow) = (of("vdo"), of("cache"), of("fast"), of("slow"));
        assert!(vdo.y < cache.y && cache.y < fast.y && fast.y == slow.y);
        assert_eq!((vdo.width, fast.width, slow.width), (WIDTH, WIDTH / 2.0, WIDTH / 2.0));
        assert_eq!((fast.x, slow.x), (0.0, WIDTH / 2.0));
        assert_eq!((cache.input, slow.input), (None, Some("origin")));
    }

    #[test]
    fn a_stack_of_which_only_the_order_is_known_is_one_column() {
        let stack = [layer("data", &[]), layer("vdo", &[])];
        let names: Vec<_> = placed(&stack).iter().map(|b| b.layer.name.clone()).collect();
        assert_eq!(names, ["vdo", "data"]);
    }
}
