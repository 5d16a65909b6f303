//! An estimate as people read it.

use estimate::{Answer, Progress, Sizing, Sources, Trouble};
use indicatif::ProgressBar;
use units::show::{bytes, grouped};
use units::{Nanos, Unit};

use super::{bar, live, set_fraction, time_left};
use crate::terminal::{Line, Style, Text, say_line};

/// Progress of an estimate, on standard error.
pub struct EstimateView {
    bar: Option<ProgressBar>,
}

impl EstimateView {
    pub fn new() -> Self {
        Self { bar: live().then(bar) }
    }

    /// Tells whether it is on a live terminal.
    pub fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows the progress; only on a live terminal.
    pub fn progress(&self, progress: &Progress) {
        let Some(bar) = &self.bar else { return };
        let fraction =
            progress.total_bytes.map(|total| progress.bytes as f64 / total.max(1) as f64);
        set_fraction(bar, fraction);
        let pace = progress.bytes as f64 * 1e9 / progress.elapsed_ns.max(1) as f64;
        bar.set_message(format!(
            "{}  {} read at {}/s",
            time_left(progress.remaining_ns, progress.elapsed_ns),
            bytes(progress.bytes as f64),
            bytes(pace)
        ));
    }

    /// Takes the live view off the terminal.
    pub fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| Unit::Percent.show((value * 100.0).round() / 100.0))
}

fn line(name: &str, value: &str, more: &str) -> String {
    format!("{name:<22} {value:>12}   {more}").trim_end().to_owned()
}

/// The line that says whether it pays, in the colour of a good answer where it surely does.
fn verdict(answer: &Answer, sizing: &Sizing) -> Line {
    let (style, words) = (Style::of_stdout(), answer.verdict(sizing));
    if answer.complete && sizing.saves_space() { style.good(&words) } else { style.note(&words) }
}

/// The line that says why there are no figures.
fn nothing(answer: &Answer) -> &'static str {
    if answer.sources.unreadable > 0 {
        return "No block could be read, so there is nothing to say.";
    }
    "No block was read, so there is nothing to say: holes, space that was never written and empty files hold nothing."
}

/// The whole answer, for a terminal.
pub fn summary(answer: &Answer) -> Text {
    let mut text = Text::new();
    if let Some(sizing) = &answer.sizing {
        text.line(verdict(answer, sizing));
        text += "";
    }
    text.append(&blocks(answer));
    let vdo = &answer.vdo;
    let error = answer.sampled.saving_error_points;
    let sure = if error > 0.0 {
        format!(" (± {} points: sampled)", units::show::significant(error, 2))
    } else {
        String::new()
    };
    if answer.blocks.total == 0 {
        text += "";
        text += nothing(answer);
        troubles(&mut text, answer);
        return text;
    }
    let without = percent(vdo.saving_without_zeros_percent);
    text += "";
    text += &line(
        "VDO saves",
        &percent(vdo.saving_percent),
        &format!("of all blocks{sure}; {without} of those that are not zero"),
    );
    text += &line("  data takes", &bytes(vdo.physical_bytes as f64), "");
    text += &line(
        "  packer",
        &percent(vdo.packer.saving_percent),
        &format!(
            "of stored blocks: {} share {} physical blocks",
            grouped(vdo.packer.fragments),
            grouped(vdo.packer.compressed_blocks)
        ),
    );
    text += &line(
        "  LZ4 alone",
        &percent(answer.lz4_saving_percent),
        "of unique blocks, if every byte of it became free",
    );
    text += &line(
        "  index forgot",
        &grouped(vdo.index.duplicates_missed),
        &format!(
            "duplicates, with {} {} (window {})",
            bytes(vdo.index.memory_bytes as f64),
            if vdo.index.sparse { "sparse" } else { "dense" },
            bytes(vdo.index.window_bytes as f64)
        ),
    );
    text +=
        &line("  stored again", &grouped(vdo.references_capped), "at 254 references to a block");
    let other = &answer.comparison;
    text += &line(
        "LZ4 / zstd, 128 KiB",
        &format!("{} / {}", percent(other.lz4.saving_percent), percent(other.zstd.saving_percent)),
        &format!("as btrfs or ZFS compress, without deduplication{}", other_sure(other)),
    );
    if let Some(dedupe) = other.dedupe {
        text += &line("same records, 128 KiB", &percent(dedupe.saving_percent), &same(dedupe));
    }
    if let Some(sizing) = &answer.sizing {
        text += "";
        text.append(&sizing_text(sizing));
    }
    troubles(&mut text, answer);
    text
}

/// The error of the comparison, and the number of records that it rests on.
fn other_sure(other: &estimate::Comparison) -> String {
    let points = |error: f64| units::show::significant(error, 2);
    let (Some(lz4), Some(zstd)) = (other.lz4.error_points, other.zstd.error_points) else {
        return String::new();
    };
    let records = grouped(other.records);
    if lz4 == 0.0 && zstd == 0.0 {
        return format!(" (all {records} records)");
    }
    format!(" (± {} / {} points, from {records} records)", points(lz4), points(zstd))
}

/// Describes how identical records can be shared, and the memory that this takes.
fn same(dedupe: estimate::RecordDedupe) -> String {
    let sure = match dedupe.error_points {
        Some(error) if error > 0.0 => {
            format!(" (± {} points)", units::show::significant(error, 2))
        }
        _ => String::new(),
    };
    format!(
        "of all but zeros{sure}, at least: duperemove at 128 KiB, or ZFS' dedup ({} of memory for its table)",
        bytes(dedupe.table_bytes as f64)
    )
}

/// `1 file`, `2 files`.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

fn blocks(answer: &Answer) -> Text {
    let (blocks, sources) = (&answer.blocks, &answer.sources);
    let share =
        |part: u64| percent((blocks.total > 0).then(|| 100.0 * part as f64 / blocks.total as f64));
    let mut text = Text::from(line(
        "read",
        &bytes(answer.bytes as f64),
        &format!(
            "{}, {}, {} in {}",
            counted(sources.files, "file", "files"),
            counted(sources.directories, "directory", "directories"),
            counted(sources.volumes, "volume or stream", "volumes or streams"),
            Nanos(answer.elapsed_ns)
        ),
    ));
    text += &line("blocks of 4 KiB", &grouped(blocks.total), "");
    text += &line("  zero", &grouped(blocks.zero), &share(blocks.zero));
    text += &line("  duplicate", &grouped(blocks.duplicate), &share(blocks.duplicate));
    text += &line("  unique", &grouped(blocks.unique), &share(blocks.unique));
    if sources.hole_bytes > 0 {
        text += &line("holes, not counted", &bytes(sources.hole_bytes as f64), "");
    }
    if sources.preallocated_bytes > 0 {
        let size = bytes(sources.preallocated_bytes as f64);
        text += &line("preallocated", &size, "never written, not counted");
    }
    if sources.shared_bytes > 0 {
        let size = bytes(sources.shared_bytes as f64);
        text += &line("shared already", &size, "by reflinks or snapshots, counted once");
    }
    if sources.encoded_shared_bytes > 0 {
        let size = bytes(sources.encoded_shared_bytes as f64);
        text += &line("shared, compressed", &size, "stored once there; copies count as duplicates");
    }
    if sources.hard_links > 0 {
        text += &line("further hard links", &grouped(sources.hard_links), "counted once");
    }
    text
}

/// The part about the volume.
pub fn sizing_text(sizing: &Sizing) -> Text {
    let mut text = Text::from(line(
        "buy",
        &bytes(sizing.physical_bytes as f64),
        &format!(
            "physical size for {} of data, {} of the room for blocks free",
            bytes(sizing.data_bytes as f64),
            Unit::Percent.show(sizing.headroom_percent)
        ),
    ));
    text += &line("  stored data", &bytes(sizing.stored_bytes as f64), "");
    if let Some(file_system) = sizing.file_system_bytes {
        text += &line("  XFS", &bytes(file_system as f64), "log, inodes, directories");
    }
    text += &line("  block map", &bytes(sizing.block_map_bytes as f64), "");
    text += &line(
        "  VDO's own",
        &bytes(sizing.overhead_bytes as f64),
        &format!("of it the index {}", bytes(sizing.index_disk_bytes as f64)),
    );
    text += &line("logical size", &bytes(sizing.logical_bytes as f64), "");
    text += &line("memory", &bytes(sizing.memory_bytes as f64), "of the running volume");
    text += &line(
        "index",
        &bytes(sizing.index_memory_bytes as f64),
        &format!(
            "{}, remembers {}",
            if sizing.index_sparse { "sparse" } else { "dense" },
            bytes(sizing.index_window_bytes as f64)
        ),
    );
    text += &line(
        "slabs",
        &sizing.slabs.to_string(),
        &format!("of {}", bytes(sizing.slab_bytes as f64)),
    );
    text += "";
    text.line(Line::command(" ", &sizing.command));
    text
}

/// Each trouble once, with how often it was met.
fn with_counts(troubles: &[Trouble]) -> Vec<(String, usize)> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for trouble in troubles {
        let line = format!("{}: {}", trouble.path, trouble.what);
        match counted.iter_mut().find(|(counted_line, _)| *counted_line == line) {
            Some((_, times)) => *times += 1,
            None => counted.push((line, 1)),
        }
    }
    counted
}

fn in_use(sources: &Sources, style: Style) {
    for held in &sources.in_use_named {
        let message =
            format!("{} is in use ({}): it may change while it is read", held.path, held.what);
        say_line(style.note("note:").and(message));
    }
    let more = sources.in_use - sources.in_use_named.len() as u64;
    if more > 0 {
        let message =
            format!("{} more are in use: they may change while they are read", grouped(more));
        say_line(style.note("note:").and(message));
    }
}

fn troubles(text: &mut Text, answer: &Answer) {
    let style = Style::of_stderr();
    let sources = &answer.sources;
    if !answer.complete {
        say_line(style.note("note:").and("not everything was read: all figures cover the rest"));
    }
    if let Some(off) = &answer.off_blocks {
        say_line(style.note("note:").and(format!(
            "partition {} of {} begins at byte {}, which is not a multiple of 4 KiB: \
             as the disk is, VDO saves {}, and {} if the partition began at one",
            off.partition,
            off.path,
            grouped(off.start_bytes),
            percent(off.saving_percent),
            percent(off.aligned_saving_percent)
        )));
    }
    if sources.streams > 0 && answer.blocks.zero > 0 {
        let share = 100.0 * answer.blocks.zero as f64 / answer.blocks.total as f64;
        say_line(style.note("note:").and(format!(
            "in a stream holes cannot be told from zeros, which are {} of its blocks and count as saved: without them VDO saves {}; \
            name a file or device where you can",
            percent(Some(share)),
            percent(answer.vdo.saving_without_zeros_percent)
        )));
    }
    if sources.image_ends > 0 {
        say_line(style.note("note:").and(
            "the stream ends as a VHD image of fixed size does: its last 512 bytes are not data of the disk",
        ));
    }
    for left_out in &sources.left_out_named {
        say_line(style.note("note:").and(format!("left out {}: {}", left_out.path, left_out.what)));
    }
    let more = sources.left_out - sources.left_out_named.len() as u64;
    if more > 0 {
        let places = counted(more, "more place", "more places");
        say_line(
            style
                .note("note:")
                .and(format!("left out {places} where other file systems are mounted")),
        );
    }
    in_use(sources, style);
    for (message, times) in with_counts(&sources.troubles) {
        let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
        say_line(style.note("warning:").and(format!("{message}{times}")));
    }
    if sources.unreadable + sources.changed == 0 {
        return;
    }
    *text += "";
    *text += &format!(
        "{} could not be read, {} changed while they were read: not, or not surely, in the figures",
        grouped(sources.unreadable),
        grouped(sources.changed)
    );
}
