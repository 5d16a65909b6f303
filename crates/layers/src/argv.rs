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
