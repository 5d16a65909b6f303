//! The short reader that the manual gives reads what the crate reads.

use std::process::Command;

use results::frames;
use results::model::Row;

#[test]
fn the_reader_in_the_manual_gives_the_same_rows_of_a_damaged_log() {
    let name = "the_reader_in_the_manual_gives_the_same_rows_of_a_damaged_log";
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIP {name}: there is no python3");
        return;
    }
    let manual = include_str!("../../../../docs/results.md");
    let script = manual.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let mut log: Vec<u8> =
        fixture::with(1, 40_000.0).cells[1].rows.iter().flat_map(frames::encode).collect();
    let middle = log.len() / 2;
    log[middle] ^= 0x10;
    log.truncate(log.len() - 5);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.log");
    std::fs::write(&path, &log).unwrap();
    let json = script.replace("print(json.loads(payload))", "print(payload.decode())");
    let output = Command::new("python3").args(["-c", &json]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<Row> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let (ours, damage) = frames::read(&log[..]).unwrap();
    assert_eq!(damage.len(), 2);
    assert!(theirs.len() > 10 && theirs == ours);
    let whole = Command::new("python3").args(["-c", script]).arg(&path).output().unwrap();
    assert!(whole.status.success(), "as it stands in the manual, too");
}
