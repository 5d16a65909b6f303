//! Each test takes a healthy result and spoils one thing.

use analysis::analyse;
use doctor::examine;
use results::Seal;
use results::model::{
    Accelerator, CellState, Finding, LoadSummary, OperationSummary, Row, Severity, VerifyFigures,
};
use results::read::{CellData, ResultSet};

/// A result in which nothing is wrong.
fn healthy() -> ResultSet {
    let mut result = fixture::result();
    result.manifest.simulated = false;
    result
}

/// Returns the doctor's findings after `spoil`.
pub(crate) fn after(spoil: impl FnOnce(&mut ResultSet)) -> Vec<Finding> {
    let mut result = healthy();
    spoil(&mut result);
    examine(&result, &analyse(&result))
}

/// The only finding after `spoil`.
pub(crate) fn only(rule: &str, spoil: impl FnOnce(&mut ResultSet)) -> Finding {
    let mut findings = after(spoil);
    let rules: Vec<_> = findings.iter().map(|finding| finding.rule.clone()).collect();
    assert_eq!(rules, [rule], "{findings:#?}");
    let finding = findings.remove(0);
    assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty());
    finding
}

/// Gives the loads of `plain` this notice, or none.
pub(crate) fn says(r: &mut ResultSet, text: &str) {
    let text = Some(text.to_owned()).filter(|text| !text.is_empty());
    loads(r, "plain").for_each(|load| load.notices = text.iter().cloned().collect());
}

pub(crate) fn loads<'a>(
    result: &'a mut ResultSet,
    variant: &'a str,
) -> impl Iterator<Item = &'a mut LoadSummary> {
    let cells = result.cells.iter_mut().filter(move |cell| cell.entry.variant == variant);
    cells.filter_map(|cell| cell.record.as_mut()).flat_map(|record| {
        record.stages.iter_mut().filter(|s| s.measured).filter_map(|s| s.load.as_mut())
    })
}

#[test]
fn a_healthy_result_has_no_findings() {
    assert_eq!(after(|_| {}), []);
}

#[test]
fn a_simulated_run_is_an_error_and_an_emulated_cpu_a_warning() {
    let simulated = only("simulated", |r| r.manifest.simulated = true);
    assert_eq!(simulated.severity, Severity::Error);
    let emulated = only("emulated_cpu", |r| {
        r.manifest.accelerator = Accelerator::Tcg;
        r.manifest.accelerator_reason = Some("/dev/kvm is missing".into());
    });
    assert_eq!(emulated.severity, Severity::Warning);
    assert!(emulated.evidence.contains("/dev/kvm is missing"));
    only("virtual_machine", |r| r.manifest.accelerator = Accelerator::Kvm);
}

#[test]
fn a_guest_clock_that_runs_wrong_is_an_error_and_a_small_error_of_it_is_none() {
    let ran = |rate: f64| {
        move |r: &mut ResultSet| {
            r.manifest.lab = Some(serde_json::json!({"guest_clock_rate": rate}));
        }
    };
    let wrong = only("guest_clock", ran(2.1));
    assert_eq!(wrong.severity, Severity::Error);
    assert!(wrong.evidence.contains("2.10"), "{}", wrong.evidence);
    assert_eq!(after(ran(0.99)), []);
}

#[test]
fn replies_of_a_modelled_disk_that_come_late_are_named_with_the_disk() {
    let served = |p99: u64| {
        move |r: &mut ResultSet| {
            let served = serde_json::json!({
                "late_p99_ns": p99, "model_p50_ns": 1_000_000, "priority": "not permitted",
            });
            let disks = serde_json::json!([
                {"role": "plain", "model": null},
                {"role": "slow", "model": {"like": "hdd", "served": served}},
            ]);
            r.manifest.lab = Some(serde_json::json!({"disks": disks}));
        }
    };
    let late = only("late_disk", served(150_000));
    assert_eq!(late.subject.as_deref(), Some("slow"));
    assert!(late.evidence.contains("150 µs") && late.evidence.contains("not permitted"));
    assert_eq!(after(served(90_000)), []);
}

#[test]
fn four_repeats_are_too_few_and_five_are_not() {
    let with = |n: u32| {
        move |r: &mut ResultSet| {
            *r = fixture::with(n, 7_600.0);
            r.manifest.simulated = false;
        }
    };
    let few = only("too_few_repeats", with(4));
    assert!(few.evidence.contains("plain has 4, vdo has 4") && few.remedy.contains("--repeat 5"));
    let imported = only("too_few_repeats", |r| {
        with(4)(r);
        r.manifest.host.0.clear();
    });
    assert!(imported.remedy.starts_with("Import 5 files or more under each name"), "{imported:?}");
    assert_eq!(after(with(5)), []);
    let alone = |r: &mut ResultSet| {
        with(1)(r);
        r.manifest.plan.variants.truncate(1);
    };
    assert_eq!(after(alone), [], "nothing is compared, so nothing is unclear");
}

#[test]
fn an_order_that_was_not_drawn_is_told_where_variants_are_compared() {
    let old = |r: &mut ResultSet| {
        *r = fixture::with(5, 7_600.0);
        r.manifest.simulated = false;
        r.manifest.plan.order_drawn = false;
    };
    let finding = only("order_not_drawn", old);
    assert_eq!(finding.severity, Severity::Note);
    let alone = |r: &mut ResultSet| {
        old(r);
        r.manifest.plan.variants.truncate(1);
    };
    assert_eq!(after(alone), []);
}

#[test]
fn one_repeat_far_from_the_others_is_told_with_its_place() {
    let slow = |r: &mut ResultSet| {
        *r = fixture::with(5, 7_600.0);
        r.manifest.simulated = false;
        let cell = r.cells.iter_mut().find(|c| c.entry.variant == "vdo" && c.entry.repeat == 4);
        let stages = &mut cell.unwrap().record.as_mut().unwrap().stages;
        let load = stages.iter_mut().find(|s| s.measured).unwrap().load.as_mut().unwrap();
        load.duration_ns *= 2;
    };
    // Its rows no longer match its figure, which is a finding, too.
    let finding = after(slow).into_iter().find(|finding| finding.rule == "uneven_repeats").unwrap();
    assert!(
        finding.evidence.contains("vdo, IOPS of randwrite: one value, the 4th in time"),
        "{}",
        finding.evidence
    );
}

#[test]
fn failed_cells_are_told_with_their_reasons_and_come_before_warnings() {
    let findings = after(|r| {
        for place in [0, 3] {
            let record = r.cells[place].record.as_mut().unwrap();
            record.state = CellState::Failed;
            record.reason = Some("the guest crashed".into());
        }
        r.incomplete = Some("2 of 10 cells give no figures".into());
    });
    let rules: Vec<_> = findings.iter().map(|f| (f.rule.as_str(), f.subject.as_deref())).collect();
    let expected =
        [("failed_cells", Some("plain")), ("incomplete", None), ("too_few_repeats", None)];
    assert_eq!(rules, expected);
    assert_eq!(findings[0].message, "2 of 5 runs of plain failed and give no figures.");
    assert_eq!(findings[0].evidence, "repeat 1: the guest crashed; repeat 2: the guest crashed");
    assert!(findings[2].remedy.contains("enough repeats were planned"));
    assert!(findings[1].remedy.contains("with --resume "), "{}", findings[1].remedy);
}

#[test]
fn a_guest_that_panicked_with_an_emulated_cpu_is_to_be_run_again() {
    let remedy = |accelerator| {
        let findings = after(|r| {
            r.manifest.accelerator = accelerator;
            let record = r.cells[0].record.as_mut().unwrap();
            record.state = CellState::Failed;
            record.reason = Some("the guest crashed: Kernel panic - not syncing: x".into());
        });
        findings.into_iter().find(|f| f.rule == "failed_cells").unwrap().remedy
    };
    assert!(remedy(Accelerator::Tcg).contains("--resume"));
    assert!(!remedy(Accelerator::Kvm).contains("--resume"));
}

#[test]
fn a_guest_that_somebody_ended_is_no_failure_of_the_layer() {
    let remedy = |reasons: &[&str]| {
        let findings = after(|r| {
            r.lab_files.insert("qemu.log".into(), "terminating on signal 15".into());
            for (cell, reason) in r.cells.iter_mut().zip(reasons) {
                let record = cell.record.as_mut().unwrap();
                record.state = CellState::Failed;
                record.reason = Some((*reason).into());
                cell.entry.variant = "plain".into();
            }
        });
        findings.into_iter().find(|f| f.rule == "failed_cells").unwrap().remedy
    };
    let outside = "the guest was ended from outside: QEMU got signal 15 from pid 7 (kill)";
    let one = remedy(&[outside]);
    assert!(one.contains("lab/console.log and lab/qemu.log in the result"), "{one}");
    assert!(one.contains("says nothing about the layer: --resume"), "{one}");
    let both = remedy(&[outside, "the guest crashed: QEMU ended without a word"]);
    assert!(both.contains("the others may"), "{both}");
    assert!(remedy(&["it timed out"]).contains("part of what a layer does"));
}

#[test]
fn changed_files_are_an_error_that_names_them_and_no_seal_is_a_note() {
    let changed = only("changed_files", |r| {
        r.seal = Seal::Broken(vec!["cells/03-vdo-r2/cell.json was changed".into()]);
    });
    assert_eq!(changed.severity, Severity::Error);
    assert!(changed.evidence.contains("cells/03-vdo-r2/cell.json was changed"), "{changed:?}");
    assert_eq!(only("not_sealed", |r| r.seal = Seal::None).severity, Severity::Note);
}

#[test]
fn figures_that_contradict_their_histogram_or_their_rows_are_told() {
    type Change = fn(&mut OperationSummary);
    let changes: [(Change, &str); 4] = [
        (|op| op.latency.as_mut().unwrap().p99_ns /= 2, "p99 "),
        (|op| op.ios += 1, "262,145 I/Os, and its histogram holds 262,144"),
        (|op| op.bytes -= 4096, "262,144 I/Os of 1,073,737,728 bytes, and its intervals have"),
        (|op| op.iops = op.iops.map(|iops| iops * 1.1), "IOPS "),
    ];
    for (change, figure) in changes {
        let mut findings = after(|r| {
            change(loads(r, "vdo").nth(1).unwrap().operations.get_mut("randwrite").unwrap());
        });
        // A latency that is half of the others' is uneven too.
        findings.retain(|finding| finding.rule != "uneven_repeats");
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let finding = findings.remove(0);
        assert_eq!(finding.rule, "figures_contradict");
        assert!(finding.evidence.contains(figure), "{finding:?}");
        assert!(finding.evidence.starts_with("repeat 2, randwrite of stage"), "{finding:?}");
    }
}

#[test]
fn leftovers_that_were_taken_down_since_are_no_finding() {
    let mut result = healthy();
    result.cells[4].record.as_mut().unwrap().leftovers = Some(vec!["vg0-pool".into()]);
    let found = |result: &ResultSet| {
        examine(result, &analyse(result)).iter().any(|finding| finding.rule == "leftovers")
    };
    assert!(found(&result));
    let about = results::transcript::CLEANED.to_owned();
    let error = Some("still there: vg0-pool".to_owned());
    result.transcript.push(results::TranscriptEntry {
        about: about.clone(),
        error,
        ..Default::default()
    });
    assert!(found(&result));
    result.transcript.push(results::TranscriptEntry { about, ..Default::default() });
    assert!(!found(&result));
}

#[test]
fn leftovers_are_told_with_the_command_that_cleans_up() {
    let finding = only("leftovers", |r| {
        r.cells[4].record.as_mut().unwrap().leftovers = Some(vec!["vg0-pool".into()]);
    });
    assert!(finding.evidence.contains("vg0-pool") && finding.remedy.starts_with("fathom clean "));
}

#[test]
fn failed_ios_are_counted_by_kind_over_all_runs() {
    let finding = only("load_errors", |r| {
        for load in loads(r, "vdo") {
            let operation = load.operations.get_mut("randwrite").unwrap();
            operation.errors = [("ENOSPC".into(), 2), ("EIO".into(), 0)].into();
        }
    });
    assert_eq!(finding.message, "10 I/Os of stage random-write of vdo failed.");
    assert_eq!(finding.evidence, "ENOSPC 10 times; 1310720 completed.");
    assert!(finding.remedy.contains("ran out of space"));
}

#[test]
fn wrong_blocks_are_told_by_kind_and_count_whatever_the_cells_say_of_themselves() {
    let finding = only("wrong_blocks", |r| {
        for load in loads(r, "vdo").take(2) {
            load.verify = Some(VerifyFigures {
                checked: 4096,
                foreign: 130,
                first: vec!["foreign: 4096 bytes at 8192 of target 0".into()],
                ..VerifyFigures::default()
            });
        }
    });
    assert_eq!((finding.severity, finding.subject.as_deref()), (Severity::Error, Some("vdo")));
    let sentence =
        "In stage random-write of vdo, verification found 260 foreign blocks among 8,192 checked.";
    assert_eq!(finding.message, sentence);
    assert!(finding.evidence.contains("repeat 2: foreign: 4096 bytes at 8192"), "{finding:?}");
}

#[test]
fn a_stage_that_was_to_be_verified_and_was_not_is_told() {
    let verified = |checked: u64| {
        move |r: &mut ResultSet| {
            r.manifest.plan.variants[1].stages[1].load["verify"] = "both".into();
            for load in loads(r, "vdo") {
                load.verify = Some(VerifyFigures { checked, ..VerifyFigures::default() });
            }
        }
    };
    let finding = only("not_verified", verified(0));
    assert!(finding.evidence.contains("repeat 1, 2, 3, 4, 5"), "{finding:?}");
    assert_eq!(after(verified(1)), []);
}

#[test]
fn what_loads_say_of_themselves_is_told_each_text_once() {
    let finding = only("load_notices", |r| {
        for (n, load) in loads(r, "plain").enumerate() {
            load.notices = vec!["Nothing was verified".into(), format!("{n} transfers were short")];
        }
    });
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.evidence.starts_with("Nothing was verified; 0 transfers"), "{finding:?}");
    assert!(finding.evidence.ends_with("3 transfers were short; and 1 more."), "{finding:?}");
}

#[test]
fn reads_of_what_was_never_written_are_a_warning_in_words() {
    let finding = only("load_notices", |r| {
        for load in loads(r, "plain") {
            let text = "/x has parts that were never written: reads of them need no device";
            load.notices = vec![text.into()];
        }
    });
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("the speed is not one of a device"), "{finding:?}");
}

#[test]
fn a_stall_of_fathom_itself_is_no_tail_of_the_target() {
    let finding = only("stood_still", |r| {
        let load = loads(r, "plain").next().unwrap();
        load.notices = vec!["Fathom itself did not run for 2.0 s: it was stopped".into()];
    });
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.evidence.starts_with("repeat 1 for 2.0 s, and its longest I/O"), "{finding:?}");
    // Older results had only these words; newer ones have a field, which is read whatever the notices are.
    let finding = only("stood_still", |r| {
        let load = loads(r, "plain").next().unwrap();
        load.stood_still_ns = vec![2_100_000_000, 1_500_000_000];
    });
    assert!(finding.evidence.starts_with("repeat 1 for 2.1 s and 1.5 s, and"), "{finding:?}");
}

#[test]
fn a_load_through_the_page_cache_is_told_when_it_is_measured() {
    let finding = only("page_cache", |r| {
        loads(r, "plain").for_each(|load| {
            (load.engine.direct, load.engine.backend) = (false, "io_uring".into());
        });
    });
    assert_eq!(finding.subject.as_deref(), Some("plain"));
    let unmeasured = after(|r| {
        for cell in &mut r.cells {
            let stage = &mut cell.record.as_mut().unwrap().stages[0];
            let engine = &mut stage.load.as_mut().unwrap().engine;
            (engine.direct, engine.backend) = (false, "io_uring".into());
        }
    });
    assert_eq!(unmeasured, []);
    let simulated = after(|r| loads(r, "plain").for_each(|load| load.engine.direct = false));
    assert_eq!(simulated, [], "a model has no page cache");
    let null = after(|r| {
        loads(r, "plain").for_each(|load| {
            (load.engine.direct, load.engine.backend) = (false, "null".into());
        });
    });
    assert_eq!(null, [], "nothing at all has none either");
}

#[test]
fn samples_that_failed_are_counted_by_source() {
    let finding = only("samples_failed", |r| {
        let failed = r.cells[0].rows.iter_mut().find_map(|row| match row {
            Row::Sample(sample) => Some(sample),
            _ => None,
        });
        failed.unwrap().error = Some("No such device".into());
    });
    assert_eq!(finding.subject.as_deref(), Some("machine.diskstats"));
    assert!(finding.message.starts_with("1 of ") && finding.evidence.contains("No such device"));
}

#[test]
fn samples_of_a_layer_that_fathom_itself_had_down_are_not_missing() {
    let failing = |source: &'static str, kind: &'static str, mark: Option<&'static str>| {
        let spoil = move |r: &mut ResultSet| {
            let cell = &mut r.cells[0];
            let stage = &mut cell.record.as_mut().unwrap().stages[1];
            stage.kind = kind.into();
            let mut samples = cell.rows.iter_mut().filter_map(|row| match row {
                Row::Sample(sample) if sample.at_ns > stage.start_ns => Some(sample),
                _ => None,
            });
            let sample = samples.next().unwrap();
            (sample.source, sample.mark) = (source.into(), mark.map(str::to_owned));
            sample.error = Some("No such device or address".into());
        };
        after(spoil).iter().any(|finding| finding.rule == "samples_failed")
    };
    assert!(!failing("cache.status", "layer", None));
    assert!(failing("cache.status", "load", None));
    assert!(failing("cache.status", "layer", Some("stage_end")));
    assert!(failing("machine.cpu", "layer", None));
}

#[test]
fn a_sampler_that_could_not_start_is_told_with_its_cell() {
    let finding = only("cell_notices", |r| {
        let text = "the thread that samples vdo.stats could not be started: no memory";
        r.cells[3].record.as_mut().unwrap().notices.push(text.into());
    });
    assert_eq!((finding.severity, finding.subject.as_deref()), (Severity::Warning, Some("plain")));
    assert!(
        finding.evidence.starts_with("repeat 2: the thread that samples vdo.stats"),
        "{finding:?}"
    );
}

#[test]
fn sampling_is_expensive_above_one_percent_of_a_cpu_and_not_below() {
    let costly = |nanos: u64| {
        move |r: &mut ResultSet| {
            for row in r.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
                if let Row::Sample(sample) = row
                    && sample.source == "machine.diskstats"
                {
                    sample.cost_cpu_ns = nanos;
                }
            }
        }
    };
    let finding = only("sampling_expensive", costly(20_000_000));
    assert_eq!(finding.subject.as_deref(), Some("machine.diskstats"));
    // There is no setting for it.
    assert!(!finding.remedy.contains("less often"), "{}", finding.remedy);
    assert_eq!(after(costly(5_000_000)), []);
}

#[test]
fn a_finding_is_counted_over_the_runs_that_gave_figures_and_the_others_are_told_apart() {
    let findings_with = |failed_has_it: bool| {
        let findings = after(|r| {
            let vdo = |cell: &&mut CellData| cell.entry.variant == "vdo";
            for cell in r.cells.iter_mut().filter(vdo) {
                let failed = cell.entry.repeat == 2;
                let record = cell.record.as_mut().unwrap();
                if failed {
                    record.state = CellState::Failed;
                }
                if (failed_has_it || !failed)
                    && let Some(figures) = record.layers.get_mut("vdo")
                {
                    figures.insert("compressed_fragments".into(), Some(0.0));
                }
            }
        });
        findings.into_iter().find(|f| f.rule == "content_not_packable").unwrap().evidence
    };
    let (alone, both) = (findings_with(false), findings_with(true));
    assert!(alone.ends_with("(in 4 of 4 runs; 1 more gave no figures)"), "{alone}");
    assert!(both.ends_with("(in 4 of 4 runs, and 1 of 1 that gave no figures)"), "{both}");
}

#[test]
fn a_layer_s_own_rules_are_run_on_the_cells_that_have_it() {
    let unallocated = only("map_unallocated", |r| {
        for row in r.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
            if let Row::Sample(sample) = row
                && sample.source == "vdo.stats"
                && sample.mark.as_deref() == Some("stage_end")
            {
                sample.fields.insert("overheadBlocksUsed".into(), Some(706_637.0));
            }
        }
    });
    assert_eq!(unallocated.subject.as_deref(), Some("vdo"));
    assert!(unallocated.evidence.contains("6637 blocks"), "{unallocated:?}");
    assert!(unallocated.evidence.ends_with("(in 5 of 5 runs)"), "{unallocated:?}");
    only("content_not_packable", |r| {
        for record in r.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
            if let Some(figures) = record.layers.get_mut("vdo") {
                figures.insert("compressed_fragments".into(), Some(0.0));
            }
        }
    });
}
