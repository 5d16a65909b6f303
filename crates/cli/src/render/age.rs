//! The age of a file system as people read it.

use std::path::Path;
use std::time::{Duration, Instant};

use host::Looked;
use indicatif::ProgressBar;
use results::model::{Age, FreeSpace, SizeClass, TreeAge};
use units::Unit;
use units::show::{bytes, grouped, significant};

use super::estimate::counted;
use super::{bar, live, time_left};
use crate::terminal::{Style, Text};

/// Time before progress is shown.
const QUICK: Duration = Duration::from_secs(2);

/// Progress of a look at a file system, on standard error; gone when dropped.
pub struct AgeView {
    begun: Instant,
    live: bool,
    bar: Option<ProgressBar>,
}

impl AgeView {
    pub fn new() -> Self {
        Self { begun: Instant::now(), live: live(), bar: None }
    }

    /// Shows the progress; only on a live terminal, and only after two seconds.
    pub fn progress(&mut self, at: Looked) {
        let elapsed = self.begun.elapsed();
        if !self.live || elapsed < QUICK {
            return;
        }
        let so_far = time_left(None, u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        let bar = self.bar.get_or_insert_with(bar);
        bar.set_message(match at {
            Looked::Writing => {
                format!("{so_far}  writing out what waits in memory, which cannot be interrupted")
            }
            Looked::Files(files) => {
                format!("{so_far}  {} looked at", counted(files, "file", "files"))
            }
        });
    }
}

impl Drop for AgeView {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(name: &str, value: &str, more: &str) -> String {
    format!("{name:<22} {value:>12}   {more}").trim_end().to_owned()
}

fn percent(part: u64, all: u64) -> String {
    let share = 100.0 * part as f64 / all.max(1) as f64;
    Unit::Percent.show((share * 100.0).round() / 100.0)
}

/// The whole answer, for a terminal.
pub fn summary(directory: &Path, age: &Age) -> Text {
    let files = &age.files;
    let mut text = Text::new();
    text += &format!(
        "{}: {} of {} in {}, on {}",
        directory.display(),
        counted(files.files, "file", "files"),
        bytes(files.bytes as f64),
        counted(files.directories, "directory", "directories"),
        age.file_system
    );
    text += "";
    runs(&mut text, files);
    text += "";
    match (&age.free, &age.free_untold) {
        (Some(free), _) => free_space(&mut text, free),
        (None, Some(why)) => text += &format!("free space is not known: {why}"),
        (None, None) => text += "free space was not looked at to its end",
    }
    if !files.most_fragmented.is_empty() {
        text += "";
        text += "files in most runs";
        for one in &files.most_fragmented {
            let size = bytes(one.bytes as f64);
            text += &format!("  {:>20} {size:>12}   {}", grouped(one.runs), one.path);
        }
    }
    troubles(&mut text, age);
    text
}

fn runs(text: &mut Text, files: &TreeAge) {
    let Some(mean) = files.runs_per_file else {
        return *text += "no file has space of its own on the device";
    };
    *text += &line(
        "runs per file",
        &significant(mean, 3),
        &format!(
            "{} in {}; a run lies together on the device",
            counted(files.runs, "run", "runs"),
            counted(files.files_with_space, "file", "files")
        ),
    );
    *text += &line(
        "  in one run",
        &grouped(files.files_in_one_run),
        &format!("{} of files", percent(files.files_in_one_run, files.files_with_space)),
    );
    if let Some(half) = files.half_in_runs_of_bytes {
        let more = "or more: half of the bytes lie in such runs";
        *text += &line("  half in runs of", &bytes(half as f64), more);
    }
    *text += &line("  extents", &grouped(files.extents), "as the file system keeps them");
    let of_runs = |text: &mut Text, name: &str, part: u64, more: &str| {
        if part > 0 {
            *text += &line(name, &bytes(part as f64), more);
        }
    };
    of_runs(text, "shared", files.shared_bytes, "with other files");
    of_runs(text, "compressed", files.encoded_bytes, "or encrypted, by the file system");
    of_runs(text, "preallocated", files.unwritten_bytes, "in files, never written");
    of_runs(text, "beyond ends", files.beyond_end_bytes, "set aside behind files, in no run");
    of_runs(text, "holes", files.hole_bytes, "in files, without space");
    of_runs(text, "inline", files.inline_bytes, "among the file system's own data");
    of_runs(text, "waiting", files.waiting_bytes, "in memory, without a place yet");
    if files.runs > files.files_with_space {
        *text += "";
        *text += "files by their runs";
        classes(text, &files.files_by_runs, &grouped);
        *text += "";
        *text += "runs by their length";
        classes(text, &files.runs_by_bytes, &|size| bytes(size as f64));
    }
}

fn free_space(text: &mut Text, free: &FreeSpace) {
    let stretches = counted(free.stretches, "stretch", "stretches");
    let stretches = format!("in {stretches}, of the whole file system");
    *text += &line("free space", &bytes(free.bytes as f64), &stretches);
    *text += &line("  largest stretch", &bytes(free.largest_bytes as f64), "");
    if let Some(half) = free.half_in_stretches_of_bytes {
        let more = "or more: half of it lies in such stretches";
        *text += &line("  half in those of", &bytes(half as f64), more);
    }
    *text += "";
    *text += "free space by stretches";
    classes(text, &free.by_bytes, &|size| bytes(size as f64));
}

/// A line for each class: its smallest size, the count, the bytes, and their share.
fn classes(text: &mut Text, classes: &[SizeClass], size: &dyn Fn(u64) -> String) {
    let all: u64 = classes.iter().map(|class| class.bytes).sum();
    for class in classes {
        let from = format!("from {}", size(class.from));
        let share = format!("{:>12}   {}", bytes(class.bytes as f64), percent(class.bytes, all));
        *text += &format!("  {from:<20} {:>12} {share}", grouped(class.count));
    }
}

fn troubles(text: &mut Text, age: &Age) {
    let (files, style) = (&age.files, Style::of_stdout());
    let mut note = |message: String| {
        text.line("");
        text.line(style.note("note:").and(message));
    };
    if files.left_out > 0 {
        let places = counted(files.left_out, "directory", "directories");
        note(format!("left out {places} where something is mounted"));
    }
    if !age.complete {
        note("not everything was looked at: the figures cover the rest".to_owned());
    }
    for trouble in &files.troubles {
        text.line(style.note("warning:").and(trouble.as_str()));
    }
}
