//! `fathom-bench verdicts`, as far as it starts no guest.

use std::path::Path;

use crate::program::{expect, fathom_in};

/// Returns the parts of a text that stand between marks: the marks, heads of tables and first columns, which no chance changes.
fn skeleton(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let (begins, ends) = (line.ends_with(": begin -->"), line.ends_with(": end -->"));
        inside |= begins;
        if inside {
            let first = line.split('|').nth(1).unwrap_or(line);
            lines.push(first.trim().to_owned());
        }
        inside &= !ends;
    }
    lines
}

#[test]
fn the_tables_of_the_method_are_those_that_the_command_makes() {
    let args = ["verdicts", "--simulated", "--experiments", "100", "--tables"];
    // A hundred experiments may miss a condition by chance.
    let made = fathom_in(&std::env::temp_dir(), &args);
    assert!(made.code.is_some_and(|code| code <= 1), "{}", made.err);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/method.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(skeleton(&page), skeleton(&made.out), "make method");
    assert!(skeleton(&page).len() > 40);
}

#[test]
fn what_does_not_go_together_is_refused() {
    for args in [
        &["verdicts"][..],
        &["verdicts", "--simulated", "--quick"],
        &["verdicts", "--simulated", "--lab"],
        &["verdicts", "--lab", "--tables"],
        &["verdicts", "--simulated", "--experiments", "99"],
    ] {
        expect(2, args);
    }
}
