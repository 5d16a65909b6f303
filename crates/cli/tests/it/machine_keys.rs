//! The cost of a key of the lab's machine, in files: what docs/new-machine.md promises.

use std::path::{Path, PathBuf};

const CRATES: [&str; 9] =
    ["analysis", "cli", "doctor", "experiment", "host", "plan", "report", "results", "run"];

/// Sources below `folder`, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The code of a source, without comments and tests.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_key_of_the_machine_costs_the_three_files_that_its_page_promises() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    CRATES.iter().for_each(|name| sources(&root.join(name).join("src"), &mut files));
    assert!(files.len() > 200, "the sources were not found");
    let (key, value) = ("experiment/src/written/machine.rs", "plan/src/lib.rs");
    let (guest, option) = ("cli/src/guests.rs", "cli/src/commands/lab.rs");
    for name in ["memory", "cpus"] {
        assert!(code(&root.join(key)).contains(&format!("key(\"{name}\"")), "{name}");
        assert!(code(&root.join(value)).contains(&format!("pub {name}: Option<")), "{name}");
        let of_machine = format!("spec.{name} = machine.{name}");
        assert!(code(&root.join(guest)).contains(&of_machine), "{name}");
        // The only other file is that of the option, which is refused if the experiment sets the same key.
        let others = files.iter().filter(|path| code(path).contains(&format!("machine.{name}")));
        let others: Vec<_> = others.map(|path| path.strip_prefix(&root).unwrap()).collect();
        let known = [Path::new(guest), Path::new(option)];
        assert!(others.iter().all(|path| known.contains(path)), "{name}: {others:?}");
    }
    let page = std::fs::read_to_string(root.join("../docs/new-machine.md")).unwrap();
    assert!(page.contains("**three files**"));
    assert!([key, value, guest].iter().all(|file| page.contains(file)), "the page names each");
}
