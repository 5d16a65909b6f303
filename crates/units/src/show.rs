//! Numbers as people read them: three significant digits and the unit that keeps them short.

/// Returns `value` with `digits` significant digits, without needless zeros or exponents; whole numbers of five digits and more are grouped in
/// thousands, `19,211`.
pub fn significant(value: f64, digits: usize) -> String {
    let text = readable(value, digits);
    if value.abs() >= 9999.5 && !text.contains('.') { apart(&text) } else { text }
}

/// Returns the same without commas, so that programs can read the number.
pub fn readable(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { "–".into() };
    }
    let magnitude = value.abs().log10().floor() as i32 + 1;
    let decimals = (digits as i32 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Returns one end of a ratio's interval: `1.026`, `0.374`, `12.3`. From 1 to 10 it has three decimals, so that it can be compared with a
/// threshold such as 1.03.
pub fn bound(ratio: f64) -> String {
    let near = (1.0..10.0).contains(&ratio.abs());
    significant(ratio, if near { 4 } else { 3 })
}

/// A size: `4 KiB`, `1.5 GiB`.
pub fn bytes(value: f64) -> String {
    bytes_with(value, 3)
}

/// Returns a size in bytes with `digits` significant digits.
pub fn bytes_with(value: f64, digits: usize) -> String {
    scaled(value, digits, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// A duration given in nanoseconds: `820 ns`, `1.25 ms`, `90 s`, `12 min`.
pub fn nanos(value: f64) -> String {
    nanos_with(value, 3)
}

/// Returns a duration in nanoseconds with `digits` significant digits.
pub fn nanos_with(value: f64, digits: usize) -> String {
    match value.abs() {
        v if v >= 600e9 => format!("{} min", readable(value / 60e9, digits)),
        v if v >= 1e9 => format!("{} s", significant(value / 1e9, digits)),
        v if v >= 1e6 => format!("{} ms", significant(value / 1e6, digits)),
        v if v >= 1e3 => format!("{} µs", significant(value / 1e3, digits)),
        _ => format!("{} ns", significant(value, digits)),
    }
}

/// A count: `950`, `16,602`, `123k`, `3.1M`. Whole numbers below 100,000 stay whole.
pub fn count(value: f64) -> String {
    count_with(value, 3)
}

/// Returns a count as [`count`] does, with `digits` significant digits where it is 100,000 or more, or not a whole number.
pub fn count_with(value: f64, digits: usize) -> String {
    if value.abs() < 100_000.0 && value.fract() == 0.0 {
        return apart(&format!("{value}"));
    }
    scaled(value, digits, 1000.0, &["", "k", "M", "G", "T"]).replace(' ', "")
}

/// Returns a whole number grouped in thousands: `262,144`.
pub fn grouped(value: u64) -> String {
    apart(&value.to_string())
}

/// Groups the digits of a whole number, which may begin with a minus, in thousands.
fn apart(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut text = sign.to_owned();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn scaled(value: f64, digits: usize, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    // A value that would round to one of the next unit is shown in that unit.
    while value.abs() >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = if value.abs() >= 1000.0 { digits.max(4) } else { digits };
    format!("{} {}", significant(value, digits), units[unit]).trim_end().to_owned()
}

/// Joins names with commas, or with semicolons if a name contains a comma.
pub fn names<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.join(if names.iter().any(|name| name.contains(',')) { "; " } else { ", " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_told_apart() {
        assert_eq!(names(&["sync", "async"]), "sync, async");
        assert_eq!(names(&["sync", "sync, protected", "FUA"]), "sync; sync, protected; FUA");
    }

    #[test]
    fn sizes_durations_and_counts_read_well() {
        assert_eq!(bytes(4096.0), "4 KiB");
        assert_eq!(bytes(1.5 * 1024.0 * 1024.0 * 1024.0), "1.5 GiB");
        assert_eq!(bytes(1023.0 * 1024.0), "1023 KiB");
        assert_eq!([1_073_700_000.0, 1_073_200_000.0].map(bytes), ["1 GiB", "1023 MiB"]);
        assert_eq!(nanos(1_250_000.0), "1.25 ms");
        assert_eq!(nanos(90e9), "90 s");
        assert_eq!(count(950.0), "950");
        assert_eq!(count(123_456.0), "123k");
        assert_eq!([16_602.0, -16_602.0, 1234.0].map(count), ["16,602", "-16,602", "1,234"]);
        assert_eq!(significant(19_211.4, 3), "19,211");
        assert_eq!([9_999.4, 9_999.6].map(|value| significant(value, 3)), ["9999", "10,000"]);
        assert_eq!(grouped(262_144), "262,144");
        assert_eq!(significant(0.012_34, 3), "0.0123");
        assert_eq!(significant(120.0, 2), "120");
        assert_eq!(significant(f64::NAN, 2), "–");
    }

    #[test]
    fn the_end_of_an_interval_can_be_held_against_a_border_of_three_percent() {
        assert_eq!(
            [1.026, 1.2, 0.9704, 12.34, 0.0].map(bound),
            ["1.026", "1.2", "0.97", "12.3", "0"]
        );
    }
}
