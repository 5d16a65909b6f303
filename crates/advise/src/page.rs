//! The advice page: hits by cache size with the knee and its price, chunk sizes, and the working set; HTML and SVG without scripts.

use maud::{Markup, PreEscaped, html};
use units::show::{bytes, significant};

use crate::advice::{Advice, CacheAdvice, Point, Verdict};
use crate::analysis::Analysis;
use crate::price::Price;

/// Shows one drawing in wide windows and on paper and another on phones, so that text keeps its size.
const STYLE: &str = "svg.narrow{display:none}@media screen and (max-width:700px){svg.wide{display:none}svg.narrow{display:block}}\
    figure svg text{font-size:12.5px;fill:var(--soft)}figure svg .strong{fill:var(--ink);font-weight:600}";
const WIDE: DrawingSize = DrawingSize { name: "wide", width: 1080.0, height: 300.0 };
const NARROW: DrawingSize = DrawingSize { name: "narrow", width: 380.0, height: 230.0 };
/// Margins at the left (for percent labels), right and top, and the height of a line of text, pixels.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 22.0;
const LINE: f64 = 18.0;
/// Width of a label of the size axis, pixels.
const TICK: f64 = 74.0;

/// Size of a drawing, in pixels.
struct DrawingSize {
    name: &'static str,
    width: f64,
    height: f64,
}

/// Texts of a page.
#[derive(Debug, Clone)]
pub struct PageTexts {
    /// The device, and what was recorded of it.
    pub what: String,
    /// The answer, as a headline.
    pub headline: String,
    /// Facts that are known about VDO, one sentence each.
    pub vdo: Vec<String>,
    /// Questions that the trace cannot answer, one sentence each.
    pub not_known: Vec<String>,
}

/// Returns the body of the page, without the HTML frame that the caller adds.
pub fn page(words: &PageTexts, advice: &Advice, analysis: &Analysis, prices: &[Price]) -> String {
    let markup = html! {
        style { (PreEscaped(STYLE)) }
        header.top style="padding-left:0;padding-right:0" {
            p.kicker { b { "Advice" } span { (words.what) } }
            h1 { (words.headline) }
        }
        @if let Some(cache) = &advice.cache {
            h2 { "What a cache hits, by its size" }
            (curve(cache, prices))
            @if !cache.chunks.is_empty() && cache.verdict != Verdict::DoesNotPay {
                h2 { "The same size in other chunks" }
                (chunks(cache))
            }
        }
        h2 { "VDO" }
        ul { @for line in &words.vdo { li { (line) } } }
        (working_set(analysis))
        h2 { "Not known from this" }
        ul { @for line in &words.not_known { li { (line) } } }
    };
    markup.into_string()
}

fn percent(value: Option<f64>) -> String {
    // No-break spaces, so that a line never ends between a number and its sign.
    value.map_or_else(|| "–".into(), |v| format!("{}\u{a0}%", significant(v, 3)))
}

fn curve(cache: &CacheAdvice, prices: &[Price]) -> Markup {
    let chunk = bytes(cache.chunk_bytes as f64);
    html! {
        figure.chart {
            p.reading { "Hits of a cache that keeps what was used last, in chunks of " (chunk) ", empty at the start. The size doubles in even steps."
                @if !prices.is_empty() { " Below each size: its price." } }
            (drawing(cache, prices, &WIDE))
            (drawing(cache, prices, &NARROW))
            details { summary { "Table" } div.scroll tabindex="0" role="region" aria-label="hits by size" { table {
                thead { tr { th scope="col" { "size" } th scope="col" { "reads" } th scope="col" { "writes" }
                    @for price in prices { th scope="col" { (price.medium) } } } }
                tbody { @for point in &cache.points { tr {
                    th scope="row" { (bytes(point.bytes)) } td { (percent(point.reads_percent)) } td { (percent(point.writes_percent)) }
                    @for price in prices { td { (significant(price.cost(point.bytes), 3)) } }
                } } }
            } } }
        }
    }
}

fn drawing(cache: &CacheAdvice, prices: &[Price], room: &DrawingSize) -> Markup {
    let [first, last] = [cache.points.first(), cache.points.last()];
    let (Some(first), Some(last)) = (first, last) else { return html! {} };
    let (width, ground) = (room.width - LEFT - RIGHT, TOP + room.height);
    let span = (last.bytes / first.bytes).log2().max(1.0);
    let x = |size: f64| LEFT + ((size / first.bytes).log2() / span).clamp(0.0, 1.0) * width;
    let y = |hits: f64| ground - hits / 100.0 * room.height;
    let path = |value: fn(&Point) -> Option<f64>| -> Option<String> {
        let places: Option<Vec<String>> = cache
            .fine
            .iter()
            .map(|point| value(point).map(|hits| format!("{:.1} {:.1}", x(point.bytes), y(hits))))
            .collect();
        Some(format!("M{}", places?.join("L")))
    };
    let lines = [
        ("reads", "var(--v0)", "none", path(|point| point.reads_percent)),
        ("writes", "var(--v1)", "6 4", path(|point| point.writes_percent)),
    ];
    let every = (cache.points.len() as f64 * TICK / width).ceil().max(1.0) as usize;
    let height = ground + LINE * (prices.len() + 1) as f64 + 6.0;
    let drawn: Vec<_> = lines
        .into_iter()
        .filter_map(|(name, ink, dash, path)| Some((name, ink, dash, path?)))
        .collect();
    html! {
        svg class=(room.name) viewBox={ "0 0 " (room.width) " " (height) } width="100%" role="img" aria-label="hits by the size of the cache" {
            @for share in [0.0, 25.0, 50.0, 75.0, 100.0] {
                line x1=(LEFT) x2=(LEFT + width) y1=(y(share)) y2=(y(share)) style="stroke:var(--line)" {}
                text x=(LEFT - 6.0) y=(y(share) + 4.0) text-anchor="end" { (share) " %" }
            }
            @for (at, (name, ink, dash, path)) in drawn.iter().enumerate() {
                path d=(path) style={ "fill:none;stroke-width:2.2;stroke:" (ink) ";stroke-dasharray:" (dash) } {}
                line x1=(LEFT + 90.0 * at as f64) x2=(LEFT + 22.0 + 90.0 * at as f64) y1="9" y2="9" style={ "stroke-width:2.2;stroke:" (ink) ";stroke-dasharray:" (dash) } {}
                text x=(LEFT + 28.0 + 90.0 * at as f64) y="13" { (name) }
            }
            @if cache.verdict != Verdict::DoesNotPay { (knee(cache, prices, (x(cache.stops_paying_bytes), y(cache.hits_there_percent), ground))) }
            @for point in cache.points.iter().step_by(every) {
                (tick(point.bytes, prices, (x(point.bytes), ground), LEFT + width))
            }
        }
    }
}

/// Draws the mark at the size above which a larger cache does not pay.
fn knee(cache: &CacheAdvice, prices: &[Price], (x, y, ground): (f64, f64, f64)) -> Markup {
    let costs = prices.first().map(|price| {
        format!(", {} {}", price.medium, significant(price.cost(cache.stops_paying_bytes), 3))
    });
    let label = format!(
        "{}: {}{}",
        bytes(cache.stops_paying_bytes),
        percent(Some(cache.hits_there_percent)),
        costs.unwrap_or_default()
    );
    // Left of the mark, below the rising curve; right of it if there is no room.
    let (anchor, at) = if x > LEFT + 170.0 { ("end", x - 8.0) } else { ("start", x + 8.0) };
    html! {
        line x1=(x) x2=(x) y1=(TOP) y2=(ground) style="stroke:var(--ink);stroke-dasharray:2 3" {}
        circle cx=(x) cy=(y) r="4.5" style="fill:var(--ink)" {}
        text.strong x=(at) y=(ground - 10.0) text-anchor=(anchor) { (label) }
    }
}

fn tick(size: f64, prices: &[Price], (x, ground): (f64, f64), end: f64) -> Markup {
    let anchor = match x {
        x if x <= LEFT + 1.0 => "start",
        x if x >= end - 24.0 => "end",
        _ => "middle",
    };
    html! {
        text x=(x) y=(ground + LINE) text-anchor=(anchor) { (bytes(size)) }
        @for (at, price) in prices.iter().enumerate() {
            text x=(x) y=(ground + LINE * (at + 2) as f64) text-anchor=(anchor) { (significant(price.cost(size), 2)) }
            @if x <= LEFT + 1.0 { text x="0" y=(ground + LINE * (at + 2) as f64) { (price.medium.chars().take(6).collect::<String>()) } }
        }
    }
}

fn chunks(cache: &CacheAdvice) -> Markup {
    html! {
        p.reading { "A cache of " (bytes(cache.stops_paying_bytes)) ". A miss copies its chunk in, unless a write covers all of it. Chunks of "
            (bytes(cache.best_chunk_bytes as f64)) " copy least among the sizes with as many hits." }
        div.scroll tabindex="0" role="region" aria-label="chunks" { table {
            thead { tr { th scope="col" { "chunk" } th scope="col" { (cache.decided_by) " hit" } th scope="col" { "copied in" } } }
            tbody { @for one in &cache.chunks { tr {
                th scope="row" { (bytes(one.chunk_bytes as f64)) } td { (percent(Some(one.percent))) } td { (bytes(one.copied_bytes)) }
            } } }
        } }
    }
}

/// Draws a bar for each window: the bytes touched, and the part touched for the first time.
fn working_set(analysis: &Analysis) -> Markup {
    let (window_ns, windows) = analysis.working_set();
    let most = windows.iter().map(|(all, _)| *all).fold(0.0, f64::max);
    if windows.len() < 2 || most <= 0.0 {
        return html! {};
    }
    let each = units::show::nanos(window_ns as f64);
    let draw = |room: &DrawingSize| {
        let (step, high) = (room.width / windows.len() as f64, room.height / 2.0);
        let bar = |at: usize, value: f64, ink: &str| {
            let height = value / most * high;
            html! { rect x=(format!("{:.1}", at as f64 * step)) width=(format!("{:.1}", step * 0.86)) y=(format!("{:.1}", high - height))
            height=(format!("{height:.1}")) style={ "fill:" (ink) } {} }
        };
        html! { svg class=(room.name) viewBox={ "0 0 " (room.width) " " (high) } width="100%" role="img" aria-label="working set" {
            @for (at, (all, new)) in windows.iter().enumerate() {
                g { title { (bytes(*all)) " touched, " (bytes(*new)) " for the first time" } (bar(at, *all, "var(--v5)")) (bar(at, *new, "var(--v0)")) }
            }
        } }
    };
    html! {
        h2 { "What was touched over time" }
        figure.chart {
            p.reading { "Each bar: what was touched in " (each) ", at most " (bytes(most)) "; the dark part for the first time." }
            (draw(&WIDE)) (draw(&NARROW))
        }
    }
}
