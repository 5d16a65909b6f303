//! Tests of `[[picture]]`.

use results::model::Show;

use super::plan;
use crate::ExperimentError;
use plan::Plan;

/// A load on a cache, a sweep and a command, and a factor of three levels.
fn text(pictures: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.slow]\nsize = \"2G\"\n[devices.fast]\nsize = \"1G\"\n\
         [[stack]]\nlayer = \"lvmcache\"\nname = \"cache\"\non = {{ origin = \"slow\", cache = \"fast\" }}\n\
         size = \"512M\"\ncache_size = \"128M\"\n\
         [[stage]]\ndo = \"load\"\nname = \"warm\"\nmeasure = true\nops = {{ randread = 100 }}\nduration = \"5s\"\n\
         [[stage]]\ndo = \"load\"\nname = \"depths\"\nmeasure = true\nops = {{ randread = 100 }}\nduration = \"5s\"\n\
         sweep = {{ depth = [1, 4, 16] }}\n\
         [[stage]]\ndo = \"command\"\nname = \"list\"\nmeasure = true\nargv = [\"ls\"]\n\
         [[factor]]\nname = \"size\"\nkey = \"warm.block_size\"\nlevels = [\"4k\", \"8k\"]\n{pictures}\n"
    )
}

fn planned(pictures: &str) -> Plan {
    plan(&text(pictures)).unwrap_or_else(|e: ExperimentError| panic!("{}", e.render(false)))
}

#[test]
fn pictures_travel_into_the_result_in_their_order() {
    let plan = planned(
        "[[picture]]\nshow = \"iops over time\"\nstage = \"warm\"\n\
         [[picture]]\nshow = \"latency bars\"\nstage = \"warm\"\noperation = \"randread\"\npercentiles = [99, 50]\n\
         [[picture]]\nshow = \"latency over time\"\n\
         [[picture]]\nshow = \"series\"\nlayer = \"cache\"\nseries = [\"hit_percent\", \"misses\"]\n\
         [[picture]]\nshow = \"curve\"\nmetric = \"iops\"\nstage = \"depths\"\nby = \"depth\"\n\
         [[picture]]\nshow = \"comparison\"\nmetric = \"elapsed_s\"",
    );
    let pictures = &plan.facts.pictures;
    let shows: Vec<Show> = pictures.iter().map(|picture| picture.show).collect();
    let expected = [
        Show::IopsOverTime,
        Show::LatencyBars,
        Show::LatencyOverTime,
        Show::Series,
        Show::Curve,
        Show::Comparison,
    ];
    assert_eq!(shows, expected);
    assert_eq!(pictures[0].stage.as_deref(), Some("warm"));
    assert_eq!(pictures[1].percentiles, [50.0, 99.0]);
    assert_eq!(pictures[2].percentiles, [99.0]);
    assert_eq!(pictures[3].series, ["hit_percent", "misses"]);
    assert_eq!(
        (pictures[4].metric.as_deref(), pictures[4].by.as_deref()),
        (Some("iops"), Some("depth"))
    );
    let json = serde_json::to_string(&plan.facts).unwrap();
    assert!(json.contains("\"latency bars\""), "{json}");
    assert!(planned("").facts.pictures.is_empty());
}

#[test]
fn a_counter_of_a_layer_is_drawn_and_asked_about_by_its_probe_and_its_own_name() {
    let counter = "[[question]]\nmetric = \"status.read_hits\"\nlayer = \"cache\"\n\
         [[picture]]\nshow = \"series\"\nlayer = \"cache\"\nseries = [\"status.dirty_chunks\", \"hit_percent\"]\n";
    let facts = planned(counter).facts;
    assert_eq!(facts.questions[0].metric, "status.read_hits");
    assert_eq!(facts.pictures[0].series, ["status.dirty_chunks", "hit_percent"]);
    for (written, phrase) in [
        ("metric = \"read_hits\"", "did you mean 'status.read_hits'?"),
        ("metric = \"cache.read_hits\"", "did you mean 'status.read_hits'?"),
        ("metric = \"blockMap.dirtyPages\"", "did you mean 'stats.blockMap.dirtyPages'?"),
        ("metric = \"stats.blockMap.dirtyPages\"", "is a figure of vdo, and there is none"),
        ("metric = \"status.read_hits\"\nlayer = \"slow\"", "'slow' is a device"),
    ] {
        let error = plan(&text(&format!("[[question]]\n{written}"))).unwrap_err().render(false);
        assert!(error.contains(phrase), "{written}: {error}");
    }
}

#[test]
fn what_cannot_be_drawn_is_told_at_its_line() {
    for (picture, line, phrase) in [
        (
            "show = \"series\"\nlayer = \"cache\"\nseries = [\"dirty_chunks\"]",
            "series",
            "did you mean 'status.dirty_chunks'?",
        ),
        ("stage = \"warm\"", "[[picture]]", "no key 'show', which it needs"),
        ("show = \"iops over tim\"", "show", "did you mean 'iops over time'?"),
        ("show = \"iops over time\"\nstage = \"wram\"", "stage", "did you mean 'warm'?"),
        ("show = \"iops over time\"\nstage = \"list\"", "stage", "'list' is not a single load"),
        ("show = \"latency bars\"\nstage = \"depths\"", "stage", "show = \"curve\""),
        (
            "show = \"iops over time\"\noperation = \"write\"",
            "operation",
            "No such stage does 'write'",
        ),
        ("show = \"latency bars\"\npercentiles = [50, 100]", "percentiles", "no percentile 100"),
        ("show = \"latency bars\"\npercentiles = [-1]", "percentiles", "no percentile -1"),
        ("show = \"latency bars\"\npercentiles = [0]", "percentiles", "no percentile 0"),
        ("show = \"latency bars\"\npercentiles = []", "percentiles", "0 percentiles"),
        (
            "show = \"iops over time\"\npercentiles = [50]",
            "percentiles",
            "does not take 'percentiles'",
        ),
        ("show = \"series\"\nseries = [\"hits\"]", "[[picture]]", "'series' needs 'layer'"),
        ("show = \"series\"\nlayer = \"cache\"", "[[picture]]", "'series' needs 'series'"),
        (
            "show = \"series\"\nlayer = \"cahce\"\nseries = [\"hits\"]",
            "layer",
            "did you mean 'cache'?",
        ),
        (
            "show = \"series\"\nlayer = \"cache\"\nseries = [\"hit_precent\"]",
            "series",
            "did you mean 'hit_percent'?",
        ),
        (
            "show = \"series\"\nlayer = \"cache\"\nseries = [\"hits\"]\nstage = \"no\"",
            "stage",
            "No measured stage",
        ),
        ("show = \"curve\"", "[[picture]]", "no key 'metric'"),
        ("show = \"curve\"\nmetric = \"iosp\"", "metric", "did you mean 'iops'?"),
        ("show = \"curve\"\nmetric = \"iops\"\nby = \"size\"", "by", "fewer than 3 values"),
        (
            "show = \"curve\"\nmetric = \"iops\"\nby = \"colour\"",
            "by",
            "no factor and no swept key 'colour'",
        ),
        ("show = \"comparison\"\nmetric = \"iops\"\nby = \"depth\"", "by", "does not take 'by'"),
        ("show = \"comparison\"\nmetric = \"iops\"\nstage = \"no\"", "stage", "No measured stage"),
        ("show = \"curve\"\nmetric = \"iops\"\nzoom = 2", "zoom", "has no key 'zoom'"),
    ] {
        let text = text(&format!("[[picture]]\n{picture}"));
        let error = plan(&text).expect_err(picture);
        let [mistake] = &error.mistakes[..] else { panic!("{picture}: {:?}", error.mistakes) };
        let span = mistake.span.clone().unwrap_or_else(|| panic!("{mistake:?}"));
        let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let found = text[start..].lines().next().unwrap_or_default();
        assert!(found.contains(line), "{picture}: {found}");
        let message = error.render(false);
        assert!(mistake.help.is_some() && message.contains(phrase), "{picture}: {message}");
    }
    let many = "[[picture]]\nshow = \"iops over time\"\n".repeat(7);
    let message = plan(&text(&many)).unwrap_err().render(false);
    assert!(message.contains("7 pictures; at most 6"), "{message}");
}

#[test]
fn everything_that_a_picture_takes_is_described() {
    let page = include_str!("../../../../docs/experiments.md");
    let section = page.split_once("\n## Pictures\n").unwrap().1.split_once("\n## ").unwrap().0;
    for word in Show::ALL.map(Show::word) {
        assert!(section.contains(&format!("`{word}`")), "{word}");
    }
    for key in ["stage", "operation", "layer", "series", "percentiles", "metric", "by"] {
        assert!(section.contains(&format!("`{key}`")), "{key}");
    }
}
