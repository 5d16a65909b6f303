//! CPU time of kernel threads, from lines `tid comm utime stime`.

use super::ids::{THREADS, TICK_S};
use crate::{ParseError, Parsed};

/// CPU seconds (user and system) by thread name without its prefix (`journalQ` of `vdo3:journalQ`); threads
/// that share a name are added up.
pub(crate) fn parse_threads(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let wrong = || ParseError::form(THREADS, "not 'tid comm utime stime'", line);
        let (rest, system) = line.trim().rsplit_once(' ').ok_or_else(wrong)?;
        let (rest, user) = rest.rsplit_once(' ').ok_or_else(wrong)?;
        let (_, name) = rest.split_once(' ').ok_or_else(wrong)?;
        let ticks = user.parse::<u64>().ok().zip(system.parse::<u64>().ok());
        let (user, system) = ticks.ok_or_else(wrong)?;
        let name = name.split_once(':').map_or(name, |(_, name)| name);
        let sum = parsed.numbers.entry(name.to_owned()).or_insert(Some(0.0));
        *sum = sum.map(|s| s + (user.saturating_add(system)) as f64 * TICK_S);
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_name_are_added_up() {
        let text = "77 vdo3:journalQ 0 53\n78 vdo3:reader 1 2\n79 vdo3:reader 0 4\n";
        let numbers = parse_threads(text).unwrap().numbers;
        assert_eq!(numbers["journalQ"], Some(0.53));
        assert_eq!(numbers["reader"], Some(0.07));
        assert_eq!(numbers.len(), 2);
    }

    #[test]
    fn a_name_may_have_spaces_and_a_line_may_not_be_short() {
        assert_eq!(parse_threads("1 a b 1 1").unwrap().numbers["a b"], Some(0.02));
        for text in ["1 a 1", "1 a x 1", "one"] {
            assert!(parse_threads(text).is_err(), "{text}");
        }
    }
}
