//! Tests of sweeps: points of one stage, in one cell.

use super::plan;

const HEAD: &str = "name = \"x\"\nabout = \"x\"\nrepeat = 8\n[devices.data]\nsize = \"1G\"\n[[stack]]\nlayer = \"linear\"\n\
                    on = \"data\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n[[stage]]\ndo = \"load\"\n\
                    name = \"random\"\nduration = \"1s\"\n";
const READS: &str = "measure = true\nops = { randread = 100 }\n";

/// Names of the stages of each cell.
fn stages(text: &str) -> Vec<Vec<String>> {
    let plan = plan(text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let names = |cell: &plan::CellPlan| cell.stages.iter().map(|s| s.name.clone()).collect();
    plan.cells.iter().map(names).collect()
}

#[test]
fn every_point_is_measured_in_an_order_that_the_repeat_draws() {
    let text =
        format!("{HEAD}{READS}sweep = {{ depth = [1, 16, 64], block_size = [\"4k\", \"64k\"] }}\n");
    let plan = plan(&text).unwrap();
    let facts = &plan.facts.variants[0].stages;
    let names: Vec<_> = facts.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "random block_size=4k depth=1",
            "random block_size=4k depth=16",
            "random block_size=4k depth=64",
            "random block_size=64k depth=1",
            "random block_size=64k depth=16",
            "random block_size=64k depth=64",
        ]
    );
    let sweep = facts[4].sweep.as_ref().unwrap();
    assert_eq!((sweep.stage.as_str(), sweep.point["depth"].as_str()), ("random", "16"));
    assert!(facts.iter().all(|stage| stage.measured));
    let load = plan.cells[0].stages.iter().find(|s| s.name == names[4]).unwrap().load().unwrap();
    assert_eq!((load.depth, load.largest_io().0), (16, 64 << 10));
    let orders = stages(&text);
    assert_eq!(orders[0], orders[1], "the same for all variants of a repeat");
    let mut different = orders.clone();
    different.sort();
    different.dedup();
    assert!(different.len() > 4, "{different:?}");
    for mut order in orders {
        order.sort();
        assert_eq!(order, names);
    }
}

/// As the article on block size and parallelism had it: 14 amounts of data in flight, each as one I/O and divided among 2, 4, 8 ...
#[test]
fn bytes_in_flight_are_swept_as_one_large_io_and_as_many_small_ones() {
    let doubled = |first: u64, n: u32| {
        (0..n).map(|at| (first << at).to_string()).collect::<Vec<_>>().join(", ")
    };
    let (bytes, depths) = (doubled(512, 14), doubled(1, 14));
    let text = format!("{HEAD}{READS}sweep = {{ outstanding = [{bytes}], depth = [{depths}] }}\n");
    let plan = plan(&text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let stages = &plan.cells[0].stages;
    assert_eq!(stages.len(), 105);
    for stage in stages {
        let load = stage.load().unwrap();
        let sweep = &plan.facts.variants[0].stages.iter().find(|s| s.name == stage.name).unwrap();
        let all: u64 = sweep.sweep.as_ref().unwrap().point["outstanding"].parse().unwrap();
        assert_eq!(load.largest_io().0 * u64::from(load.depth), all, "{}", stage.name);
    }
    for (sweep, phrase) in [
        ("outstanding = [\"1M\", \"2M\"]", "sweep depth as well"),
        ("outstanding = [\"1M\", \"2M\"], depth = [1, 2], block_size = [4096]", "follows from"),
        ("outstanding = [\"much\"], depth = [1, 2]", "outstanding cannot be much"),
        ("outstanding = [512, 1000], depth = [3, 1]", "A sweep of a single point"),
    ] {
        let text = format!("{HEAD}{READS}sweep = {{ {sweep} }}\n");
        let shown = super::plan(&text).unwrap_err().render(false);
        assert!(shown.contains(phrase), "{sweep}: {shown}");
    }
    for (beside, phrase) in [
        ("block_size = \"4k\"", "'block_size' follows from"),
        ("each.randread.block_size = \"4k\"", "'each.randread.block_size' follows from"),
        ("depth_unit = \"4k\"", "'depth_unit' counts otherwise"),
    ] {
        let reads = READS.replace("block_size = \"4k\"\n", "");
        let text = format!(
            "{HEAD}{reads}{beside}\nsweep = {{ outstanding = [512, 1024], depth = [1, 2] }}\n"
        );
        let shown = super::plan(&text).unwrap_err().render(false);
        assert!(shown.contains(phrase), "{beside}: {shown}");
    }
}

#[test]
fn what_a_stage_sets_is_set_before_its_first_point_whichever_that_is() {
    let stack = HEAD.replace("linear", "vdo").replace("1G", "8G");
    let text =
        format!("{stack}{READS}set.\"vdo.dedupe\" = false\nsweep = {{ depth = [1, 2, 4, 8] }}\n");
    for cell in plan(&text).unwrap().cells {
        let changes: Vec<_> = cell.stages.iter().map(|stage| stage.before.len()).collect();
        // The change, and a look at what the kernel made of it.
        assert_eq!(changes, [2, 0, 0, 0]);
    }
}

#[test]
fn writes_are_swept_only_where_the_state_stands_it() {
    let text = format!(
        "{HEAD}measure = true\nops = {{ randwrite = 100 }}\nsweep = {{ depth = [1, 2] }}\n"
    );
    let shown = plan(&text).unwrap_err().render(false);
    assert!(shown.contains("[[factor]]") && shown.contains("sweep_state = \"steady\""), "{shown}");
    assert_eq!(stages(&format!("{text}sweep_state = \"steady\"\n"))[0].len(), 2);
}

#[test]
fn a_wrong_sweep_is_told_at_its_line_with_the_remedy() {
    let many = (1..=129).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    for (keys, phrase) in [
        ("sweep = 5", "as in sweep = { depth"),
        ("sweep = { depth = 5 }", "as in sweep = { depth"),
        ("sweep = { depth = [1] }", "2 to 128 points"),
        ("sweep = {}", "2 to 128 points"),
        (&format!("sweep = {{ depth = [{many}] }}"), "2 to 128 points"),
        ("sweep = { depth = [1, 1] }", "twice"),
        ("sweep = { block_size = [\"4k\", \"4096\"] }", "is the same load as"),
        ("sweep = { block_size = [\"4k\", 4096, \"8k\"] }", "is the same load as"),
        ("sweep = { block_size = [\"4k=50,8k=50\", \"8k=50,4k=50\"] }", "is the same load as"),
        ("sweep = { size = [\"510M\", \"50%\"] }", "is the same load as"),
        ("sweep = { interval = [\"1s\", \"1000ms\"] }", "is the same load as"),
        ("sweep = { depth = [1, 0] }", "depth"),
        ("sweep = { depth = [1, true] }", "as in depth = 32"),
        ("sweep = { depth = [1, [2]] }", "write depth = [1, 2]"),
        ("sweep = { dept = [1, 2] }", "did you mean 'depth'"),
        ("sweep = { name = [1, 2] }", "'name' is none"),
        ("sweep = { sweep = [1, 2] }", "There are: ops"),
        ("sweep = { depth = [1, 2] } # and\nsweep_state = \"wild\"", "sweep_state takes"),
        ("sweep = { depth = [1, 2] } # and\nsweep_state = 5", "sweep_state takes"),
        ("swep = { depth = [1, 2] }", "did you mean 'sweep'"),
    ] {
        let text = format!("{HEAD}{READS}{keys}\n");
        let error = plan(&text).expect_err(keys);
        let found = &error.mistakes[0];
        let at = text[..found.span.clone().unwrap().start].matches('\n').count();
        let line = keys.lines().last().unwrap();
        assert_eq!(text.lines().nth(at), Some(line), "{}", error.render(false));
        assert!(format!("{found:?}").contains(phrase), "{}", error.render(false));
    }
    let values = (1..=50).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let six: String = (0..6)
        .map(|n| format!("[[stage]]\ndo = \"load\"\nname = \"s{n}\"\nduration = \"1s\"\n{READS}sweep = {{ depth = [{values}] }}\n"))
        .collect();
    let shown = plan(&format!("{HEAD}{READS}{six}")).unwrap_err().render(false);
    assert!(shown.contains("301 stages") && shown.contains("at most 250"), "{shown}");
    let idle = format!("{HEAD}ops = {{ randread = 100 }}\nsweep = {{ depth = [1, 2] }}\n");
    let shown = plan(&idle).unwrap_err().render(false);
    assert!(shown.contains("is not measured") && shown.contains("measure = true"), "{shown}");
}

#[test]
fn a_point_can_be_asked_for_and_an_expectation_has_to_name_one() {
    let sweep = format!("{HEAD}{READS}sweep = {{ depth = [1, 16] }}\n");
    let figure =
        |stage: &str| format!("metric = \"iops\"\noperation = \"randread\"\nstage = \"{stage}\"\n");
    let plan_of = |more: String| plan(&format!("{sweep}{more}"));
    let plan = plan_of(format!("[[question]]\n{}", figure("random depth=16"))).unwrap();
    assert_eq!(plan.facts.questions[0].stage.as_deref(), Some("random depth=16"));
    let of = "above = 1\nof = { stage = \"random depth=1\" }\n";
    assert!(plan_of(format!("[[expect]]\n{}{of}", figure("random depth=16"))).is_ok());
    let error = plan_of(format!("[[expect]]\n{}{of}", figure("random"))).unwrap_err();
    let message = error.render(false);
    assert!(
        message.contains("a sweep of 2 points") && message.contains("random depth=16"),
        "{message}"
    );
    let error = plan_of(format!("[[question]]\n{}", figure("random depth=2"))).unwrap_err();
    assert!(error.render(false).contains("did you mean 'random depth=1'"));
}
