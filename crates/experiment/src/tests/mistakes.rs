//! Tests of the reports of wrong keys and values: at which line, by which name, and with which example.

use units::Key;
use workload::LoadSpec;

use super::plan;
use crate::Diagnostic;

/// An experiment in which every name of a key occurs in places that have nothing to do with it. Lines in `{}` are replaced.
fn text(device: &str, layer: &str, stage: &str, rest: &str) -> String {
    format!(
        "# depth size ops content dedupe name metric layer threshold\nname = \"depth\"\n\
         about = \"depth size = true on ops dedupe content zero block_size\"\nrepeat = 1\n\
         [devices.data]\n{device}\n[[stack]]\n# layer on dedupe size\nlayer = \"vdo\"\non = \"data\"\n{layer}\n\
         [[stage]]\ndo = \"allocate\"\nname = \"depth pattern\"\n[[stage]]\n# depth jobs size\n\
         do = \"load\"\nname = \"depth dedupe zero size\"\nmeasure = true\n{stage}\n{rest}\n"
    )
}

const DEVICE: &str = "size = \"7G\"";
const LAYER: &str = "logical_size = \"1G\"";
const LOAD: &str = "ops = { randwrite = 100 }\nios = 100";

/// The only mistake of `text`, which has to be on the line that ends in `line`.
fn mistake(text: &str, line: &str) -> Diagnostic {
    let error = plan(text).expect_err(text);
    let [mistake] = &error.mistakes[..] else { panic!("{text}\n{:?}", error.mistakes) };
    let span = mistake.span.clone().unwrap_or_else(|| panic!("{text}\n{mistake:?}"));
    let found = text[..span.start].matches('\n').count();
    let wanted = text.lines().position(|l| l.ends_with(line)).expect(line);
    assert_eq!(found, wanted, "{text}\n{}", error.render(false));
    mistake.clone()
}

/// Checks that for a value that the key does not take the report says what the key takes, with an example.
fn refused(text: &str, line: &str, path: &str) {
    says_what_it_takes(mistake(text, line), text, path);
}

/// The same where the text has other mistakes, too.
fn refused_among_others(text: &str, line: &str, path: &str) {
    let at = text.find(&format!("\n{line}\n")).expect(line) + 1;
    let all = plan(text).expect_err(text).mistakes;
    let line = at..at + line.len();
    let on_line = |m: &&Diagnostic| m.span.as_ref().is_some_and(|s| line.contains(&s.start));
    let mut on_this_line = all.iter().filter(on_line);
    let (Some(mistake), None) = (on_this_line.next(), on_this_line.next()) else {
        panic!("{text}\n{all:?}")
    };
    says_what_it_takes(mistake.clone(), text, path);
}

fn says_what_it_takes(mistake: Diagnostic, text: &str, path: &str) {
    assert!(mistake.message.contains(path), "{text}\n{mistake:?}");
    let help = mistake.help.unwrap_or_else(|| panic!("{text}\n{}", mistake.message));
    assert!(help.contains("takes") && help.contains("as in") && help.contains(" = "), "{help}");
}

/// Values of types that `key` does not take.
fn wrong(key: &Key) -> &'static [&'static str] {
    match key.takes {
        "true or false" => &["[5]", "\"perhaps\"", "7"],
        _ => &["[5]", "true", "1979-05-27"],
    }
}

#[test]
fn every_key_of_a_load_is_told_at_its_line_with_what_it_takes() {
    let content = content::ContentSpec::KEYS.iter().map(|key| ("content.", key));
    for (before, key) in LoadSpec::KEYS.iter().map(|key| ("", key)).chain(content) {
        let path = format!("{before}{}", key.name.replace('*', "randwrite"));
        // A key of single operations needs no line for all of them.
        let ops = if path.starts_with("ops") { "" } else { "ops = { randwrite = 100 }\n" };
        let end = if path == "ios" { "" } else { "ios = 100\n" };
        for value in wrong(key) {
            let line = format!("{path} = {value}");
            let stage = format!("{ops}{end}# {path}\n{line}\nmax_errors = 4");
            let stage = stage.replace(
                "max_errors = 4",
                if path == "max_errors" { "" } else { "max_errors = 4" },
            );
            refused(&text(DEVICE, LAYER, &stage, ""), &line, &path);
            // The same in an inline table.
            if let Some((around, inner)) = path.split_once('.') {
                let line = format!("{around} = {{ {inner} = {value} }}");
                refused(&text(DEVICE, LAYER, &format!("{ops}{end}{line}"), ""), &line, &path);
            }
        }
    }
}

#[test]
fn every_key_of_every_layer_is_told_at_its_line_with_what_it_takes() {
    for kind in layers::kinds() {
        for key in kind.keys {
            let line = format!("{} = [5]", key.name);
            let whole = text(DEVICE, &format!("# {}\n{line}", key.name), LOAD, "");
            let whole = whole.replace("layer = \"vdo\"", &format!("layer = \"{}\"", kind.name));
            refused_among_others(&whole, &line, key.name);
            let set = format!("set.\"vdo.{}\" = [5]", key.name);
            let whole = text(DEVICE, LAYER, LOAD, &format!("[[variant]]\nname = \"v\"\n{set}"));
            let whole = whole.replace("layer = \"vdo\"", &format!("layer = \"{}\"", kind.name));
            let whole = whole.replace("vdo.", &format!("{}.", kind.name)).replace(LAYER, "");
            let set = set.replace("vdo.", &format!("{}.", kind.name));
            refused_among_others(&whole, &set, key.name);
        }
    }
}

#[test]
fn every_key_of_an_ageing_is_told_at_its_line_with_what_it_takes() {
    let keys = "files rounds append runs_per_file bytes duration thin_out fill fill_file read";
    for key in keys.split(' ') {
        let line = format!("{key} = [5]");
        let needed =
            ["files = 5", "rounds = 6"].into_iter().filter(|needed| !needed.starts_with(key));
        let needed = Vec::from_iter(needed).join("\n");
        let stage = format!("[[stage]]\ndo = \"age\"\n{needed}\n{line}");
        // There is no directory to age either.
        refused_among_others(&text(DEVICE, LAYER, LOAD, &stage), &line, key);
    }
    let none = "[[stage]]\ndo = \"age\"\nfiles = 0\nrounds = 6";
    refused_among_others(&text(DEVICE, LAYER, LOAD, none), "files = 0", "files");
}

#[test]
fn a_threshold_that_decides_nothing_is_refused_with_what_to_write() {
    for share in ["0%", "100%", "0.03"] {
        let more = format!("[[question]]\nmetric = \"iops\"\nthreshold = \"{share}\"");
        let line = format!("threshold = \"{share}\"");
        let found = mistake(&text(DEVICE, LAYER, LOAD, &more), &line);
        assert!(found.message.contains("decides nothing"), "{found:?}");
        assert!(found.help.as_ref().unwrap().contains("write \"5%\""), "{found:?}");
    }
}

#[test]
fn every_key_of_the_file_itself_is_told_at_its_line_with_what_it_takes() {
    let with = |rest: &str| text(DEVICE, LAYER, LOAD, rest);
    for (whole, line, path) in [
        (with("").replace("name = \"depth\"", "name = 5"), "name = 5", "name"),
        (with("").replace("repeat = 1", "repeat = true"), "repeat = true", "repeat"),
        (with("").replace("repeat = 1", "repeat = -1"), "repeat = -1", "repeat"),
        (with("").replace("repeat = 1", "repeat = 1\nsource = 5"), "source = 5", "source"),
        (text("size = true", LAYER, LOAD, ""), "size = true", "size"),
        (text("file = 7", LAYER, LOAD, ""), "file = 7", "file"),
        (with("[[question]]\nmetric = 5"), "metric = 5", "metric"),
        (with("[[question]]\nmetric = \"iops\"\noperation = 5"), "operation = 5", "operation"),
        (
            with("[[question]]\nmetric = \"iops\"\nthreshold = \"x\""),
            "threshold = \"x\"",
            "threshold",
        ),
        (with("[[question]]\noperation = \"randwrite\""), "[[question]]", "metric"),
        (with("[[question]]\nmetric = \"iops\"\nstage = 5"), "stage = 5", "stage"),
        (with("[[question]]\nmetric = \"iops\"\nlayer = 5"), "layer = 5", "layer"),
        (with("[[variant]]\nname = true"), "name = true", "name"),
        (with("[[picture]]\nshow = 5"), "show = 5", "show"),
        (with("[[picture]]\nshow = \"iops over time\"\nstage = 5"), "stage = 5", "stage"),
        (
            with("[[picture]]\nshow = \"latency bars\"\npercentiles = 5"),
            "percentiles = 5",
            "percentiles",
        ),
        (with("[[picture]]\nshow = \"series\"\nlayer = 5"), "layer = 5", "layer"),
        (
            with("[[picture]]\nshow = \"series\"\nlayer = \"vdo\"\nseries = 5"),
            "series = 5",
            "series",
        ),
        (with("[[picture]]\nshow = \"comparison\"\nmetric = 5"), "metric = 5", "metric"),
        (with("[[picture]]\nshow = \"curve\"\nmetric = \"iops\"\nby = 5"), "by = 5", "by"),
        (with("[[variant]]\nname = \"v\"\nset = 5"), "set = 5", "set"),
        (with("[[variant]]\nname = \"v\"\nstack = 5"), "stack = 5", "stack"),
        (with("[[variant]]\n# no name"), "[[variant]]", "name"),
        (with("[[stage]]\ndo = 5"), "do = 5", "do"),
        (with("[[stage]]\ndo = \"allocate\"\nname = 6"), "name = 6", "name"),
        (with("[[stage]]\ndo = \"allocate\"\nsettle = 5"), "settle = 5", "settle"),
        (with("[[stage]]\ndo = \"read\"\nonly = 5"), "only = 5", "only"),
        (with("[[stage]]\ndo = \"read\"\ntarget = 5"), "target = 5", "target"),
        (with("[[stage]]\ndo = \"wait\"\nduration = true"), "duration = true", "duration"),
        (with("[[stage]]\ndo = \"copy\"\nfrom = 5"), "from = 5", "from"),
        (text(DEVICE, "name = 5", LOAD, ""), "name = 5", "name"),
        (with("").replace("on = \"data\"", "on = 5"), "on = 5", "on"),
        (with("").replace("measure = true", "measure = \"yes\""), "measure = \"yes\"", "measure"),
    ] {
        refused(&whole, line, path);
    }
    let copy = with("[[stage]]\ndo = \"copy\"\nfrom = \"c\"\nsize = 100");
    refused_among_others(&copy, "size = 100", "size");
}

#[test]
fn an_unknown_key_is_told_at_its_line_with_the_nearest_known_one() {
    let with = |rest: &str| text(DEVICE, LAYER, LOAD, rest);
    let load = |line: &str| text(DEVICE, LAYER, &format!("{LOAD}\n{line}"), "");
    for (whole, line, near) in [
        (with("").replace("repeat = 1", "reapeat = 1"), "reapeat = 1", "repeat"),
        (text("size = \"7G\"\nfil = 1", LAYER, LOAD, ""), "fil = 1", "file"),
        (text(DEVICE, "dedup = false", LOAD, ""), "dedup = false", "dedupe"),
        (load("dept = 5"), "dept = 5", "depth"),
        (load("setle = true"), "setle = true", "settle"),
        (load("content = { dedup = 5 }"), "content = { dedup = 5 }", "dedupe"),
        (load("content.zeros = 5"), "content.zeros = 5", "zero"),
        (load("each.write.patern = \"x\""), "each.write.patern = \"x\"", "pattern"),
        (load("each.wriet.pattern = \"random\""), "each.wriet.pattern = \"random\"", "write"),
        (text(DEVICE, LAYER, "ops.randwrit = 100\nios = 1", ""), "ops.randwrit = 100", "randwrite"),
        (with("[[question]]\nmetrc = 5\nmetric = \"iops\""), "metrc = 5", "metric"),
        (with("[[variant]]\nname = \"v\"\nsett = 5"), "sett = 5", "set"),
        (with("[[stage]]\ndo = \"allocate\"\nmesure = true"), "mesure = true", "measure"),
        (
            with("[[stage]]\ndo = \"wait\"\nduration = \"1s\"\ndedline = 5"),
            "dedline = 5",
            "deadline",
        ),
    ] {
        let mistake = mistake(&whole, line);
        let help = mistake.help.unwrap();
        assert!(help.contains(&format!("did you mean '{near}'")), "{line}: {help}");
    }
    let help = mistake(&load("dept = 5"), "dept = 5").help.unwrap();
    assert!(help.contains("measure") && help.contains("pattern"), "all are listed: {help}");
}

#[test]
fn a_name_is_neither_empty_nor_endless_and_holds_no_control_character() {
    let long = "x".repeat(65);
    let with = |rest: String| text(DEVICE, LAYER, LOAD, &rest);
    for bad in ["", "  ", "a\\u001b[31mb", "a\\nb", &long] {
        let line = format!("name = \"{bad}\"");
        for (whole, line) in [
            (with(String::new()).replacen("name = \"depth\"", &line, 1), line.clone()),
            (with(format!("[[variant]]\n{line}")), line.clone()),
            (with(format!("[[stage]]\ndo = \"allocate\"\n{line}")), line.clone()),
            (text(DEVICE, &line, LOAD, ""), line.clone()),
            (with(format!("[devices.\"{bad}\"]\nsize = \"1G\"")), format!("[devices.\"{bad}\"]")),
        ] {
            let shown = mistake(&whole, &line);
            assert!(shown.message.contains("name"), "{shown:?}");
            assert!(!shown.message.contains('\u{1b}'), "{shown:?}");
        }
    }
    let fits = format!("[[variant]]\nname = \"{}\"", "ä".repeat(64));
    assert!(plan(&with(fits)).is_ok());
}

#[test]
fn what_is_asked_twice_or_used_by_nothing_is_refused() {
    let with = |rest: &str| text(DEVICE, LAYER, LOAD, rest);
    let twice =
        "[[question]]\nmetric = \"iops\"\n[[question]]\nthreshold = \"5%\"\nmetric   = \"iops\"";
    let shown = mistake(&with(twice), "metric   = \"iops\"");
    assert!(shown.message.contains("asked for twice"), "{shown:?}");
    let apart = "[[question]]\nmetric = \"iops\"\n[[question]]\nmetric = \"iops\"\noperation = \"randwrite\"";
    assert!(plan(&with(apart)).is_ok());
    let shown = mistake(&with("[devices.spare]\nsize = \"1G\""), "[devices.spare]");
    assert!(shown.message.contains("uses the device 'spare'"), "{shown:?}");
    assert!(shown.help.unwrap().contains("on = \"spare\""));
    let shown = mistake(&with("[[stack]]\nlayer = \"vdo\" # again"), "layer = \"vdo\" # again");
    assert!(shown.message.contains("'vdo'"), "{shown:?}");
}

/// Checks that exactly these lines are reported as wrong, each once, in the order in which they stand.
fn all_of(text: &str, lines: &[&str]) {
    let error = plan(text).expect_err(text);
    let mut message: Vec<usize> = error
        .mistakes
        .iter()
        .map(|mistake| text[..mistake.span.clone().unwrap().start].matches('\n').count())
        .collect();
    message.sort_unstable();
    let wanted: Vec<usize> = lines
        .iter()
        .map(|wrong| text.lines().position(|line| line.ends_with(wrong)).expect(wrong))
        .collect();
    assert_eq!(message, wanted, "{}", error.render(false));
}

#[test]
fn all_mistakes_are_told_at_once_those_of_one_table_and_of_other_scales_too() {
    let stage =
        "ops = { randwrite = 100 }\nios = \"many\"\ndepth = true\njobz = 4\nblock_size = \"x\"";
    let rest = "[[question]]\nmetric = \"iopz\"\nthreshold = \"x\"\n\
        [scale.lab.set]\n\"vdo.logical_size\" = true\n\
        [scale.full.set]\n\"vdo.dedupe\" = \"perhaps\"\n\"vdo.index_memory\" = \"no\"";
    let whole = text("size = \"7G\"\nfil = 1", "dedup = false\ncompression = 7", stage, rest);
    all_of(
        &whole,
        &[
            "fil = 1",
            "dedup = false",
            "compression = 7",
            "ios = \"many\"",
            "depth = true",
            "jobz = 4",
            "block_size = \"x\"",
            "metric = \"iopz\"",
            "threshold = \"x\"",
            "\"vdo.logical_size\" = true",
            "\"vdo.dedupe\" = \"perhaps\"",
            "\"vdo.index_memory\" = \"no\"",
        ],
    );
    // In inline tables, and in lists.
    let stage = "ops = { randwrit = 60, read = 40 }\nios = 100\ncontent = { dedupe = \"50 %\", zerro = 5, compress = true }";
    let error = plan(&text(DEVICE, LAYER, stage, "")).unwrap_err().render(false);
    for word in ["randwrit", "zerro", "compress"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn a_device_that_a_variant_spoils_is_told_where_it_is_set() {
    let spoilt = [
        "\"device.data.file\" = \"missing.img\"",
        "\"device.data.size\" = \"5\"",
        "\"device.data.write_runs\" = 5",
    ];
    for line in spoilt {
        let whole =
            text(DEVICE, LAYER, LOAD, &format!("[[variant]]\nname = \"v\"\n[variant.set]\n{line}"));
        mistake(&whole, line);
    }
    // The device that is copied from belongs to no stack; mistakes about it are reported where it is named.
    let copied = "[devices.image]\nfile = \"/dev/null\"\n[[stage]]\ndo = \"copy\"\nfrom = \"image\"\n\
        [[variant]]\nname = \"v\"\n[variant.set]\n\"device.image.file\" = \"missing.img\"";
    let error = plan(&text(DEVICE, LAYER, LOAD, copied)).unwrap_err().render(false);
    assert!(error.contains("missing.img cannot be read"), "{error}");
}
