//! Command lines as text.

/// `argv` as it would be typed into a shell.
pub fn show_argv(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,{}%+@".contains(c);
    argv.iter()
        .map(|word| {
            if !word.is_empty() && word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Tells whether `resolved` is the command `planned` with a text substituted for each placeholder in braces.
pub fn is_planned(planned: &str, resolved: &str) -> bool {
    let Some((before, rest)) = planned.split_once('{') else { return planned == resolved };
    let Some((_, after)) = rest.split_once('}') else { return planned == resolved };
    let Some(tail) = resolved.strip_prefix(before) else { return false };
    tail.char_indices()
        .map(|(at, _)| at)
        .chain([tail.len()])
        .any(|at| is_planned(after, &tail[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stands_for_anything() {
        assert!(is_planned("pvcreate {device.data} x", "pvcreate /dev/vda x"));
        assert!(is_planned("{a}{b}", ""));
        assert!(!is_planned("pvcreate {device.data} x", "pvcreate /dev/vda y"));
        assert!(!is_planned("a", "ab"));
    }
}
