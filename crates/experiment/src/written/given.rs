//! What the command line gives stands behind the text of an experiment, and is told as the option that gave it.

use toml::de::{DeTable, DeValue};

/// The line behind which it stands.
pub(crate) const BEHIND: &str = "\n# Given on the command line:\n";

/// Returns the option that gave what stands at byte `at` of `text`, as it is written; `None` of what the file says itself.
pub(crate) fn option(text: &str, at: usize) -> Option<String> {
    let start = text.find(BEHIND)? + BEHIND.len();
    let before = text.get(start..at)?;
    let line = &text[at - before.rsplit('\n').next()?.len()..];
    let line = line.lines().next()?;
    let read = DeTable::parse(line).ok();
    let entry = read.as_ref().and_then(|table| table.get_ref().iter().next());
    let Some((key, value)) = entry.filter(|_| !line.starts_with('[')) else {
        return Some("--set KEY=VALUE".to_owned());
    };
    let value = match value.get_ref() {
        DeValue::String(text) => text,
        _ => line.split_once(" = ").map_or("VALUE", |(_, value)| value),
    };
    Some(format!("--set {}={value}", key.get_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_gives_is_told_as_its_option() {
        let file = "name = \"x\"\n";
        let text =
            format!("{file}{BEHIND}[given]\n\"vdo.dedupe\" = true\n\"a.b\" = \"two words\"\n");
        let of = |word: &str| option(&text, text.find(word).unwrap());
        assert_eq!(of("name"), None);
        assert_eq!(of("\"vdo.dedupe").as_deref(), Some("--set vdo.dedupe=true"));
        assert_eq!(of("true").as_deref(), Some("--set vdo.dedupe=true"));
        assert_eq!(of("two words").as_deref(), Some("--set a.b=two words"));
        assert_eq!(of("[given]").as_deref(), Some("--set KEY=VALUE"));
    }
}
