//! Cells whose machine is killed, and whose disks lose their power, for real and simulated.

use results::model::CellState;

use crate::program::{expect, fathom_in, fresh, json, ready, text};
use crate::uvdo::refused;

const EXPERIMENT: &str = include_str!("crashed.toml");

#[test]
fn a_power_cut_takes_what_was_not_flushed_and_a_lying_disk_is_found() {
    let Some(_turn) = ready("crashed") else { return };
    let (dir, out) = fresh();
    let experiment = dir.path().join("crashed.toml");
    std::fs::write(&experiment, EXPERIMENT).unwrap();
    let ended = fathom_in(dir.path(), &["lab", "run", text(&experiment), "--out", text(&out)]);
    let result = results::open(&out).unwrap();
    assert_eq!(result.cells.len(), 3, "{}", ended.err);
    for cell in &result.cells {
        let (record, variant) = (cell.record.as_ref().unwrap(), cell.entry.variant.as_str());
        let fact = |what: &str| -> u64 {
            let role = if variant == "lying" { "liar" } else { "data" };
            let name = format!("crash.{role}.{what}_bytes");
            record
                .facts
                .get(&name)
                .unwrap_or_else(|| panic!("{variant}: {:?}", record.facts))
                .parse()
                .unwrap()
        };
        // The lying disk has the 300 writes of `kept` at risk, the others what came between the start of the last load and the cut, which may be
        // little on a busy machine; VDO writes out its journal all the time.
        let least = match variant {
            "lying" => 1 << 20,
            "plain" => 1 << 16,
            _ => 0,
        };
        assert!(
            fact("at_risk") >= least && fact("lost") >= least / 4,
            "{variant}: {:?}",
            record.notices
        );
        let look = record.stages.iter().find(|stage| stage.name == "look").unwrap();
        let found = look.load.clone().unwrap().verify.unwrap();
        assert!(found.checked >= 250, "{variant}: {found}");
        assert_eq!(found.wrong_blocks() > 0, variant == "lying", "{variant}: {found}");
        let state = if variant == "lying" { CellState::Failed } else { CellState::Done };
        assert_eq!(record.state, state, "{variant}: {:?}", record.reason);
        assert_eq!(record.leftovers, Some(Vec::new()), "{variant}");
        let cuts =
            record.steps.iter().filter(|step| step.command.contains("cut the power")).count();
        assert_eq!(cuts, 1, "{variant}");
    }
}

#[test]
fn a_crash_is_explained_simulated_and_refused_where_it_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = dir.path().join("crashed.toml");
    std::fs::write(&experiment, EXPERIMENT).unwrap();
    let output = expect(0, &["explain", text(&experiment)]).out;
    for word in ["cut the power of the machine", "at_flush", "dmsetup create"] {
        assert!(output.contains(word), "{word}: {output}");
    }
    let out = dir.path().join("out");
    expect(0, &["run", text(&experiment), "--simulate", "--out", text(&out)]);
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["complete"], true, "{shown:#}");
    refused(2, &["run", text(&experiment), "--device", "data=/dev/null"], &["reboots the machine"]);
    for (old, new, words) in [
        ("like = \"ssd\"\n", "", ["Only a modelled disk", "like = \"ssd\""]),
        ("\"at_flush\"", "\"late\"", ["destage", "at_flush"]),
        ("\"cut\"", "\"off\"", ["power", "kept"]),
        ("duration = \"2s\"", "ios = 9", ["not a load with a duration", "duration"]),
        ("duration = \"2s\"", "duration = \"2s\"\nmeasure = true", ["is measured", "leave"]),
    ] {
        std::fs::write(&experiment, EXPERIMENT.replacen(old, new, 1)).unwrap();
        refused(2, &["explain", text(&experiment)], &words);
    }
    let plain = EXPERIMENT.replacen("like = \"ssd\"\ndestage = \"at_flush\"\n", "", 1);
    let plain = plain.replacen("like = \"ssd\"\ndestage = \"never\"\n", "", 1);
    std::fs::write(&experiment, plain).unwrap();
    refused(2, &["explain", text(&experiment)], &["no volatile cache", "destage"]);
}
