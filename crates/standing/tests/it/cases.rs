//! Ten cases made after public reports: the doctor names the cause, and no longer does so once it is removed.

use std::collections::BTreeSet;

use results::model::Finding;
use standing::{Top, sos, stack};

use crate::unpacked::{Case, case, cases};

fn found(case: &Case) -> Vec<Finding> {
    let dir = tempfile::tempdir().unwrap();
    case.unpack(dir.path());
    let read = sos::read(dir.path()).unwrap();
    doctor::examine_standing(&stack(&read, &Top::All), &read.of)
}

fn rules(case: &Case) -> BTreeSet<String> {
    found(case).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn the_cause_of_every_case_is_named_with_its_number_and_where_it_was_read() {
    let all = cases();
    assert_eq!(all.len(), 10);
    for case in &all {
        let found = found(case);
        for cause in &case.causes {
            let rules: Vec<_> = found.iter().map(|finding| &finding.rule).collect();
            let finding = found.iter().find(|finding| finding.rule == *cause);
            let finding =
                finding.unwrap_or_else(|| panic!("{}: no {cause} in {rules:?}", case.name));
            assert!(
                finding.evidence.contains("(read: ") && !finding.remedy.is_empty(),
                "{finding:#?}"
            );
        }
        assert!(found.iter().any(|finding| finding.rule == "looked_at"), "{}", case.name);
    }
}

#[test]
fn a_case_whose_cause_is_taken_away_is_silent_about_it() {
    let table = "sos_commands/devicemapper/dmsetup_table";
    let status = "sos_commands/devicemapper/dmsetup_status";
    let mounts = "proc/self/mountinfo";
    let changes = [
        ("vdo-one-thread", table, "hash 1 logical 1 physical 1", "hash 2 logical 4 physical 2"),
        ("vdo-online-discard", mounts, ",discard", ""),
        ("thin-below-luks", "sys/block/dm-4/queue/discard_max_bytes", "0", "65536"),
        ("thin-metadata", status, "32700/32768", "3000/32768"),
        ("vdo-below-luks", table, "253:2 32768", "8:16 32768"),
        ("disk-errors", "sos_commands/kernel/dmesg", "dev sdb,", "dev sdz,"),
    ];
    for (name, file, from, to) in changes {
        let mut case = case(name);
        assert!(rules(&case).contains(&case.causes[0]), "{name}");
        case.change(file, from, to);
        assert!(!rules(&case).contains(&case.causes[0]), "{name} still says {}", case.causes[0]);
    }
}

#[test]
fn what_a_report_lacks_is_said_and_a_key_is_never_shown() {
    let mut full = case("vdo-full");
    full.files.retain(|(path, _)| !path.contains("dmsetup_status") && !path.contains("vdostats"));
    let found = found(&full);
    assert!(!found.iter().any(|finding| finding.rule == "vdo_space_low"));
    let lacks = found.iter().find(|finding| finding.rule == "not_read").unwrap();
    for word in ["dmsetup status", "vg-pool-vpool", "message stats"] {
        assert!(lacks.evidence.contains(word), "{}", lacks.evidence);
    }
    let mut secret = case("thin-below-luks");
    let zeros = "0".repeat(128);
    let key = "c0ffee42".repeat(16);
    secret.change("sos_commands/devicemapper/dmsetup_table", &zeros, &key);
    let dir = tempfile::tempdir().unwrap();
    secret.unpack(dir.path());
    let read = sos::read(dir.path()).unwrap();
    assert!(!format!("{read:?}").contains("c0ffee42"));
}
