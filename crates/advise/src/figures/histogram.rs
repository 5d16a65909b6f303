//! Histograms of bytes on a device.

use hdrhistogram::Histogram;

use crate::error::Result;

/// Significant digits of percentiles.
const DIGITS: u8 = 3;

/// Returns an empty histogram of bytes on a device.
pub(super) fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 1 << 62, DIGITS)?)
}
