//! Tests of the whole way from a file to a plan.

use std::collections::BTreeMap;

use units::{Bytes, Seed};

use crate::{ExperimentError, PlanOptions, Scale, compose, shipped};
use plan::Plan;

fn choices() -> PlanOptions {
    PlanOptions {
        seed: Seed(1),
        run_tag: "0badcafe".into(),
        repeat: None,
        sizes: BTreeMap::new(),
        scale: Scale::Usual("lab"),
        only: Vec::new(),
    }
}

fn plan(text: &str) -> Result<Plan, ExperimentError> {
    compose("test.toml", text, &choices())
}

mod actions;
mod at_once;
mod bounds;
mod caches;
mod commands;
mod contradictions;
mod environment;
mod expected;
mod fills;
mod graphs;
mod kernels;
mod mistakes;
mod modelled;
mod pairs;
mod pictures;
mod repeats;
mod restarts;
mod states;
mod sweeps;
mod targets;
mod textures;
mod trials;
mod variants;

/// Returns the report of the only mistake in `text`, which has to be in a line with `line` and to come with a remedy.
fn only_mistake(text: &str, line: &str) -> String {
    let error = plan(text).expect_err(text);
    let [mistake] = &error.mistakes[..] else { panic!("{text}\n{:?}", error.mistakes) };
    let span = mistake.span.clone().unwrap_or_else(|| panic!("{mistake:?}"));
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let found = text[start..].lines().next().unwrap_or_default();
    assert!(found.contains(line), "{found}\n{}", error.render(false));
    assert!(mistake.help.is_some(), "{mistake:?}");
    error.render(false)
}

/// The shipped experiment with one text replaced; the error's rendering.
fn refused(from: &str, to: &str) -> String {
    let text = shipped("vdo-vs-plain").unwrap().text;
    assert!(text.contains(from), "{from}");
    plan(&text.replacen(from, to, 1)).unwrap_err().render(false)
}

#[test]
fn before_the_stages_of_every_cell_the_kernel_forgets_what_it_holds_in_memory() {
    for shipped in crate::SHIPPED {
        for cell in &plan(shipped.text).unwrap().cells {
            let shown: Vec<_> = cell.up.iter().rev().map(|step| step.action.show()).collect();
            assert!(shown[0].contains("drop_caches") && shown[1].contains("sync"), "{shown:?}");
        }
    }
}

#[test]
fn the_shipped_experiment_becomes_ten_cells_repeat_by_repeat() {
    let plan = plan(shipped("vdo-vs-plain").unwrap().text).unwrap();
    for block in plan.cells.chunks(2) {
        assert_eq!(block[0].repeat, block[1].repeat);
        assert_ne!(block[0].variant, block[1].variant);
    }
    assert!(plan.facts.order_drawn);
    assert_eq!(plan.cells.len(), 10);
    assert!(plan.needs.modules.iter().any(|m| m.contains("vdo")), "{:?}", plan.needs);
    for cell in &plan.cells {
        let measured: Vec<_> = cell.stages.iter().filter(|s| s.measured).collect();
        assert_eq!(measured.len(), 1);
        assert_eq!(measured[0].ios, Some(262_144));
        assert_eq!(cell.target.offer.bytes(), Bytes::GIB);
    }
    let allocates = |variant: &str| {
        let cell = plan.cells.iter().find(|c| c.variant == variant).unwrap();
        cell.stages.iter().filter(|s| s.kind == "allocate").map(|s| s.ios).collect::<Vec<_>>()
    };
    assert_eq!(allocates("plain"), []);
    // ceil(262,144 / 812) leaves; the last block lies in the last of them.
    assert_eq!(allocates("vdo"), [Some(324)]);
}

#[test]
fn a_plan_travels_through_json_unchanged() {
    let plan = plan(shipped("vdo-vs-plain").unwrap().text).unwrap();
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
}

#[test]
fn variants_of_one_repeat_share_a_seed_and_repeats_do_not() {
    let plan = plan(shipped("vdo-vs-plain").unwrap().text).unwrap();
    for a in &plan.cells {
        for b in &plan.cells {
            assert_eq!(a.seed == b.seed, a.repeat == b.repeat);
        }
    }
}

#[test]
fn set_changes_one_setting_of_one_variant() {
    let text = r#"
name = "x"
about = ""
[devices.data]
size = "8G"
[[stack]]
layer = "vdo"
on = "data"
logical_size = "1G"
[[variant]]
name = "a"
[[variant]]
name = "b"
set."vdo.logical_size" = "2G"
[[stage]]
do = "load"
measure = true
ops = { randwrite = 100 }
duration = "1s"
"#;
    let plan = plan(text).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let sizes: Vec<_> = plan.cells[..2].iter().map(|c| c.target.offer.bytes() >> 30).collect();
    assert_eq!(sizes, [1, 2]);
    let wrong = text.replace("vdo.logical_size\"", "vod.logical_size\"");
    assert!(
        super::compose("x", &wrong, &choices())
            .unwrap_err()
            .render(false)
            .contains("layers are: vdo")
    );
}

#[test]
fn every_mistake_names_its_line_and_what_to_write() {
    for (from, to, line, phrase) in [
        ("repeat = 5", "reapeat = 5", ":4", "did you mean 'repeat'"),
        ("repeat = 5", "repeat = 0", ":4", "set repeat to 5"),
        ("do = \"allocate\"", "do = \"alocate\"", "do = \"alocate\"", "did you mean 'allocate'"),
        ("measure = true", "measure = \"yes\"", "measure", "true"),
        ("measure = true\n", "", "random-write", "measure = true"),
        ("randwrite = 100", "randwrite = 90", "ops", "100"),
        ("depth = 32", "depth = 0", "depth = 0", "depth"),
        ("on = \"data\"", "on = \"disk\"", "on", "data"),
        ("metric = \"iops\"", "metric = \"iosp\"", "iosp", "did you mean 'iops'"),
        ("operation = \"randwrite\"", "operation = \"randread\"", "randread", "randwrite"),
        ("name = \"vdo\"", "name = \"plain\"", "plain", "its own name"),
        ("size = \"7G\"", "size = \"1k\"", "size", "at least 64M"),
        ("size = \"7G\"", "size = \"1 GB\"", "size", "give 999997440 or 1000001536"),
        ("compress = \"2.5x\"", "compress = \"fast\"", "compress", "2.5x"),
    ] {
        let shown = refused(from, to);
        assert!(shown.contains(line) && shown.contains(phrase), "{to}:\n{shown}");
        assert!(shown.contains("test.toml:"), "{to}:\n{shown}");
    }
}

#[test]
fn all_mistakes_are_shown_at_once() {
    let text = shipped("vdo-vs-plain").unwrap().text;
    let text = text
        .replace("do = \"allocate\"", "do = \"x\"")
        .replace("layer = \"linear\"", "layer = \"y\"");
    assert!(plan(&text).unwrap_err().mistakes.len() >= 2);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_fall_over(cut in 0usize..1500, junk in "[\\x20-\\x7e\\n]{0,12}") {
        let shipped = shipped("vdo-vs-plain").unwrap().text;
        let at = shipped.len().min(cut);
        if shipped.is_char_boundary(at) {
            let text = format!("{}{junk}{}", &shipped[..at], &shipped[at..]);
            if let Err(error) = plan(&text) {
                proptest::prop_assert!(!error.render(false).is_empty());
            }
        }
    }
}

/// An experiment whose stages copy from a file of 1 MiB next to it.
fn copying(stages: &str) -> (tempfile::TempDir, Result<Plan, ExperimentError>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("corpus.img"), vec![1; 1 << 20]).unwrap();
    let text = format!(
        "name = \"copying\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"7G\"\n\
         [devices.corpus]\nfile = \"corpus.img\"\n[[stack]]\nlayer = \"vdo\"\non = \"data\"\n\
         logical_size = \"1G\"\n{stages}\n[[stage]]\ndo = \"load\"\nmeasure = true\n\
         ops = {{ write = 100 }}\nbytes = \"4M\"\n"
    );
    let file = dir.path().join("copying.toml");
    let plan = compose(file.to_str().unwrap(), &text, &choices());
    (dir, plan)
}

#[test]
fn a_copy_brings_a_file_onto_the_stack_and_settings_change_before_it() {
    let (dir, plan) = copying(
        "[[stage]]\ndo = \"copy\"\nname = \"first\"\nfrom = \"corpus\"\nsize = \"256k\"\n\
         set.\"vdo.dedupe\" = false\n\
         [[stage]]\ndo = \"copy\"\nname = \"rest\"\nfrom = \"corpus\"\nfrom_offset = \"256k\"\n\
         offset = \"1M\"\nblock_size = \"4k\"\nsettle = true\nset.\"vdo.dedupe\" = true",
    );
    let plan = plan.unwrap();
    let corpus = &plan.devices["corpus"];
    let file = dir.path().join("corpus.img").canonicalize().unwrap();
    assert_eq!((corpus.size, corpus.file.as_ref()), (Bytes(1 << 20), Some(&file)));
    assert_eq!(plan.devices["data"].file, None);
    let [first, rest, _] = &plan.cells[0].stages[..] else { panic!("three stages") };
    let shown = |stage: &plan::StagePlan| -> Vec<String> {
        stage.before.iter().map(|step| step.action.show()).collect()
    };
    assert!(shown(first)[0].contains("lvchange --yes --deduplication n"), "{:?}", shown(first));
    assert!(shown(rest)[0].contains("--deduplication y"));
    assert!(shown(rest)[1].contains("dedupe is on in dmsetup table"), "{:?}", shown(rest));
    assert_eq!(rest.before.len(), 3, "the index is waited for");
    let plan::Task::Copy(copy) = &rest.task else { panic!("no copy") };
    assert_eq!(
        (copy.offset, copy.bytes, copy.block),
        (Bytes(256 << 10), Bytes(768 << 10), Bytes(4096))
    );
    assert_eq!(copy.from, "{device.corpus}");
    assert_eq!((copy.to, rest.bytes), (Bytes(1 << 20), Some(Bytes(768 << 10))));
    assert!(rest.settle && !first.settle);
}

#[test]
fn a_copy_that_cannot_be_names_its_line_and_the_remedy() {
    let refused = |stage: &str, phrase: &str| {
        let message = copying(&format!("[[stage]]\n{stage}")).1.unwrap_err().render(false);
        assert!(message.contains(phrase), "{phrase} in {message}");
    };
    refused("do = \"copy\"\nfrom = \"data\"", "there are: corpus");
    refused("do = \"copy\"", "from");
    refused("do = \"copy\"\nfrom = \"corpus\"\nsize = \"2M\"", "1 MiB from byte 0 on");
    refused("do = \"copy\"\nfrom = \"corpus\"\nsize = 100", "multiple of 4k");
    refused("do = \"copy\"\nfrom = \"corpus\"\noffset = \"2G\"", "offset");
    refused("do = \"copy\"\nfrom = \"corpus\"\nmeasure = true", "settle = true");
    refused("do = \"copy\"\nfrom = \"corpus\"\ndepth = 3", "depth");
    refused(
        "do = \"copy\"\nfrom = \"corpus\"\nset.\"vdo.slab_size\" = \"1G\"",
        "these can: dedupe",
    );
    refused("do = \"copy\"\nfrom = \"corpus\"\nset.\"zfs.dedupe\" = true", "its layers are: vdo");
    refused("do = \"copy\"\nfrom = \"corpus\"\nset.\"vdo.dedupe\" = 7", "dedupe");
}

#[test]
fn a_device_is_either_written_to_or_a_file_that_is_there() {
    let text = |device: &str| {
        format!(
            "name = \"x\"\nabout = \"x\"\n[devices.data]\n{device}\n[[stack]]\nlayer = \"linear\"\non = \"data\"\n\
             [[stage]]\ndo = \"load\"\nmeasure = true\nops = {{ write = 100 }}\nbytes = \"4M\"\n"
        )
    };
    let refusal = |device: &str| plan(&text(device)).unwrap_err().render(false);
    assert!(refusal("file = \"/nowhere.img\"").contains("/nowhere.img cannot be read"));
    assert!(refusal("size = \"1G\"\nfile = \"x\"").contains("either a size or a file"));
    assert!(refusal("").contains("either a size or a file"));
}
