//! Tests of how many mistakes of a file are reported at once: all, except consequences of others.

use std::ops::Range;

use super::plan;

/// A file in which nothing is wrong.
pub(super) const RIGHT: &str = include_str!("at_once.toml");

/// A kind of mistake: the line in the file, the line that replaces it, and the text that the report of it contains.
struct Wrong(&'static str, &'static str, &'static str);

/// Mistakes that are ones whatever the rest says, or that rest on names that are near enough.
const WRONG: &[Wrong] = &[
    Wrong("about = \"x\"", "about = 7", "about cannot be 7"),
    Wrong("repeat = 2", "reapeat = 2", "did you mean 'repeat'"),
    Wrong("size = \"12G\"", "size = \"1k\"", "too small"),
    Wrong("like = \"hdd\"", "like = \"hddd\"", "hddd"),
    Wrong("rotational = true", "rotationl = true", "did you mean 'rotational'"),
    Wrong("# a device", "[devices.spare]\nsize = \"1G\"", "Nothing uses the device 'spare'"),
    Wrong("# a corpus", "[corpora.doc]\npackage = \"vim-doc\"", "Nothing uses the corpus 'doc'"),
    Wrong("layer = \"vdo\"", "layer = \"vdoo\"", "There is no layer 'vdoo'"),
    Wrong("logical_size = \"4G\"", "logical_size = \"four\"", "logical_size"),
    Wrong("compression = true", "compresion = true", "did you mean 'compression'"),
    Wrong("on = \"data\"", "on = \"dat\"", "'dat', which is neither a device"),
    Wrong("reflink = true", "reflink = 7", "reflink"),
    Wrong("\"vdo.bio_threads\" = 2", "\"vod.bio_threads\" = 2", "did you mean 'vdo'"),
    Wrong("# fixed", "\"plain.name\" = \"p\"", "cannot differ between variants"),
    Wrong("key = \"vdo.dedupe\"", "key = \"vdo.dedup\"", "did you mean 'dedupe'"),
    Wrong("dedupe = \"off\"", "dedupe = \"of\"", "did you mean 'off'"),
    Wrong("files = 3", "files = 0", "cannot have 0 files"),
    Wrong("# measured", "measure = true", "cannot be measured"),
    Wrong("of = \"physical\"", "of = \"phisical\"", "did you mean 'physical'"),
    Wrong("duration = \"1s\"", "duration = \"0s\"", "A wait of"),
    Wrong("[stage.ops]\nrandwrite = 70", "[stage.ops]\nrandwrite = 60", "sum to 90"),
    Wrong("compress = \"2x\"", "compress = \"fast\"", "compress"),
    Wrong("zero = \"20%\"", "zero = \"120%\"", "zero"),
    Wrong("depth = 8", "dept = 8", "did you mean 'depth'"),
    Wrong("jobs = 2", "jobs = 0", "jobs"),
    Wrong("# ends", "bytes = \"4M\"\nlast_block = true", "last_block"),
    Wrong("# beside", "depth = 3", "has a value outside of the sweep"),
    Wrong("files = \"files\"", "files = \"filez\"", "did you mean 'files'"),
    Wrong("action = \"restart\"", "action = \"restrat\"", "did you mean 'restart'"),
    Wrong("is = \"steady\"", "is = \"stedy\"", "did you mean 'steady'"),
    Wrong("do = \"drop_caches\"", "do = \"drop_cache\"", "did you mean 'drop_caches'"),
    Wrong("only = [\"b\"]", "only = [\"bb\"]", "did you mean 'b"),
    Wrong("target = \"fs\"", "target = \"fss\"", "did you mean 'fs'"),
    Wrong("# shell", "shell = \"ls\"", "both argv and shell"),
    Wrong("pattern = '(\\d+) files'", "pattern = 'files'", "0 groups"),
    Wrong("better = \"lower\"", "better = \"less\"", "better"),
    Wrong("# runs", "set.\"vdo.slab_size\" = \"1G\"", "cannot change while it runs"),
    Wrong("deadline = \"10s\"", "deadline = \"0s\"", "deadline"),
    Wrong("metric = \"iops\" # asked", "metric = \"iosp\" # asked", "did you mean 'iops'"),
    Wrong("layer = \"vdo\" # saved", "layer = \"vdoz\" # saved", "did you mean 'vdo'"),
    Wrong("threshold = \"5%\"", "threshold = \"0%\"", "decides nothing"),
    Wrong("operation = \"randread\" # asked", "operation = \"randwread\" # asked", "does no"),
    Wrong("show = \"latency bars\"", "show = \"latency bar\"", "did you mean 'latency bars'"),
    Wrong("# needless", "layer = \"fs\"", "does not take 'layer'"),
    Wrong("percentiles = [50]", "percentiles = [100]", "no percentile 100"),
    Wrong("series = [\"saving_percent\"]", "series = [\"saving_procent\"]", "did you mean"),
    Wrong("by = \"depth\"", "by = \"dept\"", "no factor and no swept key 'dept'"),
    Wrong("# near", "tolerance = \"5%\"", "Only near = ... can have a tolerance"),
    Wrong("scale = \"full\"", "scale = \"ful\"", "did you mean 'full'"),
    Wrong(
        "variant = \"a, dedupe on\"",
        "variant = \"a, dedupe no\"",
        "did you mean 'a, dedupe on'",
    ),
    Wrong("unit = \"MB/s\"", "unit = 5", "unit cannot be 5"),
    Wrong("value = 166.24", "valu = 166.24", "did you mean 'value'"),
    Wrong("\"plain.size\" = \"5G\"", "\"plian.size\" = \"5G\"", "did you mean 'plain'"),
    Wrong("[scale.full.variant.b.set]", "[scale.full.variant.bb.set]", "a variant 'bb'"),
];

/// Names that are near to none.
const FAR: &[Wrong] = &[
    Wrong("layer = \"vdo\"", "layer = \"quux\"", "There is no layer 'quux'"),
    Wrong("on = \"data\"", "on = \"quux\"", "'quux', which is neither a device"),
    Wrong("\"vdo.bio_threads\" = 2", "\"quux.bio_threads\" = 2", "names nothing"),
    Wrong("key = \"vdo.dedupe\"", "key = \"quux.dedupe\"", "names nothing"),
    Wrong("key = \"vdo.dedupe\"", "key = \"vdo.quux\"", "is not a setting"),
    Wrong("dedupe = \"off\"", "dedupe = \"quux\"", "no level of"),
    Wrong("dedupe = \"off\"", "quux = \"off\"", "no factor 'quux'"),
    Wrong("size = \"64M\"", "quux = \"64M\"", "has no key"),
    Wrong("of = \"physical\"", "of = \"quux\"", "'quux' that can be filled"),
    Wrong("do = \"load\" # mixed", "do = \"quux\" # mixed", "There is no stage 'quux'"),
    Wrong("target = \"vdo\" # mixed", "target = \"quux\" # mixed", "is called 'quux'"),
    Wrong("files = \"files\"", "files = \"quux\"", "is called 'quux'"),
    Wrong("action = \"restart\"", "action = \"quux\"", "has no action 'quux'"),
    Wrong("is = \"steady\"", "is = \"quux\"", "has no state 'quux'"),
    Wrong("only = [\"b\"]", "only = [\"quux\"]", "a variant 'quux'"),
    Wrong("target = \"fs\"", "target = \"quux\"", "is called 'quux'"),
    Wrong(
        "argv = [\"cp\", \"{corpus.git}\", \"{mount}\"]",
        "argv = [\"cp\", \"{corpus.quux}\"]",
        "no corpus 'quux'",
    ),
    Wrong("metric = \"iops\" # asked", "metric = \"quux\" # asked", "no metric 'quux'"),
    Wrong("stage = \"mixed\" # asked", "stage = \"quux\" # asked", "is called 'quux'"),
    Wrong("operation = \"randread\" # asked", "operation = \"quux\" # asked", "does no 'quux'"),
    Wrong("layer = \"vdo\" # saved", "layer = \"quux\" # saved", "a device 'quux'"),
    Wrong("show = \"latency bars\"", "show = \"quux\"", "No picture shows 'quux'"),
    Wrong("by = \"depth\"", "by = \"quux\"", "no swept key 'quux'"),
    Wrong("scale = \"full\"", "scale = \"quux\"", "no scale 'quux'"),
    Wrong("variant = \"a, dedupe on\"", "variant = \"quux\"", "no variant 'quux'"),
    Wrong("\"plain.size\" = \"5G\"", "\"quux.size\" = \"5G\"", "names nothing"),
];

impl Wrong {
    /// Its place in `text`, if it is there.
    fn place(&self, text: &str) -> Option<Range<usize>> {
        let at = text.find(&format!("\n{}", self.1))? + 1;
        Some(at..at + self.1.len())
    }
}

/// The file with some of the mistakes.
fn with(wrong: &[&Wrong]) -> String {
    let put = |text: String, Wrong(right, wrong, _): &&Wrong| {
        let (from, to) = (format!("\n{right}\n"), format!("\n{wrong}\n"));
        assert_eq!(text.matches(&from).count(), 1, "{right}");
        text.replace(&from, &to)
    };
    wrong.iter().fold(RIGHT.to_owned(), put)
}

/// The places of all mistakes that are reported in a text.
fn places_of_mistakes(text: &str) -> Vec<Range<usize>> {
    let mistakes = plan(text).err().map_or_else(Vec::new, |error| error.mistakes);
    mistakes.into_iter().map(|mistake| mistake.span.unwrap_or(0..0)).collect()
}

fn render(text: &str) -> String {
    plan(text).err().map_or_else(String::new, |error| error.render(false))
}

/// Checks that each mistake of `wrong` is reported once, and nothing else; the error lists the differences.
fn exactly(wrong: &[&Wrong]) -> Result<(), String> {
    let text = with(wrong);
    let mut left = places_of_mistakes(&text);
    let mut missing = Vec::new();
    for wrong in wrong {
        let place = wrong.place(&text).unwrap_or_default();
        let before = left.len();
        left.retain(|at| at.start >= place.end || at.end <= place.start);
        if left.len() + 1 != before {
            missing.push(format!("{} told {} times", wrong.1, before - left.len()));
        }
    }
    let false_alarms: Vec<&str> = left.iter().map(|at| &text[at.clone()]).collect();
    match (&missing[..], &false_alarms[..]) {
        ([], []) => Ok(()),
        _ => Err(format!("{missing:#?}\nfalse alarms: {false_alarms:#?}\n")),
    }
}

/// Corrects all reported mistakes of the file until none is reported; returns how often that was done, and the file.
fn turns(wrong: &[&Wrong]) -> (usize, String) {
    let mut left: Vec<&Wrong> = wrong.to_vec();
    for turn in 0..=wrong.len() {
        let text = with(&left);
        let found = places_of_mistakes(&text);
        if found.is_empty() {
            return (turn, text);
        }
        let places: Vec<_> =
            left.iter().map(|wrong| wrong.place(&text).unwrap_or_default()).collect();
        let is_at =
            |at: &Range<usize>, place: &Range<usize>| at.start < place.end && place.start < at.end;
        let alarm = found.iter().find(|at| !places.iter().any(|place| is_at(at, place)));
        assert!(alarm.is_none(), "{}", render(&text));
        let mut places = places.iter();
        left.retain(|_| {
            places.next().is_some_and(|place| !found.iter().any(|at| is_at(at, place)))
        });
    }
    panic!("{}", render(&with(&left)));
}

#[test]
fn each_mistake_alone_is_told_once_and_nothing_beside() {
    plan(RIGHT).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let mut failed = String::new();
    for wrong in WRONG.iter().chain(FAR) {
        let shown = render(&with(&[wrong]));
        let message =
            shown.contains(wrong.2).then_some(()).ok_or_else(|| format!("no {}\n", wrong.2));
        if let Err(why) = exactly(&[wrong]).and(message) {
            failed += &format!("--- {}\n{why}{shown}\n", wrong.1);
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn a_file_that_begins_with_its_name_is_not_said_to_lack_it() {
    let stack = "[[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\"\n";
    for (device, phrase) in [("data", "holds not one slab"), ("\"s.w\"", "s.w")] {
        let text =
            format!("name = \"x\"\nabout = \"x\"\n[devices.{device}]\nsize = \"1G\"\n{stack}");
        let shown = render(&text);
        assert!(shown.contains(phrase) && !shown.contains("key 'name'"), "{shown}");
    }
}

#[test]
fn all_mistakes_are_told_in_one_turn() {
    let all: Vec<&Wrong> = WRONG.iter().collect();
    exactly(&all).unwrap_or_else(|why| panic!("{why}{}", render(&with(&all))));
    assert_eq!(turns(&all), (1, RIGHT.to_owned()));
}

#[test]
fn what_is_no_name_at_all_takes_two_turns_at_most_and_no_other_mistake_is_told_for_it() {
    for far in FAR.iter().filter(|far| far.1.contains("quux") && !far.1.contains("# ")) {
        let mut all = vec![far];
        all.extend(WRONG.iter().filter(|wrong| wrong.0 != far.0).step_by(3));
        let (turns, right) = turns(&all);
        assert!(turns <= 2, "{} in {turns} turns", far.1);
        assert_eq!(right, RIGHT);
    }
}

#[test]
fn names_that_only_stages_have_are_told_whatever_is_unknown_of_the_stack() {
    let far = |right: &str| FAR.iter().find(|far| far.0 == right).unwrap();
    let (metric, stage) = ("metric = \"iops\" # asked", "stage = \"mixed\" # asked");
    let why = exactly(&[far(metric), far(stage)]);
    why.unwrap_or_else(|why| panic!("of one question\n{why}"));
    for bearing in ["layer = \"vdo\"", "on = \"data\""] {
        for name in [metric, stage] {
            let why = exactly(&[far(bearing), far(name)]);
            why.unwrap_or_else(|why| panic!("{bearing} | {name}\n{why}"));
        }
    }
}

#[test]
fn of_two_mistakes_both_are_told_and_nothing_beside() {
    let all: Vec<&Wrong> = WRONG.iter().collect();
    for (i, one) in all.iter().enumerate() {
        let other = all[(i * 7 + 3) % all.len()];
        if one.0 != other.0 {
            let why = exactly(&[one, other]);
            why.unwrap_or_else(|why| panic!("{} | {}\n{why}", one.1, other.1));
        }
    }
}

#[test]
fn a_name_that_is_refused_itself_is_never_what_was_meant() {
    let of = |phrase: &str| WRONG.iter().find(|wrong| wrong.1.contains(phrase)).unwrap();
    let shown = render(&with(&[of("\"vdoo\""), of("vod.bio_threads"), of("vdoz")]));
    assert_eq!(shown.matches("did you mean 'vdo'?").count(), 3, "{shown}");
    let far = FAR.iter().find(|far| far.1.starts_with("layer")).unwrap();
    let shown = render(&with(&[far]).replace("\"vdo.bio", "\"quu.bio"));
    assert!(!shown.contains("did you mean 'quux'"), "{shown}");
}

#[test]
fn a_mistake_of_the_whole_file_is_told_once_however_often_it_is_read() {
    let text = "name = \"x\"\nabout = \"x\"\n[devices.data]\nsize = \"1G\"\n[[stage]]\ndo = \"lod\"\ndept = 3\n";
    let error = plan(text).unwrap_err();
    let of = |words: &str| error.mistakes.iter().filter(|m| m.message.contains(words)).count();
    assert_eq!((of("has no stack"), of("no stage 'lod'")), (1, 1), "{error:?}");
}
