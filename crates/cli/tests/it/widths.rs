//! Nothing is wider than the terminal.

use crate::program::{command, expect, fresh, text};

/// Many variants with long names.
const MANY: &str = r#"
name = "many"
about = "What many variants with names that are long look like on a terminal that is narrow"
[devices.data]
size = "8G"
[[stack]]
layer = "vdo"
on = "data"
logical_size = "1G"
[[factor]]
name = "deduplication"
key = "vdo.dedupe"
levels = [true, false]
[[factor]]
name = "compression"
key = "vdo.compression"
levels = [true, false]
[[factor]]
name = "jobs that write"
key = "write.jobs"
levels = [1, 2, 4]
[[stage]]
do = "load"
name = "write"
measure = true
ops = "randwrite"
ios = 2000
[[question]]
metric = "latency_p99_ns"
"#;

/// Returns the longest part of a line that nothing may break: a word, or what stands in quotation marks.
fn longest_part(line: &str) -> usize {
    let (mut longest, mut length, mut quoted) = (0, 0, false);
    for c in line.chars() {
        quoted ^= c == '\'';
        length = if c == ' ' && !quoted { 0 } else { length + 1 };
        longest = longest.max(length);
    }
    longest
}

#[test]
fn no_command_prints_lines_that_are_wider_than_the_terminal() {
    let (dir, result) = fresh();
    let other = dir.path().join("other");
    let (many, file) = (dir.path().join("many"), dir.path().join("many.toml"));
    std::fs::write(&file, MANY).unwrap();
    for (out, name, seed) in
        [(&result, "vdo-vs-plain", "1"), (&other, "vdo-vs-plain", "2"), (&many, text(&file), "3")]
    {
        let args = ["run", name, "--simulate", "--repeat", "5", "--seed", seed, "--out"];
        expect(0, &[&args[..], &[text(out)]].concat());
    }
    let [result, other, many] = [&result, &other, &many].map(|path| text(path));
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let commands: &[&[&str]] = &[
        &["doctor"],
        &["doctor", result],
        &["doctor", many, "--all"],
        &["doctor", "vdo-threads"],
        &["doctor", "--rules"],
        &["catalogue"],
        &["estimate", sources],
        &["estimate", "--size", "10T", "--saving", "60%"],
        &["explain"],
        &["explain", "copy-on-vdo"],
        &["explain", "dedupe-cost"],
        &["trend", result, other],
        &["show", result],
        &["show", result, "--all"],
        &["show", many],
        &["layers"],
        &["layers", "vdo"],
        &["disk", "list"],
        &["disk", "show", "hdd"],
        &["lab", "list"],
        &["clean", result],
        &["explain", "nowhere"],
        &["--help"],
        &["load", "--help"],
        &["lab", "run", "--help"],
        &["uvdo", "create", "--help"],
    ];
    let mut wide = Vec::new();
    for args in commands {
        for columns in [60_usize, 80, 100, 132] {
            let output = command(args).env("COLUMNS", columns.to_string()).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            let output = String::from_utf8(text).unwrap();
            assert!(!output.is_empty(), "{args:?}");
            // A word that does not fit stays whole, under its column.
            let bad = |line: &&str| {
                line.chars().count() > columns && longest_part(line) < columns / 2 - 2
            };
            wide.extend(
                output.lines().filter(bad).map(|line| format!("{columns} {args:?}: {line}")),
            );
        }
    }
    assert!(wide.is_empty(), "{} lines:\n{}", wide.len(), wide.join("\n"));
}
