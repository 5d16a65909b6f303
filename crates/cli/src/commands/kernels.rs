//! `fathom lab kernels`: the kernels that guests can boot.

use std::process::ExitCode;

use lab::{Cache, Kernel, Kernels};
use serde_json::{Value, json};

use crate::args::LabKernelsArgs;
use crate::failure::Failure;
use crate::terminal::{Text, answer, json_line, say};

pub fn list(args: &LabKernelsArgs) -> Result<ExitCode, Failure> {
    let cache = Cache::open()?;
    let mut events = |event| {
        if let lab::Event::FetchingLists { suite } = event {
            say(&format!("package lists of {suite}"));
        }
    };
    let kernels = Kernels::list(&cache, args.mirror.as_deref(), args.fresh, &mut events)?;
    let images: Vec<String> =
        cache.images()?.into_iter().filter_map(|image| Some(image.manifest?.kernel)).collect();
    let rows: Vec<_> =
        kernels.listed.iter().map(|kernel| Row::of(kernel, &cache, &images)).collect();
    if args.json {
        let all: Vec<_> = rows.iter().map(Row::document).collect();
        let unread: Vec<_> =
            kernels.unread.iter().map(|(suite, why)| json!({"suite": suite, "why": why})).collect();
        json_line(&json!({"kernels": all, "not_looked_at": unread}));
        return Ok(ExitCode::SUCCESS);
    }
    answer(&text(&kernels, &rows));
    Ok(ExitCode::SUCCESS)
}

/// A kernel, and what of it is on this machine.
struct Row<'a> {
    kernel: &'a Kernel,
    /// `image`, `packages`, or nothing.
    cached: Option<&'static str>,
}

impl<'a> Row<'a> {
    fn of(kernel: &'a Kernel, cache: &Cache, images: &[String]) -> Self {
        let cached = match (images.contains(&kernel.release), lab::is_downloaded(cache, kernel)) {
            (true, _) => Some("image"),
            (false, true) if kernel.is_whole() => Some("packages"),
            _ => None,
        };
        Self { kernel, cached }
    }

    fn document(&self) -> Value {
        let kernel = self.kernel;
        json!({
            "version": kernel.sources(), "release": kernel.release, "suite": kernel.suite,
            "package_version": kernel.version, "packages": kernel.packages, "gone": kernel.gone,
            "whole": kernel.is_whole(), "download_bytes": kernel.download().0, "cached": self.cached,
        })
    }
}

fn text(kernels: &Kernels, rows: &[Row]) -> Text {
    let whole: Vec<_> = rows.iter().filter(|row| row.kernel.is_whole()).collect();
    let mut table = vec![["version", "release", "suite", "download", "cached"].map(str::to_owned)];
    table.extend(whole.iter().map(|row| {
        [
            row.kernel.sources().to_owned(),
            row.kernel.release.clone(),
            row.kernel.suite.clone(),
            row.kernel.download().to_string(),
            row.cached.unwrap_or("no").to_owned(),
        ]
    }));
    let width = |at: usize| table.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = Text::new();
    for row in &table {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.line(cells.collect::<Vec<_>>().join("  ").trim_end().to_owned());
    }
    let gone = rows.len() - whole.len();
    if gone > 0 {
        text.line(format!("{gone} more are listed and cannot be had: packages of them are gone"));
    }
    for (suite, why) in &kernels.unread {
        text.line(format!("not looked at: {suite}: {why}"));
    }
    text.line("A kernel is named by its version, the beginning of one (6.12 is the newest 6.12), or its release".to_owned());
    text
}
