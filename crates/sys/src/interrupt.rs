//! The user's request to stop: at the next good moment, or at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The urgency with which work should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// No request.
    #[default]
    None,
    /// At the next good moment, keeping everything that was measured.
    Finish,
    /// At once; only what teardown needs is still done.
    Now,
}

impl Level {
    fn of(number: u8) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Finish,
            _ => Self::Now,
        }
    }
}

/// The request to stop, shared by all clones. Its level never falls.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicU8>);

impl Interrupt {
    /// An interrupt without a request so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets signals raise it: the first SIGINT, SIGTERM or SIGHUP asks to finish, a second SIGINT or SIGTERM
    /// to stop at once. A terminal that closes (SIGHUP) never asks for more than to finish.
    ///
    /// SIGPIPE stays ignored, as Rust starts every program: if the reader of the output is gone, the write fails, instead of the program dying
    /// without teardown. Fails if the kernel refuses a handler.
    pub fn on_signals(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let level = self.0.clone();
            let last = if signal == SIGHUP { 1 } else { 2 };
            let raise = move || {
                let _ = level.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |old| {
                    (old < last).then_some(old + 1)
                });
            };
            // SAFETY: the handler touches one atomic number, which is safe at any moment of any thread.
            unsafe { signal_hook::low_level::register(signal, raise) }?;
        }
        Ok(())
    }

    /// Raises the request to `level`, unless it is higher already.
    pub fn request(&self, level: Level) {
        self.0.fetch_max(level as u8, Ordering::AcqRel);
    }

    /// Returns the current level. A single relaxed load, cheap enough for every turn of a loop.
    #[inline]
    pub fn level(&self) -> Level {
        Level::of(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_never_falls() {
        let interrupt = Interrupt::new();
        assert_eq!(interrupt.level(), Level::None);
        interrupt.clone().request(Level::Now);
        interrupt.request(Level::Finish);
        assert_eq!(interrupt.level(), Level::Now);
    }

    #[test]
    fn the_first_signal_asks_to_finish_and_the_second_to_stop_at_once() {
        let interrupt = Interrupt::new();
        interrupt.on_signals().unwrap();
        for (signal, level) in [
            (SIGHUP, Level::Finish),
            (SIGHUP, Level::Finish),
            (SIGTERM, Level::Now),
            (SIGINT, Level::Now),
        ] {
            signal_hook::low_level::raise(signal).unwrap();
            assert_eq!(interrupt.level(), level);
        }
    }
}
