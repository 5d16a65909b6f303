//! Commands of `fathom-bench`, as far as they start no guest and ask no peer.

use std::path::Path;

use crate::loop_device::loop_device;
use crate::program::{Answer, expect, fathom_in, skip, text};

#[test]
fn without_a_guest_the_bench_of_disks_says_what_the_models_give() {
    let answer = expect(0, &["disks", "--like", "hdd"]);
    assert!(answer.out.contains("depth 32") && answer.err.contains("--lab"), "{}", answer.out);
    let answer = expect(2, &["disks", "--lab", "--like", "floppy"]);
    assert!(answer.err.contains("'floppy'") && answer.err.contains("hdd"), "{}", answer.err);
}

#[test]
fn the_floor_writes_only_where_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("thesis.txt");
    std::fs::write(&file, vec![b'x'; 1 << 20]).unwrap();
    let floor = |path, more: &[&str]| {
        let words = ["floor", path, "--size", "1M", "--write", "--duration", "10ms"];
        fathom_in(&std::env::temp_dir(), &[&words, more].concat())
    };
    let answer = floor(text(&file), &[]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("--destroy-data"), "{}", answer.err);
    assert_eq!(std::fs::read(&file).unwrap(), vec![b'x'; 1 << 20]);

    let run = |program: &str, words: &[&str]| {
        std::process::Command::new(program).args(words).status().is_ok_and(|s| s.success())
    };
    let Some(disk) = loop_device(64 << 20) else {
        return skip(
            "the_floor_writes_only_where_it_may",
            "no loop device can be made (needs root)",
        );
    };
    let place = tempfile::tempdir().unwrap();
    let mounted = run("/sbin/mkfs.ext4", &["-q", &disk.path])
        && run("mount", &[&disk.path, text(place.path())]);
    if !mounted {
        return skip("the_floor_writes_only_where_it_may", "no file system can be mounted");
    }
    let answer = floor(&disk.path, &["--destroy-data"]);
    assert!(run("umount", &[text(place.path())]));
    assert_eq!(answer.code, Some(4), "{}", answer.err);
    assert!(answer.err.contains("mounted"), "{}", answer.err);
}

/// The last line of an answer.
fn last(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(answer.out.lines().last().unwrap_or_default()).unwrap_or_default()
}

#[test]
fn loads_by_turns_say_what_each_read_cost_and_never_write() {
    let dir = tempfile::tempdir().unwrap();
    let run = |words: &str| fathom_in(dir.path(), &words.split_whitespace().collect::<Vec<_>>());
    let fill = run("fathom load x --size 16M --ops write=100 --passes 1 --verify-state state");
    assert_eq!(fill.code, Some(0), "{}", fill.err);
    let reads = "x --size 16M --ops randread=100 --ios 2000 --verify read --backend sync";
    let words = format!("turns --rounds 3 -- {reads} --then {reads} --verify-state state");
    let answer = run(&words);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let costs = &last(&answer)["cpu_per_io_us"];
    for load in [&costs[0], &costs[1]] {
        let turns: Vec<f64> = serde_json::from_value(load.clone()).unwrap();
        assert!(turns.len() == 3 && turns.iter().all(|&cost| cost > 0.0), "{costs}");
    }
    let before = std::fs::read(dir.path().join("x")).unwrap();
    let answer = run(&words.replace("randread", "randwrite"));
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("Only loads that read"), "{}", answer.err);
    assert!(std::fs::read(dir.path().join("x")).unwrap() == before);
}

#[test]
fn every_bench_that_a_page_names_has_the_options_that_the_page_gives_it() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = std::fs::read_dir(docs).unwrap().flatten().map(|entry| entry.path());
    let pages = pages.filter(|path| path.is_file()).map(std::fs::read_to_string);
    let text: String = pages.filter_map(Result::ok).collect();
    let (mut seen, mut lost) = (0, Vec::new());
    for (at, name) in text.match_indices("fathom-bench ") {
        let rest = &text[at + name.len()..];
        let end = rest.find(['"', '`', ';', '(', ')', '\n', ':', ',']).unwrap_or(rest.len());
        let mut words = rest[..end].split_whitespace();
        let Some(command) =
            words.next().filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
        else {
            continue;
        };
        seen += 1;
        let help = fathom_in(&std::env::temp_dir(), &[command, "--help"]).out;
        let options = words.take_while(|word| *word != "--").filter(|word| word.starts_with("--"));
        let unknown = options.filter(|word| !help.contains(word.trim_matches(['[', ']'])));
        lost.extend(unknown.map(|option| format!("{command} {option}")));
        if help.is_empty() {
            lost.push(command.to_owned());
        }
    }
    assert!(seen > 15, "only {seen} places name a bench");
    assert!(lost.is_empty(), "{lost:#?}");
}
