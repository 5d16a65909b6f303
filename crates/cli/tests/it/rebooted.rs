//! Cells whose stack is restarted, and whose machine boots anew in their midst, for real and simulated.

use results::model::CellState;

use crate::program::{expect, fresh, json, ready, text};
use crate::uvdo::refused;

const EXPERIMENT: &str = include_str!("rebooted.toml");
/// Blocks of both files.
const BLOCKS: u64 = (32 << 20) / 4096;

#[test]
fn what_was_written_before_a_reboot_is_verified_after_it_on_vdo_lvmcache_and_xfs() {
    let Some(_turn) = ready("rebooted") else { return };
    let (dir, out) = fresh();
    let experiment = dir.path().join("rebooted.toml");
    std::fs::write(&experiment, EXPERIMENT).unwrap();
    expect(0, &["lab", "run", text(&experiment), "--out", text(&out)]);
    let result = results::open(&out).unwrap();
    assert_eq!(result.cells.len(), 3);
    for cell in &result.cells {
        let (record, variant) = (cell.record.as_ref().unwrap(), &cell.entry.variant);
        assert_eq!(record.state, CellState::Done, "{variant}: {:?}", record.reason);
        assert_eq!(record.leftovers, Some(Vec::new()), "{variant}");
        let stage = |name: &str| record.stages.iter().find(|stage| stage.name == name).unwrap();
        for name in ["before", "after"] {
            let found = stage(name).load.clone().unwrap().verify.unwrap();
            assert_eq!((found.read, found.correct), (BLOCKS, BLOCKS), "{variant} {name}: {found}");
        }
        let took = |name: &str| stage(name).end_ns.unwrap() - stage(name).start_ns;
        assert!(took("reboot") > took("restart") && took("restart") > 0, "{variant}");
        let ends = record.stages.windows(2).all(|two| two[0].end_ns <= Some(two[1].start_ns));
        assert!(ends, "{variant}: one clock");
        let boots = record.steps.iter().filter(|step| step.command == "reboot").count();
        assert_eq!(boots, 1, "{variant}");
    }
    // The first guest boots anew in the first cell, each other one goes on with a cell and begins the next.
    let consoles = result.lab_files.keys().filter(|name| name.contains("console")).count();
    assert_eq!(consoles, 4, "{:?}", result.lab_files.keys());
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["complete"], true, "{shown:#}");
}

#[test]
fn a_reboot_is_explained_simulated_and_refused_on_the_machine_that_this_is() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = dir.path().join("rebooted.toml");
    std::fs::write(&experiment, EXPERIMENT).unwrap();
    let output = expect(0, &["explain", text(&experiment)]).out;
    for word in ["umount", "vgchange", "reboot"] {
        assert!(output.contains(word), "{word}: {output}");
    }
    let out = dir.path().join("out");
    expect(0, &["run", text(&experiment), "--simulate", "--out", text(&out)]);
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["complete"], true, "{shown:#}");
    let here =
        ["run", text(&experiment), "--device", "data=/dev/null", "--device", "fast=/dev/null"];
    refused(2, &here, &["reboots the machine", "fathom lab run"]);
}
