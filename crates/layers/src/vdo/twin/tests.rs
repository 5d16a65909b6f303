//! The twin against the real parsers, figures, and what a real volume said.

use results::model::{AchievedContent, SampleRow};

use super::*;
use crate::figures::{ALLOCATED, FigureFacts, SETTLED, Window};
use crate::kind::Kind;
use crate::layer::{ActionRequest, Layer, on_device};
use crate::parse;
use crate::step::Action;

const KIND: &Kind = &crate::vdo::KIND;

fn up(text: &str) -> (Box<dyn Twin>, crate::RaisePlan) {
    let setup = Setup::read(&text.parse().unwrap()).unwrap();
    let inputs = on_device("/dev/sim", 7 << 30);
    let at = Place { name: "vdo", run_tag: "00000001", inputs: &inputs };
    let raised = setup.raise(&at).unwrap();
    let mut twin = setup.twin(&at).unwrap();
    for step in &raised.up {
        if let Action::Command { argv, .. } = &step.action {
            assert!(matches!(twin.command(argv), TwinAnswer::Ran { exit: 0, .. }), "{argv:?}");
        }
    }
    (twin, raised)
}

fn sample(twin: &mut dyn Twin, raised: &crate::RaisePlan, at_ns: u64, mark: &str) -> SampleRow {
    let probe = &raised.probes[0];
    let parsed = parse(&probe.parser, &twin.read(&probe.source).unwrap()).unwrap();
    SampleRow {
        at_ns,
        source: probe.id.clone(),
        cost_ns: 0,
        cost_cpu_ns: 0,
        mark: Some(mark.into()),
        fields: parsed.numbers,
        error: None,
    }
}

fn no_zeros() -> AchievedContent {
    AchievedContent { zero_percent: Some(0.0), ..Default::default() }
}

#[test]
fn the_figures_of_a_simulated_pass_are_those_of_its_content() {
    let (mut twin, raised) = up("logical_size = \"1G\"");
    let leaves = geometry::leaves(1 << 30);
    let zero = AskedContent { zero_percent: Some(100.0), ..Default::default() };
    twin.wrote(&Writes::fresh(leaves), &zero);
    let before = sample(twin.as_mut(), &raised, 1, ALLOCATED);
    let content = AskedContent {
        duplicate_percent: Some(50.0),
        zero_percent: Some(0.0),
        lz4_size_mean_bytes: Some(1638.0),
        ..Default::default()
    };
    let whole = 1u64 << 18;
    for _ in 0..64 {
        twin.wrote(&Writes::fresh(whole / 64), &content);
    }
    twin.flushed(raised.offer.path());
    let after = sample(twin.as_mut(), &raised, 2, SETTLED);
    let rows = [before, after];
    let window = Window::of_cell(&rows);
    let facts =
        FigureFacts { layer: "vdo", window: &window, achieved: Some(&no_zeros()), ios: None };
    let figures = (KIND.figures)(&facts);
    let near = |id: &str, want: f64, by: f64| {
        let value = figures[id].unwrap();
        assert!((value - want).abs() <= by, "{id}: {value}, not {want}");
    };
    near("saving_percent", 75.0, 0.1);
    near("fragments_per_block", 2.0, 0.001);
    near("duplicates_found_percent", 50.0, 0.01);
    near("overhead_blocks_used", 0.0, 0.0);
    near("data_blocks_used", whole as f64 / 4.0, 1.0);
}

#[test]
fn overwriting_replaces_what_was_there_so_that_a_full_volume_saves_what_its_content_saves() {
    let (mut twin, raised) = up("logical_size = \"1G\"");
    let before = sample(twin.as_mut(), &raised, 1, ALLOCATED);
    let content = AskedContent {
        duplicate_percent: Some(50.0),
        zero_percent: Some(0.0),
        lz4_size_mean_bytes: Some(1638.0),
        ..Default::default()
    };
    let whole = 1u64 << 18;
    twin.wrote(&Writes::fresh(whole), &content);
    for _ in 0..20 {
        twin.wrote(&Writes { blocks: whole, ..Writes::default() }, &content);
    }
    twin.flushed(raised.offer.path());
    let after = sample(twin.as_mut(), &raised, 2, SETTLED);
    let rows = [before, after];
    let window = Window::of_cell(&rows);
    let facts =
        FigureFacts { layer: "vdo", window: &window, achieved: Some(&no_zeros()), ios: None };
    let figures = (KIND.figures)(&facts);
    assert_eq!(figures["logical_blocks_used"], Some(whole as f64));
    assert_eq!(figures["data_blocks_used"], Some(whole as f64 / 4.0));
    assert_eq!(figures["saving_percent"], Some(75.0));
}

#[test]
fn zeros_written_over_everything_leave_no_data() {
    let (mut twin, raised) = up("logical_size = \"1G\"");
    twin.wrote(&Writes::fresh(1000), &AskedContent::default());
    let zero = AskedContent { zero_percent: Some(100.0), ..Default::default() };
    twin.wrote(&Writes { blocks: 1000, ..Writes::default() }, &zero);
    let fields = sample(twin.as_mut(), &raised, 0, SETTLED).fields;
    assert_eq!(fields["dataBlocksUsed"], Some(0.0));
    twin.wrote(&Writes { blocks: 500, over_zeros: 500, fresh: 0 }, &AskedContent::default());
    let fields = sample(twin.as_mut(), &raised, 0, SETTLED).fields;
    assert_eq!(fields["dataBlocksUsed"], Some(500.0));
}

#[test]
fn a_volume_that_neither_dedupes_nor_compresses_saves_nothing() {
    let (mut twin, raised) = up("dedupe = \"off\"\ncompression = \"off\"");
    let content = AskedContent {
        duplicate_percent: Some(50.0),
        lz4_saving_percent: Some(60.0),
        ..Default::default()
    };
    twin.wrote(&Writes::fresh(1000), &content);
    let fields = sample(twin.as_mut(), &raised, 0, SETTLED).fields;
    assert_eq!(fields["dataBlocksUsed"], Some(1000.0));
    assert_eq!(fields["hashLock.dedupeAdviceValid"], Some(0.0));
}

#[test]
fn allocation_without_a_stage_shows_as_overhead() {
    let (mut twin, raised) = up("logical_size = \"20G\"");
    let before = sample(twin.as_mut(), &raised, 0, ALLOCATED).fields;
    twin.wrote(&Writes::fresh(geometry::leaves(20 << 30)), &AskedContent::default());
    let after = sample(twin.as_mut(), &raised, 1, SETTLED).fields;
    let grown = after["overheadBlocksUsed"].unwrap() - before["overheadBlocksUsed"].unwrap();
    assert_eq!(grown, 6637.0);
}

#[test]
fn the_index_opens_and_the_packer_empties_as_steps_wait_for() {
    let (mut twin, raised) = up("");
    let Action::Wait { source, parser, .. } = &raised.ready[0].action else { panic!() };
    let mut index = || parse(parser, &twin.read(source).unwrap()).unwrap().texts["index"].clone();
    assert_eq!((index().as_str(), index().as_str()), ("opening", "online"));
    let content = AskedContent { lz4_saving_percent: Some(60.0), ..Default::default() };
    twin.wrote(&Writes::fresh(100), &content);
    let parked = |twin: &mut dyn Twin| sample(twin, &raised, 0, "").fields["packer.compressedFragmentsInPacker"];
    assert_eq!(parked(twin.as_mut()), Some(3.0));
    twin.flushed(raised.offer.path());
    assert_eq!(parked(twin.as_mut()), Some(0.0));
}

#[test]
fn every_probe_and_fact_is_answered_in_words_that_the_real_parsers_read() {
    let (mut twin, raised) = up("");
    for probe in &raised.probes {
        let mut source = probe.source.clone();
        if let Source::Threads { prefix } = &mut source {
            *prefix = prefix.replace("{vdo.instance}", "0");
        }
        let parsed = parse(&probe.parser, &twin.read(&source).unwrap()).unwrap();
        // Nobody models what threads do.
        let modelled = !matches!(source, Source::Threads { .. });
        assert_eq!(!parsed.numbers.is_empty(), modelled, "{}", probe.id);
    }
    for step in &raised.up {
        if let Action::Bind { source, parser, .. } = &step.action {
            let parsed = parse(parser, &twin.read(source).unwrap()).unwrap();
            assert!(!parsed.texts.is_empty(), "{}", step.about);
        }
    }
}

#[test]
fn the_twin_has_the_fields_of_a_real_volume_in_their_order() {
    let (mut twin, raised) = up("");
    let read = |text: &str| {
        let leaves = crate::vdo::texts::read(text).unwrap();
        leaves.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let message = twin.read(&raised.probes[0].source).unwrap();
    let mut real = read(include_str!("../stats-6.12.txt"));
    real.retain(|name| !words::UNMODELLED.iter().any(|what| name.ends_with(what)));
    assert_eq!(read(&message), real);
}

#[test]
fn a_volume_that_is_down_says_nothing() {
    let (mut twin, raised) = up("");
    let Action::Command { argv, .. } = &raised.up[2].undo[0] else { panic!() };
    assert!(matches!(twin.command(argv), TwinAnswer::Ran { exit: 0, .. }));
    assert!(raised.probes.iter().all(|p| twin.read(&p.source).is_none()));
}

#[test]
fn what_nobody_models_has_no_figure_and_after_a_command_nothing_that_was_written_has() {
    let (mut twin, raised) = up("");
    twin.wrote(&Writes::fresh(1000), &AskedContent::default());
    let fields = sample(twin.as_mut(), &raised, 0, SETTLED).fields;
    assert_eq!(fields["biosIn.write"], Some(1000.0));
    for unmodelled in ["memoryUsage.bytesUsed", "blockMap.pagesLoaded", "biosIn.read"] {
        assert!(!fields.contains_key(unmodelled), "{unmodelled}");
    }
    twin.lost_track();
    let rows = [ALLOCATED, SETTLED].map(|mark| sample(twin.as_mut(), &raised, 0, mark));
    assert!(!rows[1].fields.contains_key("dataBlocksUsed"));
    assert!(rows[1].fields["physicalBlocks"].is_some());
    let window = Window::of_cell(&rows);
    let facts = FigureFacts { layer: "vdo", window: &window, achieved: None, ios: None };
    let figures = (KIND.figures)(&facts);
    for id in ["saving_percent", "data_blocks_used", "memory_bytes", "bios_in_write"] {
        assert_eq!(figures[id], None, "{id}");
    }
}

/// Conditions that steps wait for after a change come true in a simulated volume too.
#[test]
fn what_changes_a_running_volume_is_found_in_its_table() {
    for via in ["lvm", "table"] {
        let settings = format!("via = \"{via}\"\nphysical_size = \"6G\"\nlogical_size = \"1G\"");
        let (mut twin, _) = up(&settings);
        let inputs = on_device("/dev/sim", 12 << 30);
        let at = Place { name: "vdo", run_tag: "00000001", inputs: &inputs };
        let before: toml::Table = settings.parse().unwrap();
        for (action, keys) in [
            ("restart", "cpu_threads = 3\nmax_discard = \"1M\"\nblock_map_cache = \"256M\""),
            ("grow", "physical_size = \"9G\"\nlogical_size = \"2G\""),
            ("index-close", ""),
            ("index-enable", ""),
        ] {
            let keys: toml::Table = keys.parse().unwrap();
            let mut now = before.clone();
            now.extend(keys.clone());
            let request = ActionRequest { action, keys: &keys, before: &before };
            let acted = Setup::read(&now).unwrap().act(&at, &request).unwrap();
            let waits = follow(twin.as_mut(), &acted.steps);
            assert!(waits > 0, "{via} {action}");
        }
    }
}

/// Does the steps; every wait must end with what is read first, or next. Gives how many there were.
fn follow(twin: &mut dyn Twin, steps: &[crate::step::Step]) -> usize {
    use crate::step::Condition;
    let mut waits = 0;
    for step in steps {
        match &step.action {
            Action::Command { argv, .. } => drop(twin.command(argv)),
            Action::Wait { source, parser, until: Condition::Text { field, is }, .. } => {
                let mut read =
                    || parse(parser, &twin.read(source)?).ok()?.texts.get(field).cloned();
                let seen = [read(), read()];
                assert!(seen.contains(&Some(is.clone())), "{}: {seen:?}", step.about);
                waits += 1;
            }
            _ => {}
        }
    }
    waits
}
