//! Examples of `--help`: those that need no device, no guest and no earlier result are run as they are typed, with less data.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::expect;

/// Commands whose examples are run, in this order: what one makes the next may read.
const COMMANDS: [&[&str]; 10] = [
    &["load"],
    &["estimate"],
    &["disk", "show"],
    &["disk", "bench"],
    &["disk", "replay"],
    &["trace", "show"],
    &["advise"],
    &["catalogue"],
    &["layers"],
    &["uvdo", "create"],
];
/// Words of examples that need what is not there.
const NEEDS: [&str; 6] = ["/dev/", "/srv/", "disk.qcow2", "result/", "--out", "fathom doctor"];

#[test]
fn examples_of_help_run_as_they_are_typed() {
    let dir = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_fathom")).parent().unwrap().display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let mut run = 0;
    for command in COMMANDS {
        let help = expect(0, &[command, &["--help"]].concat()).out;
        let (_, shown) = help.split_once("Example").unwrap();
        for line in shown.lines().filter_map(|line| line.find("fathom ").map(|at| &line[at..])) {
            if NEEDS.iter().any(|word| line.contains(word)) {
                continue;
            }
            let typed = line.split("   ").next().unwrap();
            let typed = typed
                .replace("--size 1G", "--size 8M")
                .replace("--duration 5s", "--duration 200ms");
            let typed = typed.replace("--duration 3s", "--duration 200ms");
            let output = Command::new("sh")
                .args(["-c", &typed])
                .current_dir(dir.path())
                .env("PATH", &path)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{typed}\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
            run += 1;
        }
    }
    assert!(run >= 15, "only {run} examples ran");
}
