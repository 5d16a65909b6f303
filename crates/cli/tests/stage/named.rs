//! Places that know a kind of stage by its name.

use std::path::{Path, PathBuf};

/// Files, other than those that define kinds, that may name kinds, and why.
const ALLOWED: [(&str, &str); 8] = [
    ("fio/src/imported.rs", "a result made of what fio said"),
    ("layers/src/rule/made_up.rs", "facts made up for tests of rules"),
    ("results/src/model/traits.rs", "results of earlier versions"),
    ("fixture/src", "a made-up result of an earlier version"),
    ("workload/src/fio.rs", "names of fio"),
    ("bench/src/content", "what a generator does in a benchmark"),
    ("bench/src/record.rs", "a result made by hand"),
    ("standing/src/openmetrics.rs", "a label of what was counted"),
];

/// Words that mean something else elsewhere, too: of these only comparisons with a kind count.
const COMMON: [&str; 15] = [
    "command", "copy", "crash", "fill", "layer", "load", "read", "reboot", "remount", "restart",
    "set", "state", "tree", "trim", "wait",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && name != "tests.rs" => found.push(path),
            _ => {}
        }
    }
}

/// The names that a source defines as those of kinds of stages.
fn defined(text: &str) -> Vec<String> {
    let made = text.match_indices("KindFacts::new(").chain(text.match_indices("quiet("));
    let named =
        made.filter_map(|(at, call)| text[at + call.len()..].trim_start().strip_prefix('"'));
    named.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn a_kind_is_one_file_and_one_line() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    assert!(files.len() > 400, "the sources were not found");
    let text = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned()
    };
    let texts: Vec<(String, String)> = (files.iter())
        .map(|file| (file.strip_prefix(&crates).unwrap().display().to_string(), text(file)))
        .collect();
    let kinds: Vec<String> = texts.iter().flat_map(|(_, text)| defined(text)).collect();
    assert!(kinds.len() > 10 && kinds.iter().any(|kind| kind == "allocate"), "{kinds:?}");
    let mut named = Vec::new();
    for (file, text) in &texts {
        if ALLOWED.iter().any(|(allowed, _)| file.starts_with(allowed)) {
            continue;
        }
        let known = defined(text);
        for kind in kinds.iter().filter(|kind| !known.contains(kind)) {
            let common = COMMON.contains(&kind.as_str());
            let quoted = format!("\"{kind}\"");
            let names = |line: &&str| {
                let code = line.split("//").next().unwrap();
                let compared = [".kind", "kind: ", "\"kind\""].iter().any(|is| code.contains(is));
                code.contains(&quoted) && (!common || compared)
            };
            named.extend(text.lines().find(names).map(|line| format!("{file}: {}", line.trim())));
        }
    }
    assert!(
        named.is_empty(),
        "kinds of stages are named outside of their files:\n{}",
        named.join("\n")
    );

    let table = texts.iter().find(|(file, _)| file.ends_with("experiment/src/kinds.rs")).unwrap();
    let lines = table.1.lines().skip_while(|line| !line.starts_with("const KINDS")).skip(1);
    let lines: Vec<_> = lines.take_while(|line| *line != "];").collect();
    assert_eq!(lines.len(), kinds.len(), "one line each: {lines:?}");
    let promised = std::fs::read_to_string(crates.join("../docs/new-stage.md")).unwrap();
    assert!(promised.contains("one file and one line"));
}
