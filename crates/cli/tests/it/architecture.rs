//! The crates' dependencies, modules and names against `docs/design.md`.

mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use self::modules::Modules;

/// A section of `docs/design.md`.
fn section(title: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/design.md")).unwrap();
    text.split(&format!("## {title}\n")).nth(1).unwrap().split("\n## ").next().unwrap().to_owned()
}

/// Crate to the crates it may use, in the order of the table.
fn table() -> Vec<(String, Vec<String>)> {
    section("Crates")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let uses = cells[2].split(',').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty());
            (cells[1].trim_matches('`').to_owned(), uses.collect())
        })
        .collect()
}

/// Crate to the crates of this workspace it depends on, tests left out.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let uses = package["dependencies"].as_array().unwrap().iter();
            let ours = uses.filter(|d| d["path"].is_string() && d["kind"].is_null());
            let names = ours.map(|d| d["name"].as_str().unwrap().to_owned()).collect();
            (package["name"].as_str().unwrap().to_owned(), names)
        })
        .collect()
}

#[test]
fn every_crate_uses_only_what_the_design_allows() {
    let table = table();
    assert!(table.len() > 10, "the table was not found");
    let actual = dependencies();
    let order: Vec<_> = table.iter().map(|(name, _)| name.as_str()).collect();
    for (position, (name, allowed)) in table.iter().enumerate() {
        let uses = actual
            .get(name)
            .unwrap_or_else(|| panic!("the design names {name}, which is not a crate"));
        for used in uses.iter().filter(|used| *used != "units") {
            assert!(
                allowed.contains(used) || allowed == &["all"],
                "{name} uses {used}, which docs/design.md does not allow"
            );
            let above = order.iter().position(|o| o == used).unwrap();
            assert!(above < position, "{name} uses {used}, which stands below it");
        }
    }
    for name in actual.keys() {
        assert!(order.contains(&name.as_str()), "docs/design.md does not mention crate {name}");
    }
}

#[test]
fn faults_on_purpose_are_in_no_build_but_that_of_tests() {
    let built = |edges: &str| {
        let words = ["tree", "--offline", "--package", "fathom", "--depth", "1", "--format"];
        let tree = Command::new(env!("CARGO"))
            .args([&words[..], &["{p} {f}", "--edges", edges]].concat())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        String::from_utf8(tree.stdout).unwrap().matches(" faults").count()
    };
    assert_eq!(built("normal"), 0);
    assert!(built("normal,dev") >= 2, "the tests' program and the crate that executes its plans");
}

#[test]
fn unsafe_code_stands_only_where_the_design_allows_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, folder) in table().iter().map(|(n, _)| (n, if n == "fathom" { "cli" } else { n })) {
        if ["sys", "engine", "reduce", "content"].contains(&name.as_str()) {
            continue;
        }
        let roots = ["lib.rs", "main.rs"].map(|file| root.join(folder).join("src").join(file));
        let root = roots.iter().find(|file| file.exists()).unwrap();
        let text = std::fs::read_to_string(root).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{name} does not forbid unsafe code");
    }
}

/// The folder of a crate's sources.
fn sources(name: &str) -> PathBuf {
    let name = if name == "fathom" { "cli" } else { name };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src")
}

#[test]
fn modules_of_a_crate_use_each_other_one_way() {
    for (name, _) in table() {
        let circle = Modules::read(&sources(&name)).circle();
        assert_eq!(circle, None, "modules of {name} use each other in a circle");
    }
}

#[test]
fn a_circle_of_modules_is_found_and_a_re_export_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let circle = || Modules::read(folder.path()).circle();
    // Through the parent's re-export `b` uses `c`, which is not a circle.
    write("lib.rs", "mod a;\nmod b;\npub use a::Made;\n");
    write("a/mod.rs", "mod c;\npub use c::Made;\n");
    write("a/c.rs", "pub struct Made; // use crate::b::Other;\nconst WORD: &str = \"crate::b\";\n");
    write("b.rs", "use crate::{Made, a::Made as Same};\npub struct Other(Made, Same);\n");
    assert_eq!(circle(), None);
    write("a/c.rs", "pub struct Made;\n#[cfg(test)]\nmod tests { use crate::b::Other; }\n");
    assert_eq!(circle(), None);
    write("a/c.rs", "pub struct Made;\nfn made(_: &super::super::b::Other) {}\n");
    let found = circle().unwrap();
    assert_eq!(found, "crate::a::c -> crate::b -> crate::a::c");
    // A parent that uses what its child defines, which uses what the parent defines.
    write("b.rs", "mod c;\npub struct Other;\nfn other() { c::run() }\n");
    write("b/c.rs", "use super::Other;\npub fn run() {}\n");
    write("a/c.rs", "pub struct Made;\n");
    assert_eq!(circle().unwrap(), "crate::b -> crate::b::c -> crate::b");
}

/// Names that plain terms replaced in [`RENAMED`]: the glossary has what stands there now.
const REPLACED: &str = "\
    Bank Banks Board Cells Crew Dealt Desk Flight Gap Gaps Gate Gauge Got Ground Halt Hand Held \
    Hold Holds Maker Makers Moment Outline Settling Surface Tap Told Touched Watch Word \
    Words awaited bank banks board crew desk disband enlist gaps hand hands hold muster \
    outline pressed that_checks that_only_reads told taps";

/// Crates in which they were replaced.
const RENAMED: [&str; 3] = ["content", "engine", "reduce"];

/// Names that plain terms replaced everywhere.
const REPLACED_EVERYWHERE: &str = "\
    Bank Banks Beat Crew Desk Ground Hand Law Maker Moment Outline Scout Settling Tell \
    Tried Who Word disband enlist muster pressed that_checks that_only_reads with_read_checks";

/// Words of an earlier private idiom, which no comment may use.
const NO_COMMENT: [&str; 4] = ["desk", "crew", "banks", "keeps book"];

/// All source files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// Tells whether a path such as `engine::worker::Worker` names an item that is defined in the file of that module.
fn is_defined(path: &str) -> bool {
    const KINDS: [&str; 6] = ["struct", "enum", "trait", "type", "fn", "const"];
    let parts: Vec<_> = path.split("::").collect();
    let [name, modules @ .., item] = &parts[..] else { return false };
    let file = sources(name).join(modules.join("/"));
    let files = [file.with_extension("rs"), file.join("mod.rs")];
    let Some(text) = files.iter().find_map(|file| std::fs::read_to_string(file).ok()) else {
        return false;
    };
    let tokens = modules::tokens(&text);
    tokens.windows(2).any(|pair| KINDS.contains(&pair[0].as_str()) && pair[1] == *item)
}

#[test]
fn each_term_of_the_glossary_names_what_there_is() {
    let section = section("Terms of the field");
    let rows: Vec<_> = section.lines().filter(|line| line.contains("::")).collect();
    assert!(rows.len() > 20, "the glossary was not found");
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let path = cells[3].trim_matches('`');
        assert!(is_defined(path), "docs/design.md: {} is not at {path}", cells[1]);
    }
    assert!(!is_defined("engine::worker::Crew") && !is_defined("engine::crew::Worker"));
}

#[test]
fn replaced_names_stay_out_of_the_code() {
    let names = |list: &'static str| list.split_whitespace().collect::<BTreeSet<_>>();
    let (replaced, everywhere) = (names(REPLACED), names(REPLACED_EVERYWHERE));
    for (name, _) in table() {
        let here = RENAMED.contains(&name.as_str());
        for file in rust_files(sources(&name).parent().unwrap()) {
            let tokens = modules::tokens(&std::fs::read_to_string(&file).unwrap());
            let old = |token: &&String| {
                everywhere.contains(token.as_str()) || here && replaced.contains(token.as_str())
            };
            assert_eq!(tokens.iter().find(old), None, "{} brings an old name back", file.display());
        }
        for file in rust_files(&sources(&name)) {
            let text = std::fs::read_to_string(&file).unwrap();
            let comments = text.lines().filter_map(|line| Some(line.split_once("//")?.1));
            let words =
                |comment: &str| format!(" {} ", comment.replace(|c: char| !c.is_alphabetic(), " "));
            let old = |comment: &&str| {
                NO_COMMENT.iter().any(|word| words(comment).contains(&format!(" {word} ")))
            };
            let found = comments.clone().find(old);
            assert_eq!(found, None, "{} speaks a private idiom", file.display());
        }
    }
}

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    /// Words that do not say what the thing is, or does.
    const BAD: [&str; 5] = ["What", "Whether", "How", "Where", "Of"];
    /// The most of all comments that may begin so, percent.
    const MOST: usize = 5;
    let (mut all, mut bad) = (0, Vec::new());
    for (name, _) in table() {
        for file in rust_files(sources(&name).parent().unwrap()) {
            let text = std::fs::read_to_string(&file).unwrap();
            let lines = text.lines().map(|line| {
                let line = line.trim_start();
                line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
            });
            let begins = lines.scan(false, |within, line| {
                let first = line.filter(|_| !*within);
                *within = line.is_some();
                Some(first)
            });
            for first in begins.flatten() {
                let word = first
                    .trim_start()
                    .split(|c: char| !c.is_alphabetic())
                    .next()
                    .unwrap_or_default();
                all += 1;
                if BAD.contains(&word) {
                    bad.push(format!("{}: {first}", file.display()));
                }
            }
        }
    }
    assert!(all > 10_000, "{all} comments were found");
    assert!(bad.len() * 100 <= all * MOST, "{} of {all}:\n{}", bad.len(), bad.join("\n"));
}
