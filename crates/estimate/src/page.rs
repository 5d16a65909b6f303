//! The picture: figures as tiles, three histograms and the directories, as HTML and SVG without a script.

use maud::{Markup, html};
use units::Unit;
use units::show::{bytes, grouped, significant};

use crate::{Answer, Count, Directory};

/// Directories that are drawn.
const SHOWN: usize = 40;
/// Shares below this are not told apart, percent.
const MIN_SHARE_PERCENT: f64 = 0.01;
/// Size of a histogram and of its text, in SVG units, which are some 0.8 to 1.3 px.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 190.0;
const WORDS: f64 = 12.0;
/// Room for the words below the bars.
const BOTTOM: f64 = 24.0;

/// Returns the body of the page, without the HTML frame that the caller adds.
pub fn page(answer: &Answer) -> String {
    let markup = html! {
        header.top style="padding-left:0;padding-right:0" {
            p.kicker { b { "Estimate" } span { (answer.paths.join(", ")) } span { (bytes(answer.bytes as f64)) " read" } }
            h1 { "VDO would save " (percent(answer.vdo.saving_percent)) " of " (if answer.complete { "this data" } else { "what was read of this data" }) }
            @if !answer.complete && answer.sizing.is_none() { div.banner role="note" { b { "Not everything was read. " }
                "All figures cover only what was read." } }
            @if let Some(sizing) = &answer.sizing { div.banner role="note" {
                b { (answer.verdict(sizing)) ". " } (bytes(sizing.overhead_bytes as f64)) " of it are VDO's own, however little is stored; \
                both keep " (Unit::Percent.show(sizing.headroom_percent)) " of their blocks free." } }
            @if answer.sources.unreadable + answer.sources.changed > 0 { div.banner role="note" {
                b { "Not all was read. " } (grouped(answer.sources.unreadable)) " could not be read, "
                (grouped(answer.sources.changed)) " changed while they were read." } }
            @if answer.sources.in_use > 0 { div.banner role="note" {
                b { (grouped(answer.sources.in_use)) " in use while read. " } (answer.sources.in_use_named.iter().map(|one| format!("{}: {}", one.path, one.what)).collect::<Vec<_>>().join(", ")) } }
            @if answer.sources.left_out > 0 { div.banner role="note" {
                b { "Other file systems were left out. " } (answer.sources.left_out_named.iter().map(|one| one.path.as_str()).collect::<Vec<_>>().join(", ")) } }
            @if answer.sources.streams > 0 && answer.blocks.zero > 0 { div.banner role="note" {
                b { "A stream does not tell holes from zeros. " } "Without its zeros VDO would save " (percent(answer.vdo.saving_without_zeros_percent)) "." } }
            @if answer.sources.shared_bytes > 0 { p.soft { (bytes(answer.sources.shared_bytes as f64)) " that files share already (reflinks, snapshots) are counted once." } }
            @if answer.sources.encoded_shared_bytes > 0 { p.soft { (bytes(answer.sources.encoded_shared_bytes as f64)) " are in compressed extents that files share: copies among them count as duplicates, though the file system stores them once." } }
        }
        (tiles(answer))
        h2 { "How far blocks compress" }
        p.soft { "Distinct blocks by their LZ4 size. VDO packs blocks of up to 290 bytes by fourteen, of up to 2030 bytes by two; what is larger \
            is packed only if there are small blocks that fill the rest." }
        (bars(["LZ4 size, bytes", "Blocks"], &answer.spread.lz4_bytes, &|from| from.to_string()))
        h2 { "How far apart duplicates are" }
        p.soft { "Duplicates by the distinct data written since their content was last written. An index forgets what is farther away \
            than its window: " (bytes(answer.vdo.index.window_bytes as f64)) "." }
        (bars(["distinct data since", "Blocks"], &answer.spread.distance_blocks, &|from| bytes(from as f64 * 4096.0)))
        h2 { "How often contents are written" }
        p.soft { "Contents by how often they were written. A physical block takes 254 references." }
        (bars(["times written", "Contents"], &answer.spread.references, &|from| grouped(from)))
        (directories(answer))
        (sizing(answer))
    };
    markup.into_string()
}

fn percent(value: Option<f64>) -> String {
    match value {
        None => "–".into(),
        // No-break spaces, so that a line never ends between a number and its sign.
        Some(v) if v > 0.0 && v < MIN_SHARE_PERCENT => format!("<\u{a0}{MIN_SHARE_PERCENT}\u{a0}%"),
        Some(v) => format!("{}\u{a0}%", significant(v, 3)),
    }
}

fn tile(name: &str, big: &str, more: &str) -> Markup {
    html! { div.tile { h3 { (name) } p.big { (big) } p.sure { (more) } } }
}

fn tiles(answer: &Answer) -> Markup {
    let (vdo, blocks) = (&answer.vdo, &answer.blocks);
    let error = answer.sampled.saving_error_points;
    let share =
        |part: u64| percent((blocks.total > 0).then(|| 100.0 * part as f64 / blocks.total as f64));
    html! { div.tiles.five {
        (tile("VDO saves", &percent(vdo.saving_percent), &format!("± {} points", significant(error, 2))))
        (tile("Duplicates", &share(blocks.duplicate), &format!("{} forgotten by the index", grouped(vdo.index.duplicates_missed))))
        (tile("Zero blocks", &share(blocks.zero), "not stored by any layer that reduces data"))
        (tile("Packing", &percent(vdo.packer.saving_percent), &format!("of stored blocks; LZ4 alone {}", percent(answer.lz4_saving_percent))))
        (tile("128 KiB, LZ4 / zstd", &format!("{} / {}", percent(answer.comparison.lz4.saving_percent), percent(answer.comparison.zstd.saving_percent)),
            &format!("as btrfs or ZFS compress, without deduplication{}{}", other_sure(answer), saving_by_sharing(answer))))
    } }
}

/// The error of the comparison.
fn other_sure(answer: &Answer) -> String {
    let other = &answer.comparison;
    match (other.lz4.error_points, other.zstd.error_points) {
        (Some(0.0), Some(0.0)) => "; all records".to_owned(),
        (Some(lz4), Some(zstd)) => {
            format!("; ± {} / {} points", significant(lz4, 2), significant(zstd, 2))
        }
        _ => String::new(),
    }
}

/// Returns the saving from storing equal records once, as text; empty where records were not counted.
fn saving_by_sharing(answer: &Answer) -> String {
    answer.comparison.dedupe.map_or_else(String::new, |dedupe| {
        let (saved, table) = (percent(dedupe.saving_percent), bytes(dedupe.table_bytes as f64));
        let sure = match dedupe.error_points {
            Some(error) if error > 0.0 => format!(" ± {} points", significant(error, 2)),
            _ => String::new(),
        };
        format!(
            "; equal records stored once: {saved}{sure} of all but zeros (table of ZFS: {table})"
        )
    })
}

/// Bars with their values as titles, and a table behind them.
fn bars([label, what]: [&str; 2], counts: &[Count], name: &dyn Fn(u64) -> String) -> Markup {
    let top = counts.iter().map(|c| c.count).max().unwrap_or(0);
    if top == 0 {
        return html! { p.soft { "There are none." } };
    }
    let step = WIDTH / counts.len() as f64;
    let height = |count: u64| (HEIGHT - BOTTOM) * count as f64 / top as f64;
    let every = counts.len().div_ceil(8);
    html! {
        figure.chart {
            p.reading { (what) " by " (label) "; the highest bar: " (grouped(top)) }
            // Wider than a narrow window, where it scrolls, so that its text stays legible.
            div.scroll tabindex="0" role="region" aria-label=(label) {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } style="display:block;min-width:40rem;padding:12px" role="img" aria-label=(label) {
                @for (at, bar) in counts.iter().enumerate() {
                    rect x=(format!("{:.1}", at as f64 * step + step * 0.08)) width=(format!("{:.1}", step * 0.84))
                        y=(format!("{:.1}", HEIGHT - BOTTOM - height(bar.count))) height=(format!("{:.1}", height(bar.count)))
                        style="fill:var(--v0)" { title { (name(bar.from)) ": " (grouped(bar.count)) } }
                    @if at % every == 0 {
                        text x=(format!("{:.1}", at as f64 * step + step * 0.08)) y=(HEIGHT - WORDS / 2.0) font-size=(WORDS) style="fill:var(--soft)" { (name(bar.from)) }
                    }
                }
            }
            }
            details { summary { "Table" } div.scroll tabindex="0" role="region" aria-label=(label) { table {
                thead { tr { th scope="col" { "from " (label) } th scope="col" { "count" } } }
                tbody { @for bar in counts { tr { th scope="row" { (name(bar.from)) } td { (grouped(bar.count)) } } } }
            } } }
        }
    }
}

/// Blocks that need not be stored as they are: zeros, duplicates, and what LZ4 makes smaller.
fn saved(directory: &Directory) -> f64 {
    let packed = directory.lz4_saving_percent.unwrap_or(0.0) / 100.0 * directory.unique as f64;
    (directory.zero + directory.duplicate) as f64 + packed
}

fn directories(answer: &Answer) -> Markup {
    let mut shown: Vec<_> = answer.directories.iter().collect();
    shown.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
    let top = shown.iter().map(|d| d.total).max().unwrap_or(1).max(1) as f64;
    let part = |blocks: u64| format!("width:{:.2}%", 100.0 * blocks as f64 / top);
    html! {
        h2 { "Where the savings lie" }
        p.soft { "Largest savings first; a directory stands without those below it that have a row of their own. Bars: unique, duplicate, zero blocks." }
        div.scroll tabindex="0" role="region" aria-label="Directories" { table {
            thead { tr { th scope="col" { "Directory" } th.text scope="col" style="width:30%" { "Blocks" } th scope="col" { "Size" }
                th scope="col" { "Duplicate" } th scope="col" { "Zero" } th scope="col" { "LZ4 on unique" } } }
            tbody { @for directory in shown.iter().take(SHOWN) { tr {
                th scope="row" { code { (directory.path) } }
                td.text { div style="display:flex;height:12px" aria-hidden="true" {
                    i style={ "background:var(--v0);" (part(directory.unique)) } {}
                    i style={ "background:var(--v1);" (part(directory.duplicate)) } {}
                    i style={ "background:var(--v5);" (part(directory.zero)) } {}
                } }
                td { (bytes(directory.total as f64 * 4096.0)) }
                td { (percent((directory.total > 0).then(|| 100.0 * directory.duplicate as f64 / directory.total as f64))) }
                td { (percent((directory.total > 0).then(|| 100.0 * directory.zero as f64 / directory.total as f64))) }
                td { (percent(directory.lz4_saving_percent)) }
            } } }
        } }
        @if shown.len() > SHOWN { p.soft { (shown.len() - SHOWN) " more stand in the JSON." } }
    }
}

fn sizing(answer: &Answer) -> Markup {
    let Some(sizing) = &answer.sizing else { return html! {} };
    html! {
        h2 { "A volume for this data" }
        div.scroll tabindex="0" role="region" aria-label="Sizing" { table { tbody {
            tr { th scope="row" { "Physical size to buy" } td { (bytes(sizing.physical_bytes as f64)) } }
            tr { th scope="row" { "Share of its blocks kept free" } td { (percent(Some(sizing.headroom_percent))) } }
            tr { th scope="row" { "Logical size" } td { (bytes(sizing.logical_bytes as f64)) } }
            tr { th scope="row" { "Memory" } td { (bytes(sizing.memory_bytes as f64)) } }
            tr { th scope="row" { "Index" } td { (bytes(sizing.index_memory_bytes as f64)) @if sizing.index_sparse { " sparse" } @else { " dense" } } }
            tr { th scope="row" { "Slabs" } td { (sizing.slabs) " of " (bytes(sizing.slab_bytes as f64)) } }
        } } }
        pre { (sizing.command) }
    }
}
