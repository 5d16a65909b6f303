//! What the documents show must work.

use std::collections::BTreeMap;
use std::path::Path;

/// The blocks fenced as `language` in a document.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = std::fs::read_to_string(path).unwrap();
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn compose(name: &str, text: &str) {
    let choices = experiment::Choices {
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
