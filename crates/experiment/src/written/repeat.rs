//! Number of repeats of each variant: fixed, or as many as are needed.

mod check;

use std::str::FromStr;

use results::model::SequentialFacts;
use stats::LOOKS;
use units::Nanos;

/// Number of repeats of each variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// This many times.
    Fixed(u32),
    /// Until all questions are decided, according to looks at the results so far ([`stats::LOOKS`]).
    Auto {
        /// The largest number of repeats.
        most: Option<u32>,
        /// The time limit: no repeat begins that would not end within it.
        time: Option<Nanos>,
    },
}

/// Most repeats: the allowed probability of a wrong verdict is divided among the looks up to this one.
const MAX_REPEATS: u32 = LOOKS[LOOKS.len() - 1];
/// Forms in which the number of repeats can be written.
const FORMS: &str =
    "a number from 1 on, auto, auto with the most repeats (auto:12) or with a time (auto:30m)";

impl Repeat {
    /// The most repeats there can be.
    pub fn most(self) -> u32 {
        match self {
            Self::Fixed(n) => n,
            Self::Auto { most, .. } => most.unwrap_or(MAX_REPEATS),
        }
    }

    /// Returns the looks: the repeats after which it is decided whether more are needed; `None` where the number is fixed.
    pub(crate) fn sequential(self) -> Option<SequentialFacts> {
        let Self::Auto { time, .. } = self else { return None };
        let most = self.most();
        let before = LOOKS.into_iter().filter(|look| *look < most);
        Some(SequentialFacts { looks: before.chain([most]).collect(), time })
    }
}

impl FromStr for Repeat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not {FORMS}");
        if text == "auto" {
            return Ok(Self::Auto { most: None, time: None });
        }
        let Some(bound) = text.strip_prefix("auto:") else {
            return text.parse().map(Self::Fixed).map_err(|_| wrong());
        };
        // A bare number is a number of repeats.
        match bound.parse() {
            Ok(most) => Ok(Self::Auto { most: Some(most), time: None }),
            Err(_) if bound.bytes().all(|byte| byte.is_ascii_digit()) => Err(wrong()),
            Err(_) => bound
                .parse()
                .map(|time| Self::Auto { most: None, time: Some(time) })
                .map_err(|_| wrong()),
        }
    }
}

impl std::fmt::Display for Repeat {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Fixed(n) => write!(f, "{n}"),
            Self::Auto { most: Some(most), .. } => write!(f, "auto:{most}"),
            Self::Auto { time: Some(time), .. } => write!(f, "auto:{time}"),
            Self::Auto { .. } => f.write_str("auto"),
        }
    }
}

units::read_as_text!(Repeat, "a number, or a text such as \"auto\" or \"auto:12\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_shown_again() {
        for (text, most, looks) in [
            ("3", 3, None),
            ("auto", 27, Some(vec![5, 8, 12, 18, 27])),
            ("auto:5", 5, Some(vec![5])),
            ("auto:10", 10, Some(vec![5, 8, 10])),
            ("auto:27", 27, Some(vec![5, 8, 12, 18, 27])),
            ("auto:90 s", 27, Some(vec![5, 8, 12, 18, 27])),
        ] {
            let repeat: Repeat = text.parse().unwrap();
            assert_eq!(repeat.most(), most, "{text}");
            assert_eq!(repeat.sequential().map(|s| s.looks), looks, "{text}");
            assert_eq!(repeat.to_string().parse(), Ok(repeat), "{text}");
        }
        let timed: Repeat = "auto:30m".parse().unwrap();
        assert_eq!(timed.sequential().unwrap().time, Some(Nanos::from_secs(1800)));
        for wrong in ["", "-1", "often", "auto:", "auto:x", "auto 5", "auto:99999999999"] {
            let message = wrong.parse::<Repeat>().unwrap_err();
            assert!(message.contains("auto:12"), "{message}");
        }
    }
}
