//! Values in fio's notation.

use crate::Problem;
use crate::ini::{Entry, Section};

/// A size in bytes, or as a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Size {
    Bytes(u64),
    Percent(f64),
}

impl Size {
    /// Writes it as Fathom does.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Bytes(bytes) => self::bytes(bytes),
            Self::Percent(percent) => format!("{percent}%"),
        }
    }
}

/// Writes bytes as a number with the largest unit that leaves it whole.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [("T", 40), ("G", 30), ("M", 20), ("k", 10)];
    let whole = units.into_iter().find(|(_, bits)| bytes > 0 && bytes.is_multiple_of(1 << bits));
    whole.map_or_else(|| bytes.to_string(), |(unit, bits)| format!("{}{unit}", bytes >> bits))
}

/// Units of sizes: with fio's `kb_base=1024`, which is its default, `k` and `kb` are 1024 bytes, and `ki` and `kib` are 1000.
fn unit(text: &str) -> Option<u64> {
    let power = |base: u64| {
        let letters = ["k", "m", "g", "t", "p"];
        let place = letters.iter().position(|letter| text.starts_with(letter))?;
        base.checked_pow(place as u32 + 1)
    };
    match text.get(1..) {
        None => Some(1),
        Some("" | "b") if text != "b" => power(1024),
        Some("i" | "ib") => power(1000),
        _ if text == "b" => Some(1),
        _ => None,
    }
}

/// Reads a size: `4k`, `2g`, `4096`, `0x1000`.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let factor = unit(rest)?;
    match number.parse::<u64>() {
        Ok(number) => number.checked_mul(factor),
        Err(_) => number.parse::<f64>().ok().map(|number| (number * factor as f64) as u64),
    }
}

/// Reads a time, nanoseconds: a number of `plain` nanoseconds, or one with its unit.
pub(crate) fn time(text: &str, plain: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let unit = match rest {
        "" => plain,
        "ns" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some((number * unit as f64) as u64)
}

/// Writes nanoseconds as a number with the largest unit that leaves it whole.
pub(crate) fn nanos(nanos: u64) -> String {
    let units = [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000)];
    let finer = [("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let mut all = units.into_iter().chain(finer);
    let whole = all.find(|(_, unit)| nanos > 0 && nanos.is_multiple_of(*unit));
    whole.map_or_else(|| "0s".to_owned(), |(unit, length)| format!("{}{unit}", nanos / length))
}

impl Entry {
    /// Returns the problem that its value is wrong, with the values that it takes.
    pub(crate) fn wrong(&self, takes: &str) -> Problem {
        let value = self.value.as_deref().unwrap_or_default();
        Problem::new(self.line, format!("{}={value}: {} takes {takes}", self.name, self.name))
    }

    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// Reads `1`, `0`, or nothing, which is 1.
    pub(crate) fn truth(&self) -> Result<bool, Problem> {
        match self.value.as_deref() {
            None | Some("1" | "") => Ok(true),
            Some("0") => Ok(false),
            Some(_) => Err(self.wrong("0 or 1")),
        }
    }

    pub(crate) fn number(&self) -> Result<u64, Problem> {
        size(self.text()).ok_or_else(|| self.wrong("a whole number"))
    }

    pub(crate) fn percent(&self) -> Result<u64, Problem> {
        let number = self.text().trim_end_matches('%').parse().ok();
        number.filter(|percent| *percent <= 100).ok_or_else(|| self.wrong("a number up to 100"))
    }

    pub(crate) fn bytes(&self) -> Result<u64, Problem> {
        size(self.text()).ok_or_else(|| self.wrong("a size (4k, 2g)"))
    }

    pub(crate) fn size(&self) -> Result<Size, Problem> {
        if let Some(percent) = self.text().strip_suffix('%') {
            let percent = percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
            return percent.map(Size::Percent).ok_or_else(|| self.wrong("a size, or a percentage"));
        }
        self.bytes().map(Size::Bytes)
    }

    /// Reads a time; a plain number counts `plain` nanoseconds.
    pub(crate) fn nanos(&self, plain: u64) -> Result<u64, Problem> {
        time(self.text(), plain).ok_or_else(|| self.wrong("a time (30, 15m, 2h)"))
    }
}

impl Section {
    /// Tells whether an option is switched on.
    pub(crate) fn truth(&self, name: &str) -> Result<bool, Problem> {
        self.last(&[name]).map_or(Ok(false), Entry::truth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_as_fio_reads_them() {
        for (text, bytes) in [
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4kib", 4000),
            ("512m", 512 << 20),
            ("2g", 2 << 30),
            ("4096", 4096),
            ("0x1000", 4096),
            ("1b", 1),
            ("1.5k", 1536),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "k", "4x", "-1", "4kk"] {
            assert_eq!(size(text), None, "{text}");
        }
        for (text, ns) in
            [("30", 30_000_000_000), ("30m", 1_800_000_000_000), ("500ms", 500_000_000)]
        {
            assert_eq!(time(text, 1_000_000_000), Some(ns), "{text}");
        }
        assert_eq!(
            (bytes(4096), bytes(1536), bytes(0), bytes(3 << 30)),
            ("4k".into(), "1536".into(), "0".into(), "3G".into())
        );
        assert_eq!((nanos(500_000_000), nanos(7_200_000_000_000)), ("500ms".into(), "2h".into()));
    }
}
