//! Progress of a watch of a stack.

use std::time::Duration;

use indicatif::ProgressBar;
use standing::Watching;
use units::Unit;

use super::{bar, live, per_second, set_fraction, time_left};

/// Progress of a watch, on standard error.
pub struct WatchView {
    bar: Option<ProgressBar>,
}

impl WatchView {
    pub fn new() -> Self {
        Self { bar: live().then(bar) }
    }

    /// Tells whether it is on a live terminal.
    pub fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows the progress, and the I/O of the device that was asked about.
    pub fn progress(&self, watching: &Watching, length: Duration) {
        let Some(bar) = &self.bar else { return };
        set_fraction(bar, Some(watching.fraction));
        let elapsed = (watching.at_s * 1e9) as u64;
        let left = (length.as_nanos() as u64).saturating_sub(elapsed);
        let io = watching.io.as_ref().map_or_else(String::new, |io| {
            let rates =
                [("reads", "read_bytes"), ("writes", "written_bytes")].map(|(ios, bytes)| {
                    let shown = |value: Option<f64>, show: &dyn Fn(f64) -> String| {
                        value.map_or("–".to_owned(), show)
                    };
                    let bytes = shown(io.rate(bytes), &|rate| Unit::BytesPerSecond.show(rate));
                    format!("  {ios} {} {bytes}", shown(io.rate(ios), &per_second))
                });
            rates.concat()
        });
        bar.set_message(format!("{}{io}", time_left(Some(left), elapsed)));
    }

    /// Takes the live view off the terminal.
    pub fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
