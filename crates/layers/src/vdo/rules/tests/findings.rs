//! Tests of the findings of single rules: their figures, their remedies, and the changes that would remove a limit.

use super::*;

#[test]
fn evidence_is_figures_with_the_threshold_and_the_stage_in_which_it_was_so() {
    let finding = only(|c| c.end("vdo.threads", "logQ0", 8.8));
    assert_eq!(finding.evidence, "CPU of logQ0 88 % (threshold 50 %); logical_threads 1");
    let figure = &finding.figures[0];
    assert_eq!((figure.value.round(), figure.threshold), (88.0, Some(50.0)));
    let range = finding.range.unwrap();
    assert_eq!((range.start_ns, range.end_ns), (2 * SECOND, 12 * SECOND));
    assert_eq!(finding.explains_percent.map(f64::round), Some(88.0));
    assert_eq!(changes(&finding), ["vdo.logical_threads = 2"]);
}

#[test]
fn a_journal_beside_its_data_goes_to_a_device_that_the_trial_adds() {
    let found = |via: &'static str| {
        let found = Case::after(|c| {
            c.set("via", via);
            c.journal_on_busy_device(9500.0, 400.0);
        });
        found.into_iter().find(|finding| finding.rule == "journal_on_data").unwrap()
    };
    let device = "{ size = \"1G\", like = { base = \"nvme\", power_loss_protection = true } }";
    let wanted = [
        format!("devices.journal = {device}"),
        "vdo.on = { data = \"data\", tail = \"journal\" }".to_owned(),
    ];
    assert_eq!(changes(&found("table")), wanted);
    let with_table = [&wanted[0], "vdo.via = \"table\"", &wanted[1]];
    assert_eq!(changes(&found("lvm")), with_table, "lvm keeps the journal with the data");
}

#[test]
fn flushes_that_a_device_counts_among_its_writes_hide_no_journal() {
    let fires = |sent: Option<f64>| {
        let found = Case::after(|c| {
            // 180 of 1,000 writes are the journal's; 500 of the 1,000 are flushes without data, and 4 were written before.
            c.journal_on_busy_device(9500.0, 184.0);
            if let Some(meta) = sent {
                for row in c.samples.iter_mut().filter(|row| row.source == "vdo.stats") {
                    for field in ["biosOutCompleted.write", "biosMetaCompleted.write"] {
                        row.fields.insert(field.into(), Some(0.0));
                    }
                }
                c.stats("biosOutCompleted.write", 300.0);
                c.stats("biosMetaCompleted.write", meta);
            }
        });
        found.into_iter().find(|finding| finding.rule == "journal_on_data")
    };
    let share = fires(Some(200.0)).unwrap().explains_percent.unwrap();
    assert!((share - 36.0).abs() < 1e-9, "{share}");
    assert!(fires(Some(700.0)).is_none(), "all of these are writes of data");
}

#[test]
fn every_limit_names_a_change_that_takes_it_away_or_says_why_none_does() {
    for (id, fire, _) in CASES {
        for finding in Case::after(fire).iter().filter(|f| f.explains_percent.is_some()) {
            let why = finding.remedy.contains("No setting takes it away: ");
            assert_ne!(finding.changes.is_empty(), !why, "{id}: {finding:#?}");
        }
    }
}

/// Keys of a load, as remedies write them.
const OF_LOADS: [&str; 9] = [
    "content",
    "pattern = ",
    "passes",
    "ops = ",
    "sync = ",
    "jobs",
    "depth",
    "block_size = ",
    "duration",
];

#[test]
fn of_what_a_command_did_no_remedy_asks_for_keys_of_a_load() {
    let (mut seen, mut wrong) = (0, Vec::new());
    let before = |id: &str| RULES.iter().any(|rule| rule.id == id && rule.is_before());
    for (id, fire, _) in CASES {
        let found = Case::after(|case| {
            fire(case);
            case.stages[1].load = None;
            let last = case.planned.last_mut().unwrap();
            (last.data, last.load) = (StageData::Unknown, None);
            case.asked_content = AskedContent::default();
        });
        for finding in found.iter().filter(|finding| !before(&finding.rule)) {
            seen += 1;
            if OF_LOADS.iter().any(|key| finding.remedy.contains(key)) {
                wrong.push(format!("{id}: {}", finding.remedy));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 20, "only {seen} rules look at commands");
}

#[test]
fn below_a_file_system_no_remedy_asks_for_a_stage_that_allocates() {
    for (id, fire, _) in CASES {
        let found = Case::after(|case| {
            fire(case);
            case.file_system("off");
        });
        for finding in found {
            assert!(!finding.remedy.contains("allocate\""), "{id}: {}", finding.remedy);
        }
    }
}

#[test]
fn threads_that_idle_go_back_to_their_default() {
    let finding = only(|c| {
        c.set("bio_threads", "8");
        c.end("vdo.threads", "bioQ0", 0.9);
    });
    assert_eq!(changes(&finding), ["vdo.bio_threads = 4"]);
    assert_eq!(finding.remedy, "Set bio_threads = 4, the default.");
}

#[test]
fn no_remedy_asks_for_what_it_says_that_there_is_not() {
    let full = only(|c| {
        (c.load().blocks_in_flight, c.load().depth) = (32, 32);
        c.stats("currentVIOsInProgress", 2048.0);
    });
    assert!(full.remedy.contains("No setting takes it away: the load has at most half"));
    assert!(!full.remedy.contains("Lower jobs"), "{}", full.remedy);
}

#[test]
fn what_the_load_brings_about_is_changed_in_the_load_and_what_a_sweep_sets_is_not() {
    let flushed = |change: fn(&mut Case)| {
        changes(&only(|c| {
            c.load().sync_every = Some(32);
            c.stats("biosIn.flush", 280.0);
            change(c);
        }))
    };
    assert_eq!(flushed(|_| ()), ["load.sync = \"fsync:1000000\""]);
    assert_eq!(flushed(|c| c.planned.last_mut().unwrap().swept = true), [""; 0]);
    let full = only(|c| {
        (c.load().blocks_in_flight, c.load().depth) = (2048, 128);
        c.stats("currentVIOsInProgress", 2048.0);
    });
    assert_eq!(changes(&full), ["load.depth = 64"]);
}

#[test]
fn a_busy_device_is_put_to_the_test_with_a_fast_one_and_slabs_without_room_with_a_larger() {
    let busy = |c: &mut Case| c.end("machine.diskstats", "data.busy_ms", 9500.0);
    let fast = "devices.faster = { size = \"7G\", like = { base = \"nvme\", power_loss_protection = true } }";
    assert_eq!(changes(&only(busy)), [fast, "vdo.on = \"faster\""]);
    let between = only(|c| {
        busy(c);
        c.on.clear();
    });
    assert!(between.changes.is_empty() && between.remedy.contains("No setting"), "{between:?}");
    let left = only(|c| c.slabs(1.0, 40.0, 1.0));
    assert!(!left.message.contains("untouched") && left.changes.is_empty(), "{left:?}");
    assert_eq!(left.explains_percent, Some(25.0), "one of two openings, of a slab half free");
    let none_left = only(|c| c.slabs(40.0, 40.0, 1.0));
    assert!(none_left.message.contains("no untouched slab was left"), "{none_left:?}");
    let larger = "devices.larger = { size = \"14G\", like = \"ssd\" }";
    assert_eq!(changes(&none_left), [larger, "vdo.on = \"larger\""]);
}

#[test]
fn one_more_thread_needs_slabs_or_cache_of_its_own() {
    let busy = |threads: &'static str, key: &'static str, name: &'static str| {
        changes(&only(|c| {
            c.set(key, threads);
            c.end("vdo.threads", name, 8.0);
        }))
    };
    assert_eq!(busy("2", "physical_threads", "physQ0"), ["vdo.physical_threads = 3"]);
    let smaller = ["vdo.physical_threads = 4", "vdo.slab_size = \"1024M\""];
    assert_eq!(busy("3", "physical_threads", "physQ0"), smaller, "three slabs take three threads");
    let with_cache = ["vdo.logical_threads = 9", "vdo.block_map_cache = \"144M\""];
    assert_eq!(busy("8", "logical_threads", "logQ0"), with_cache);
}

#[test]
fn a_cache_that_misses_is_told_the_size_that_holds_the_leaves_and_a_cold_one_is_not() {
    let missed = only(|c| {
        c.stats("blockMap.pagesLoaded", 6624.0);
        c.stats("logicalBlocks", 104_857_600.0);
        c.planned.truncate(2);
    });
    assert_eq!(changes(&missed), ["vdo.block_map_cache = \"505M\""]);
    let figures: Vec<_> = missed.figures.iter().map(|figure| figure.value.round()).collect();
    assert_eq!(figures, [74.0, 75.0, 129_135.0, 32_768.0]);
    // lvm takes no cache below 128 MiB, a table does.
    let small = |via: &str| {
        changes(&only(|c| {
            c.stats("blockMap.pagesLoaded", 6624.0);
            c.stats("logicalBlocks", 13_107_200.0);
            c.stats("blockMapCacheSize", 16_777_216.0);
            c.set("via", via);
            c.planned.truncate(2);
        }))
    };
    assert_eq!(small("lvm"), ["vdo.block_map_cache = \"128M\""]);
    assert_eq!(small("table"), ["vdo.block_map_cache = \"64M\""]);
    let cold = only(|c| c.stats("blockMap.pagesLoaded", 6624.0));
    assert_eq!(changes(&cold), [""; 0]);
    assert!(cold.message.contains("for the first time"), "{cold:?}");
}

#[test]
fn a_pool_that_was_full_in_a_burst_alone_is_no_limit_and_its_high_water_mark_is_no_pool() {
    let burst = only(|c| c.stats("maxVIOs", 2048.0));
    assert_eq!((burst.figures[1].value, burst.explains_percent), (2048.0, None));
    let full = only(|c| c.stats("currentVIOsInProgress", 2048.0));
    assert_eq!(full.explains_percent, Some(50.0), "one of two samples saw it");
    let small = Case::after(|c| {
        c.stats("currentVIOsInProgress", 800.0);
        c.stats("maxVIOs", 800.0);
    });
    assert_eq!(small, []);
}

#[test]
fn overhead_that_grows_a_lot_while_measured_is_a_warning_and_a_gap_of_the_allocation_a_note() {
    let grown = |to: f64| only(|c| c.stats("overheadBlocksUsed", to)).severity;
    assert_eq!((grown(604.0), grown(1100.0)), (Severity::Note, Severity::Warning));
}

#[test]
fn content_that_no_packer_can_use_is_found_only_where_compression_was_wanted() {
    let none = |c: &mut Case| c.figure("compressed_fragments", Some(0.0));
    let off = Case::after(|c| {
        none(c);
        c.set("compression", "off");
    });
    let not_asked = Case::after(|c| {
        none(c);
        c.asked_content.lz4_saving_percent = Some(0.0);
    });
    assert_eq!((off, not_asked), (vec![], vec![]));
}

#[test]
fn a_sparse_index_that_became_dense_is_found() {
    let finding = only(|c| {
        c.set("via", "table");
        c.set("sparse_index", "on");
    });
    assert_eq!(finding.evidence, "asked 256 MiB sparse, formatted 0.25 GiB dense");
}

#[test]
fn a_table_is_held_against_every_setting_that_it_has_whatever_changes_later() {
    let wrong = |key: &str, value: &str| {
        let finding = only(|c| {
            c.table(1, 32_768);
            c.planned[1].data = StageData::Nothing;
            c.set(key, value);
        });
        assert_eq!(finding.rule, "table_not_as_asked");
        finding.evidence
    };
    assert_eq!(wrong("dedupe", "off"), "dedupe: asked off, runs on");
    assert_eq!(wrong("max_discard", "1M"), "max_discard: asked 1M, runs 4k");
    assert_eq!(wrong("physical_size", "6G"), "physical_size: asked 6G, runs 5G");
    assert_eq!(wrong("logical_size", "2G"), "logical_size: asked 2049M, runs 1025M");
}

#[test]
fn the_one_thread_of_a_volume_without_zones_wants_three() {
    let zones = ["logical_threads", "physical_threads", "hash_zone_threads"];
    let finding = only(|c| {
        zones.iter().for_each(|key| c.set(key, "0"));
        for (row, seconds) in
            c.samples.iter_mut().filter(|r| r.source == "vdo.threads").zip([0.0, 9.0])
        {
            row.fields.insert("reqQ".into(), Some(seconds));
        }
    });
    assert_eq!(finding.rule, "thread_busy");
    assert_eq!(changes(&finding), zones.map(|key| format!("vdo.{key} = 1")));
}

#[test]
fn ios_that_a_volume_refuses_are_told_apart_from_those_that_cost_a_read() {
    let said = |direct, size: &str| {
        let finding = only(|c| {
            c.load().direct = direct;
            c.load().operations[0].size_unit = 512;
            c.set("minimum_io_size", size);
        });
        (finding.message, finding.remedy)
    };
    let (message, remedy) = said(true, "4096");
    assert!(message.contains("EINVAL") && remedy.contains("minimum_io_size = 512"), "{message}");
    for (direct, size) in [(true, "512"), (false, "4096")] {
        let (message, _) = said(direct, size);
        assert!(message.contains("also costs a read"), "{message}");
    }
}
