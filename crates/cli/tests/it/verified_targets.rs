//! A state of verification belongs to one target: a rename is followed, a swap is refused.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Answer, fathom_in, skip, text};

const FILL: &str = "--ops write=100 --passes 1";
const LOOK: &str = "--ops read=100 --passes 1 --verify";

fn load(dir: &Path, target: &str, words: &str) -> Answer {
    let words = format!("{words} --size 4M --verify-state state --json");
    let args = ["load", target].into_iter().chain(words.split_whitespace());
    fathom_in(dir, &args.collect::<Vec<_>>())
}

/// All of the target is right by its state.
fn all_right(answer: &Answer) {
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let summary: Value = serde_json::from_str(answer.out.lines().last().unwrap()).unwrap();
    assert_eq!(summary["verify"]["correct"], 1024, "{summary}");
}

/// Runs a tool and tells whether it succeeded.
fn tool(name: &str, args: &[&str]) -> bool {
    Command::new(name).args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_state_follows_its_file_and_is_refused_for_every_other() {
    for (swap, followed) in [
        ("renamed", true),
        ("linked", true),
        ("by a link", true),
        ("another", false),
        ("a copy", false),
        ("a copy with attributes", false),
        ("made again", false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let at = |name: &str| dir.join(name);
        assert_eq!(load(dir, "a", FILL).code, Some(0));
        let state = std::fs::read(at("state")).unwrap();
        let target = if swap == "made again" { "a" } else { "b" };
        match swap {
            "renamed" => std::fs::rename(at("a"), at("b")).unwrap(),
            "linked" => std::fs::hard_link(at("a"), at("b")).unwrap(),
            "by a link" => std::os::unix::fs::symlink("a", at("b")).unwrap(),
            "a copy" => drop(std::fs::copy(at("a"), at("b")).unwrap()),
            "a copy with attributes" => {
                assert!(tool("cp", &["-a", text(&at("a")), text(&at("b"))]));
            }
            _ => {
                let bytes = std::fs::read(at("a")).unwrap();
                let _ = std::fs::remove_file(at(target));
                let other = format!("load {target} --size 4M {FILL}");
                let args: Vec<&str> = other.split_whitespace().collect();
                assert_eq!(fathom_in(dir, &args).code, Some(0));
                assert!(std::fs::read(at(target)).unwrap() != bytes);
            }
        }
        if followed {
            all_right(&load(dir, target, LOOK));
            continue;
        }
        // Neither a load that reads nor one that writes takes it, and both leave state and target as they are.
        let before = std::fs::read(at(target)).unwrap();
        for words in [LOOK, "--ops randwrite=100 --ios 10 --destroy-data"] {
            let answer = load(dir, target, words);
            assert_eq!(answer.code, Some(2), "{swap}: {}", answer.err);
            for phrase in ["is of another target: it was the file", "--verify-state-of-another"] {
                assert!(answer.err.contains(phrase), "{swap}: {}", answer.err);
            }
            assert!(std::fs::read(at("state")).unwrap() == state, "{swap}");
            assert!(std::fs::read(at(target)).unwrap() == before, "{swap}");
        }
        // The word of the user counts for this once: a load that only reads leaves the state to its owner.
        if swap.starts_with("a copy") {
            all_right(&load(dir, target, &format!("{LOOK} --verify-state-of-another")));
            assert_eq!(load(dir, target, LOOK).code, Some(2));
            all_right(&load(dir, "a", LOOK));
        }
    }
}

#[test]
fn a_state_of_an_earlier_version_that_names_no_target_is_refused_until_the_user_insists() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert_eq!(load(dir, "a", FILL).code, Some(0));
    let old = without_identities(&std::fs::read(dir.join("state")).unwrap());
    std::fs::write(dir.join("state"), old).unwrap();
    let answer = load(dir, "a", LOOK);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("does not name its target"), "{}", answer.err);
    all_right(&load(dir, "a", &format!("{LOOK} --verify-state-of-another")));
    assert_eq!(load(dir, "a", LOOK).code, Some(2), "a load that reads gives it no owner");
    let write = "--ops randwrite=100 --ios 10 --destroy-data --verify-state-of-another";
    assert_eq!(load(dir, "a", write).code, Some(0));
    all_right(&load(dir, "a", LOOK));
}

/// A state file as earlier versions wrote it.
fn without_identities(bytes: &[u8]) -> Vec<u8> {
    let (head, rest) = bytes.split_at(12);
    let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&rest[4..4 + length]).unwrap();
    assert!(header.as_object_mut().unwrap().remove("identities").is_some());
    let json = serde_json::to_vec(&header).unwrap();
    let body = &rest[4 + length..rest.len() - 4];
    let mut old = [head, &(json.len() as u32).to_le_bytes(), &json, body].concat();
    let sum = crc32fast::hash(&old);
    old.extend(sum.to_le_bytes());
    old
}

#[test]
fn a_state_of_a_loop_device_is_of_what_it_stands_on() {
    let name = "a_state_of_a_loop_device_is_of_what_it_stands_on";
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let on = |file: &str| {
        let path = dir.join(file);
        if !path.exists() {
            std::fs::File::create(&path).unwrap().set_len(4 << 20).unwrap();
        }
        let made = Command::new("losetup").args(["--find", "--show"]).arg(path).output().ok()?;
        let node = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        (made.status.success() && !node.is_empty()).then_some(node)
    };
    let Some(first) = on("disk") else {
        return skip(name, "no loop device can be made (needs root)");
    };
    let other = on("other").unwrap();
    let filled = load(dir, &first, FILL);
    let swapped = load(dir, &other, LOOK);
    assert!(tool("losetup", &["--detach", &first]));
    // Another number, another name of the file.
    std::fs::rename(dir.join("disk"), dir.join("moved")).unwrap();
    let again = on("moved").unwrap();
    let followed = load(dir, &again, LOOK);
    assert!(tool("losetup", &["--detach", &other]) && tool("losetup", &["--detach", &again]));
    assert_eq!(filled.code, Some(0), "{}", filled.err);
    assert_eq!(swapped.code, Some(2), "{}", swapped.err);
    assert!(swapped.err.contains("is of another target: it was a loop device on"), "{swapped:?}");
    all_right(&followed);
}
