//! Zones of the range and their shares of the I/Os, as specified.

use std::fmt;

use units::{Bytes, QuantityError};

use crate::text;

/// The part of the range that a zone takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZoneSize {
    /// Percent of the range.
    Percent(f64),
    /// Bytes.
    Bytes(Bytes),
    /// The rest that the other zones leave.
    Rest,
}

/// One zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zone {
    /// Its share of the I/Os, percent.
    pub ios_percent: f64,
    /// Its size.
    pub extent: ZoneSize,
}

/// Zones from the start of the range to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Zones(Vec<Zone>);

/// Most zones.
const MAX_ZONES: usize = 64;

impl Zones {
    /// The zones, in the order of their places.
    pub fn zones(&self) -> &[Zone] {
        &self.0
    }

    /// Sizes of the zones in a range of `bytes` bytes; `None` if they do not fill it exactly (apart from the rounding of percentages).
    pub(crate) fn sizes(&self, bytes: u64) -> Option<Vec<u64>> {
        let percent: f64 = self
            .0
            .iter()
            .map(|zone| if let ZoneSize::Percent(p) = zone.extent { p } else { 0.0 })
            .sum();
        let mut fixed = self
            .0
            .iter()
            .map(|zone| if let ZoneSize::Bytes(size) = zone.extent { size.0 } else { 0 });
        let fixed = fixed.try_fold(0u64, u64::checked_add)?;
        let share = |p: f64| (p / 100.0 * bytes as f64).round() as u64;
        let rests = self.0.iter().filter(|zone| zone.extent == ZoneSize::Rest).count() as u64;
        let taken = fixed.checked_add(share(percent.min(100.0)))?;
        let left = bytes.checked_sub(taken.min(bytes.saturating_add(1)))?;
        if percent > 100.0 + 1e-9 || rests > 1 || (rests == 0 && left > self.0.len() as u64) {
            return None;
        }
        let mut sizes: Vec<_> = self
            .0
            .iter()
            .map(|zone| match zone.extent {
                ZoneSize::Percent(p) => share(p),
                ZoneSize::Bytes(size) => size.0,
                ZoneSize::Rest => left,
            })
            .collect();
        // Each share is rounded separately; the largest zone takes the difference.
        let sum: u64 = sizes.iter().sum();
        let largest = sizes.iter_mut().max()?;
        *largest = (*largest + bytes).checked_sub(sum)?;
        Some(sizes)
    }
}

impl std::str::FromStr for Zones {
    type Err = QuantityError;

    /// Reads `90%/10%,10%/90%`, `80%/1G,20%/rest`: share of the I/Os, then size.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "list of zones",
            example: "SHARE%/SIZE for each zone, with a size in percent, in bytes or rest, as in 90%/1G,10%/rest",
        };
        let zone = |part: &str| {
            let (ios, size) = part.split_once('/')?;
            let size = size.trim();
            let extent = match (size, size.strip_suffix('%')) {
                ("rest", _) => ZoneSize::Rest,
                (_, Some(percent)) => ZoneSize::Percent(text::number(percent)?),
                _ => ZoneSize::Bytes(size.parse().ok()?),
            };
            Some(Zone { ios_percent: text::percent(ios)?, extent })
        };
        let zones: Vec<_> = text
            .split(',')
            .take(MAX_ZONES + 1)
            .map(zone)
            .collect::<Option<_>>()
            .ok_or_else(error)?;
        if zones.len() > MAX_ZONES { Err(error()) } else { Ok(Self(zones)) }
    }
}

impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, zone) in self.0.iter().enumerate() {
            write!(f, "{}{}%/", if i == 0 { "" } else { "," }, zone.ios_percent)?;
            match zone.extent {
                ZoneSize::Percent(percent) => write!(f, "{percent}%")?,
                ZoneSize::Bytes(size) => f.write_str(&text::size(size))?,
                ZoneSize::Rest => f.write_str("rest")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fill_the_range_exactly_or_not_at_all() {
        let sizes = |text: &str, bytes| text.parse::<Zones>().unwrap().sizes(bytes);
        assert_eq!(sizes("90%/10%,10%/90%", 1000), Some(vec![100, 900]));
        assert_eq!(sizes("50%/33.3%,50%/66.7%", 1000), Some(vec![333, 667]));
        assert_eq!(sizes("50%/33.333%,25%/33.333%,25%/33.334%", 100), Some(vec![33, 33, 34]));
        assert_eq!(sizes("80%/1k,20%/rest", 4096), Some(vec![1024, 3072]));
        assert_eq!(sizes("80%/1k,10%/50%,10%/rest", 4096), Some(vec![1024, 2048, 1024]));
        for text in ["50%/10%,50%/80%", "50%/rest,50%/rest", "50%/8k,50%/rest", "50%/60%,50%/60%"] {
            assert_eq!(sizes(text, 4096), None, "{text}");
        }
    }

    #[test]
    fn zones_are_read_back_from_what_they_print() {
        for text in ["90%/10%,10%/90%", "80%/1G,20%/rest", "0.5%/0.25%,99.5%/99.75%"] {
            assert_eq!(text.parse::<Zones>().unwrap().to_string(), text);
        }
        for text in ["", "90%", "90%/", "/10%", "90%/10%;10%/90%", "90%/10%,", "-1%/5%"] {
            assert!(text.parse::<Zones>().is_err(), "{text}");
        }
        assert!(vec!["1%/1%"; 65].join(",").parse::<Zones>().is_err());
    }
}
