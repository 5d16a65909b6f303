//! Runs on LVM and bcache that are killed inside a guest: `clean` takes them down in the right order, also where most lines of the transcript are lost.

use std::process::Stdio;

use crate::program::{command, fresh, ready, text};

#[test]
fn caches_of_a_killed_run_are_taken_down_though_lines_are_lost() {
    let Some(_turn) = ready("killed_inside") else { return };
    let (dir, _) = fresh();
    let experiment = dir.path().join("outer.toml");
    std::fs::write(&experiment, include_str!("killed_inside.toml")).unwrap();
    let arguments = ["lab", "shell", "--experiment", text(&experiment), "--variant", "nothing"];
    let mut shell = command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, include_bytes!("killed_inside.sh")).unwrap();
    drop(input);
    let output = shell.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    for name in ["whole", "cut", "bcache"] {
        for phrase in [format!("CLEANED {name} 0"), format!("AGAIN {name} 0")] {
            let told = printed.lines().filter(|line| line.trim_end() == phrase).count();
            assert_eq!(told, 1, "{phrase}: {printed}");
        }
    }
    assert_eq!(printed.matches("nothing is left of this run").count(), 3, "{printed}");
    assert_eq!(printed.matches("everything is taken down").count(), 3, "{printed}");
}
