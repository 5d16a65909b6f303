//! The crates' dependencies against the table of `docs/design.md`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Crate to the crates it may use, in the order of the table.
fn table() -> Vec<(String, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/design.md")).unwrap();
    let section = text.split("## Crates").nth(1).unwrap().split("\n## ").next().unwrap();
    section
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
            .unwrap_or_else(|| panic!("the design names {name}, which is no crate"));
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
        assert!(order.contains(&name.as_str()), "docs/design.md says nothing of crate {name}");
    }
}

#[test]
fn unsafe_code_stands_only_where_the_design_allows_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, folder) in table().iter().map(|(n, _)| (n, if n == "fathom" { "cli" } else { n })) {
        if ["sys", "engine", "reduce", "content"].contains(&name.as_str()) {
            continue;
        }
        let file = if name == "fathom" { "main.rs" } else { "lib.rs" };
        let text = std::fs::read_to_string(root.join(folder).join("src").join(file)).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{name} does not forbid unsafe code");
    }
}
