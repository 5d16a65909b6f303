//! The seal of a whole result.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use results::checksums::{self, SUMS, Seal};
use results::sink::DirSink;

/// A result with its seal.
fn sealed() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let truth = fixture::with(1, 40_000.0);
    fixture::write(&truth, &mut DirSink::create(&at).unwrap()).unwrap();
    for cell in &truth.cells {
        results::seal(&at, &cell.entry.folder).unwrap();
    }
    checksums::write(&at).unwrap();
    (dir, at)
}

/// Reads the result and returns its seal.
fn read(at: &Path) -> Seal {
    results::open(at).unwrap().seal
}

fn listed(at: &Path) -> Vec<String> {
    let list = fs::read_to_string(at.join(SUMS)).unwrap();
    list.lines().map(|line| line[66..].to_owned()).collect()
}

#[test]
fn a_sealed_result_lists_every_file_as_sha256sum_does() {
    let (_dir, at) = sealed();
    assert_eq!(read(&at), Seal::Whole);
    let files = listed(&at);
    assert_eq!(files.len(), 3 + 2 * 3 + 1, "{files:?}");
    let Ok(answer) =
        Command::new("sha256sum").args(["--check", "--strict", SUMS]).current_dir(&at).output()
    else {
        println!("SKIP a_sealed_result_lists_every_file_as_sha256sum_does: there is no sha256sum");
        return;
    };
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
}

#[test]
fn a_changed_digit_in_any_file_names_the_file() {
    let (_dir, at) = sealed();
    for file in listed(&at) {
        let whole = fs::read(at.join(&file)).unwrap();
        let mut changed = whole.clone();
        let digit = changed.iter().rposition(u8::is_ascii_digit).unwrap();
        changed[digit] = b'0' + (changed[digit] - b'0' + 1) % 10;
        fs::write(at.join(&file), &changed).unwrap();
        let seal = checksums::check(&at).unwrap();
        assert_eq!(seal, Seal::Broken(vec![format!("{file} was changed")]));
        fs::write(at.join(&file), &whole).unwrap();
    }
    assert_eq!(read(&at), Seal::Whole);
}

#[test]
fn files_that_went_or_came_break_the_seal_and_those_of_others_do_not() {
    let (_dir, at) = sealed();
    fs::write(at.join("page.html"), "mine").unwrap();
    fs::write(at.join("lab/half.new"), "left by a kill").unwrap();
    assert_eq!(read(&at), Seal::Whole);
    fs::write(at.join("lab/more.log"), "not of the run").unwrap();
    fs::remove_file(at.join("experiment.toml")).unwrap();
    let wrong = ["experiment.toml is missing", "lab/more.log was added"].map(str::to_owned);
    assert_eq!(read(&at), Seal::Broken(wrong.to_vec()));
}

#[test]
fn a_result_without_a_list_is_not_sealed_and_a_list_that_is_none_says_so() {
    let (_dir, at) = sealed();
    fs::write(at.join(SUMS), "junk\n../../etc/passwd\n").unwrap();
    let Seal::Broken(wrong) = read(&at) else { panic!("junk is no seal") };
    assert_eq!(
        wrong[..2],
        ["line 1 of SHA256SUMS is no checksum", "line 2 of SHA256SUMS is no checksum"]
    );
    fs::remove_file(at.join(SUMS)).unwrap();
    assert_eq!(read(&at), Seal::None);
}

#[test]
fn no_line_leads_out_of_the_result() {
    let (_dir, at) = sealed();
    let list = fs::read_to_string(at.join(SUMS)).unwrap();
    let zeros = "0".repeat(64);
    fs::write(at.join(SUMS), format!("{list}{zeros}  ../outside\n{zeros}  /etc/passwd\n")).unwrap();
    let Seal::Broken(wrong) = read(&at) else { panic!("it leads out") };
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong.iter().all(|line| line.ends_with("is no checksum")), "{wrong:?}");
}
