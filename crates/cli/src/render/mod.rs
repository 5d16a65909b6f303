//! Rendering of events: a live view on a terminal, plain lines elsewhere, JSON lines for programs.

pub mod advise;
pub mod age;
pub mod estimate;
mod load;
mod panel;
mod run;
mod watch;

pub use load::LoadView;
pub use run::RunView;
pub use watch::WatchView;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use units::{Nanos, Unit};

/// Tells whether a live view makes sense: standard error is a terminal that can move its cursor.
fn live() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// A bar of thousandths on standard error; drawn at most ten times a second.
fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
    // The template is a constant that the tests render.
    let style = ProgressStyle::with_template("{prefix} ▕{bar:24}▏ {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    bar
}

/// Progress through a number of bytes, shown on a live terminal only; gone when dropped.
pub struct Share {
    bar: Option<ProgressBar>,
    done: u64,
    all: u64,
}

impl Share {
    /// Begins with none of `all` bytes done.
    pub fn of(what: &str, all: u64) -> Self {
        let shown = live().then(bar);
        if let Some(bar) = &shown {
            bar.set_prefix(what.to_owned());
        }
        Self { bar: shown, done: 0, all }
    }

    /// Counts bytes as done.
    pub fn add(&mut self, bytes: u64) {
        self.to(self.done + bytes);
    }

    /// Sets the bytes that are done.
    pub fn to(&mut self, bytes: u64) {
        self.done = bytes;
        if let Some(bar) = &self.bar {
            set_fraction(bar, (self.all > 0).then(|| self.done as f64 / self.all as f64));
            bar.set_message(units::Bytes(self.done).to_string());
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// I/Os per second: whole from 10 on; below that the fraction matters.
fn per_second(rate: f64) -> String {
    Unit::PerSecond.show(if rate.abs() < 10.0 { rate } else { rate.round() })
}

/// Sets a bar to a share of the whole; an unknown share leaves it empty.
fn set_fraction(bar: &ProgressBar, fraction: Option<f64>) {
    bar.set_position((fraction.unwrap_or(0.0).clamp(0.0, 1.0) * 1000.0) as u64);
}

/// `38 s left`, or the time so far where the end is not known.
fn time_left(remaining_ns: Option<u64>, elapsed_ns: u64) -> String {
    match remaining_ns {
        Some(ns) => format!("{} left", whole_seconds(ns)),
        None => format!("{} so far", whole_seconds(elapsed_ns)),
    }
}

fn whole_seconds(ns: u64) -> String {
    match ns.div_ceil(Nanos::PER_SECOND) {
        0 => "0 s".to_owned(),
        seconds => Nanos::from_secs(seconds).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_one_in_three_seconds_is_not_nothing() {
        let shown = [1.0 / 3.0, 0.0, 9.96, 8123.4].map(per_second);
        assert_eq!(shown, ["0.333/s", "0/s", "9.96/s", "8,123/s"]);
    }

    #[test]
    fn the_template_of_the_bar_is_valid() {
        assert!(ProgressStyle::with_template("{prefix} ▕{bar:24}▏ {msg}").is_ok());
    }

    #[test]
    fn time_left_is_rounded_up_to_whole_seconds() {
        assert_eq!(time_left(Some(1_200_000_000), 0), "2 s left");
        assert_eq!(time_left(None, 5_000_000_000), "5 s so far");
        assert_eq!(time_left(Some(0), 1), "0 s left");
    }
}
