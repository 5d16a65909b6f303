//! The table with the settings of the command line: it is appended to the text of an experiment, and mistakes in it are reported under the option
//! that gave them.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// The head of the table.
pub(crate) const BEHIND: &str = "\n# Given on the command line:\n[given]\n";

/// Returns the place of the table in `text`, its head and its lines of `KEY = VALUE`; `None` where there is none.
pub(crate) fn block(text: &str) -> Option<Range<usize>> {
    let start = text.find(BEHIND)?;
    let lines = start + BEHIND.len();
    let is_setting = |line: &&str| line.starts_with('"') && line.contains(" = ");
    let length: usize =
        text[lines..].split_inclusive('\n').take_while(is_setting).map(str::len).sum();
    Some(start..lines + length)
}

/// Returns the option, as it is written, that gave the text at byte `at` of `text`: `--set KEY=VALUE` itself if the line cannot be read, `None` for the file's own text.
pub(crate) fn option(text: &str, at: usize) -> Option<String> {
    let block = block(text)?;
    let lines = block.start + BEHIND.len()..block.end;
    let before = text.get(lines.start..at).filter(|_| lines.contains(&at))?;
    let line = &text[at - before.rsplit('\n').next()?.len()..];
    let line = line.lines().next()?;
    let read = DeTable::parse(line).ok();
    let entry = read.as_ref().and_then(|table| table.get_ref().iter().next());
    let Some((key, value)) = entry else { return Some("--set KEY=VALUE".to_owned()) };
    let value = match value.get_ref() {
        DeValue::String(text) => text,
        _ => line.split_once(" = ").map_or("VALUE", |(_, value)| value),
    };
    Some(match &**key.get_ref() {
        "machine.kernel" => format!("--kernel {value}"),
        key => format!("--set {key}={value}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_gives_is_told_as_its_option() {
        let file = "name = \"x\"\n";
        let text = format!("{file}{BEHIND}\"vdo.dedupe\" = true\n\"a.b\" = \"two words\"\n");
        let of = |word: &str| option(&text, text.find(word).unwrap());
        assert_eq!(of("name"), None);
        assert_eq!(of("\"vdo.dedupe").as_deref(), Some("--set vdo.dedupe=true"));
        assert_eq!(of("true").as_deref(), Some("--set vdo.dedupe=true"));
        assert_eq!(of("two words").as_deref(), Some("--set a.b=two words"));
        assert_eq!(of("[given]"), None, "a mistake before it may be seen there first");
    }
}
