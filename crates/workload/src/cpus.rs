//! The CPUs that a load's workers are pinned to.

use std::fmt;

use units::QuantityError;

/// Number of CPUs that can be named: the size of the set that the kernel's calls take by default.
const MAX_CPUS: usize = 1024;

/// A set of CPUs by their numbers, as the kernel prints them: `0,1`, `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cpus(Vec<u16>);

impl Cpus {
    /// Their numbers, ascending, each once.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|&cpu| usize::from(cpu))
    }
}

impl FromIterator<usize> for Cpus {
    /// Makes a set of those numbers that are valid.
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut cpus: Vec<u16> =
            numbers.into_iter().filter(|&n| n < MAX_CPUS).map(|n| n as u16).collect();
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }
}

impl std::str::FromStr for Cpus {
    type Err = QuantityError;

    /// Reads numbers and ranges of numbers, separated by commas.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let wrong = || QuantityError {
            text: text.to_owned(),
            what: "set of CPUs",
            example: "their numbers below 1024, as in 0,1 or 0-3",
        };
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|&n: &usize| digits && n < MAX_CPUS).ok_or_else(wrong)
        };
        let mut numbers = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong());
            }
            numbers.extend(first..=last);
        }
        Ok(numbers.into_iter().collect())
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut comma = "";
        while let Some(&first) = rest.first() {
            let row = rest.iter().zip(first..).take_while(|(cpu, n)| *cpu == n).count();
            write!(f, "{comma}{first}")?;
            if row > 1 {
                // Two neighbours are written as a list, not as a range.
                let sign = if row == 2 { ',' } else { '-' };
                write!(f, "{sign}{}", rest[row - 1])?;
            }
            (rest, comma) = (&rest[row..], ",");
        }
        Ok(())
    }
}

units::as_text!(Cpus, "CPUs by their numbers, such as \"0,1\" or \"0-3\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_as_the_kernel_prints_them_and_printed_shortly() {
        for (text, printed) in [
            ("0", "0"),
            ("1,0", "0,1"),
            ("0-3,8", "0-3,8"),
            ("3, 2, 1, 1", "1-3"),
            ("5-5", "5"),
            ("0,2-3,4,1023", "0,2-4,1023"),
        ] {
            assert_eq!(text.parse::<Cpus>().unwrap().to_string(), printed, "{text}");
        }
        for text in ["", ",", "a", "3-1", "1024", "0-9999999", "-1", "+1", "1-", "1--2"] {
            assert!(text.parse::<Cpus>().is_err(), "{text:?}");
        }
    }
}
