//! Experiments, links and named sources in the documents must be right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::program::{expect, fresh, text};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The blocks fenced as `language` in a document.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn compose(name: &str, text: &str) {
    let choices = experiment::PlanOptions {
        seed: units::Seed(1),
        run_tag: "00000000".into(),
        repeat: None,
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    if let Err(error) = experiment::compose(name, text, &choices) {
        panic!("{}", error.render(false));
    }
}

#[test]
fn every_experiment_that_a_document_shows_is_valid() {
    for document in ["docs/experiments.md", "README.md"] {
        let shown = blocks(document, "toml");
        assert!(!shown.is_empty(), "{document} shows no experiment");
        for (i, text) in shown.iter().enumerate() {
            compose(&format!("{document} #{}", i + 1), text);
        }
    }
}

#[test]
fn every_shipped_experiment_is_valid_and_named_like_its_file() {
    for shipped in experiment::SHIPPED {
        compose(shipped.name, shipped.text);
        assert!(shipped.text.contains(&format!("= \"{}\"", shipped.name)), "{}", shipped.name);
    }
}

#[test]
fn nothing_that_a_shipped_experiment_calls_by_name_comes_into_its_headline_as_a_key() {
    let is_key = |name: &str| name.contains(['_', '=']) || name.split('.').count() > 2;
    for shipped in experiment::SHIPPED {
        let values = |key: &'static str| {
            let lines = shipped.text.lines().filter_map(move |line| line.split_once(key));
            lines.filter_map(|(_, rest)| rest.split('"').nth(1))
        };
        // A name that comes from the kernel is not a key of Fathom's.
        let names = values("name ").chain(values("name=")).filter(|n| !n.starts_with("O_DSYNC"));
        for name in names {
            assert!(!is_key(name), "{}: {name}", shipped.name);
        }
        for id in values("metric = ") {
            let metric = layers::metric(id);
            let label = metric.unwrap_or_else(|| panic!("{}: {id}", shipped.name)).name;
            assert!(!is_key(label), "{}: {label}", shipped.name);
        }
    }
}

#[test]
fn headlines_of_simulated_experiments_are_short_and_of_plain_words() {
    for name in ["vdo-vs-plain", "disk-profiles", "copy-on-vdo", "tar-trap"] {
        let (dir, out) = fresh();
        expect(0, &["run", name, "--simulate", "--repeat", "1", "--out", text(&out)]);
        let page = dir.path().join("page.html");
        expect(0, &["report", text(&out), "-o", text(&page)]);
        let page = std::fs::read_to_string(page).unwrap();
        let headline = page.split("<h1").nth(1).and_then(|rest| rest.split("</h1>").next());
        let headline = headline.and_then(|rest| rest.split_once('>')).unwrap().1;
        let words = headline.split_whitespace().count();
        assert!(
            words <= report::view::HEADLINE_WORDS && !headline.contains(['_', '=']),
            "{name}: {words}: {headline}"
        );
    }
}

/// All Markdown below a folder.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { markdown(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// The lines of a document that are not fenced.
fn prose(text: &str) -> String {
    let parts = text.split("```").step_by(2);
    parts.collect()
}

/// Returns the targets of a document's links that are on this machine.
fn links(text: &str) -> Vec<String> {
    let text = prose(text);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.to_owned());
    targets.filter(|target| !target.contains("://") && !target.contains(' ')).collect()
}

/// The anchors of a document's headings, as forges make them: small letters, hyphens for blanks, no other marks.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = prose(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let kept = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let root = root();
    let mut documents = [markdown(&root.join("docs")), markdown(&root.join("crates"))].concat();
    documents.push(root.join("README.md"));
    let mut checked = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = document.parent().unwrap().join(file);
            let target = if file.is_empty() { document.clone() } else { target };
            assert!(target.exists(), "{}: nothing is at {link}", document.display());
            let there = || anchors(&std::fs::read_to_string(&target).unwrap()).contains(anchor);
            assert!(
                anchor.is_empty() || there(),
                "{}: no heading is at {link}",
                document.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} links were found");
}

#[test]
fn every_page_says_what_it_answers_and_is_in_the_index() {
    let docs = root().join("docs");
    let index = links(&std::fs::read_to_string(docs.join("README.md")).unwrap());
    for entry in std::fs::read_dir(&docs).unwrap() {
        let page = entry.unwrap().path();
        if page.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&page).unwrap();
        let first = text.lines().nth(2).unwrap();
        assert!(first.starts_with("This page answers: "), "{name} begins with: {first}");
        let linked = |link: &String| link.split('#').next() == Some(&name);
        assert!(
            name == "README.md" || index.iter().any(linked),
            "docs/README.md leaves {name} out"
        );
    }
}

#[test]
fn every_source_that_a_page_names_is_there() {
    let root = root();
    for page in markdown(&root.join("docs")) {
        // A page of the journal describes the program of its day.
        if page.parent().unwrap().ends_with("journal") {
            continue;
        }
        let text = std::fs::read_to_string(&page).unwrap();
        for code in prose(&text).split('`').skip(1).step_by(2) {
            let path = code.starts_with("crates/") && !code.contains(['*', ' ', '{', 'N']);
            assert!(!path || root.join(code).exists(), "{}: no {code}", page.display());
        }
    }
}
