//! A recording with its figures.

use advise::{Figures, Trace};

/// A recording with its figures.
pub(super) struct Shown {
    pub(super) trace: Trace,
    pub(super) figures: Figures,
}
