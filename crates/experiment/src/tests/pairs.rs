//! Tests that no mistake hides another: of every two in one file both are reported, once each, in the order of the file, and nothing else.

use super::at_once::RIGHT;
use super::plan;

/// A mistake: the line in the file, the line that replaces it, and the text that the report of it contains.
type Wrong = (&'static str, &'static str, &'static str);

/// Mistakes whose correction nobody can know, and mistakes in the plan as a whole.
const WRONG: &[Wrong] = &[
    ("name = \"x\"", "name = \"bad one\"", "'bad one' cannot be the name of the experiment"),
    ("repeat = 2", "repeat = 0", "repeats 0 times"),
    ("[devices.other]", "[devices.\"oth er\"]", "'oth er' cannot be the name of a device"),
    ("[corpora.git]", "[corpora.\"g it\"]", "'g it' cannot be the name of a corpus"),
    ("layer = \"xfs\"", "# no layer", "does not say which it is"),
    ("name = \"a\"", "# no name", "A variant has no key 'name'"),
    ("name = \"b\"", EMPTY_VARIANT, "The name of a variant is empty"),
    ("name = \"dedupe\"", EMPTY_FACTOR, "The name of a factor is empty"),
    ("key = \"vdo.dedupe\"\nlevels = [true, false]", SAME, "The levels 'on' and 'off' of"),
    ("dedupe = \"off\"", "dedupe = \"quux\"", "no level of 'dedupe' 'quux'"),
    ("size = \"64M\"", "size = \"64G\"", "of files do not fit"),
    ("name = \"mixed\"", EMPTY_STAGE, "The name of a stage is empty"),
    ("target = \"vdo\" # mixed", "target = \"nowhere\" # mixed", "is called 'nowhere'"),
    ("jobs = 2", "ramp = \"9s\"", "the load would end before anything counts"),
    ("sweep = { depth = [1, 2, 4] }", "sweep = { depth = [1, 2, 2, 4] }", "is in the sweep twice"),
    ("files = \"files\"", "files = \"lax\"", "is called 'lax'"),
    ("only = [\"b\"]", "only = [\"zz\"]", "is for a variant 'zz'"),
    (
        "argv = [\"cp\", \"{corpus.git}\", \"{mount}\"]",
        "argv = [\"cp\", \"{corpus.git}\", \"{mont}\"]",
        "A command has no '{mont}'",
    ),
    ("# shell", "time_limit = \"0s\"", "cannot have a time limit"),
    ("metric = \"iops\" # asked", "metric = \"iopz\" # asked", "There is no metric 'iopz'"),
    ("stage = \"mixed\" # asked", "stage = \"nostage\" # asked", "is called 'nostage'"),
    ("threshold = \"5%\"", "threshold = \"0%\"", "decides nothing"),
    ("show = \"latency bars\"", "show = \"nothing\"", "No picture shows 'nothing'"),
    ("variant = \"a, dedupe on\"", "variant = \"yy\"", "There is no variant 'yy'"),
    ("value = 166.24", "value = \"much\"", "value cannot be \"much\""),
    ("\"plain.size\" = \"5G\"", "\"nolayer.size\" = \"5G\"", "'nolayer.size' names nothing"),
];

/// Levels between which nothing differs.
const SAME: &str = "levels = [{ name = \"on\", set.\"mixed.think\" = \"1ms\" }, { name = \"off\", set.\"mixed.think\" = \"1000us\" }]";
/// Empty names, of three kinds.
const EMPTY_VARIANT: &str = "name = \"\"";
const EMPTY_FACTOR: &str = "name = \" \"";
const EMPTY_STAGE: &str = "name = \"  \"";

/// Pairs in which the second may be a consequence of the first, so that it need not be reported.
const RESTS: &[(&str, &str)] = &[
    // Nobody knows on what the stack stands, or where the files are.
    ("# no layer", "size = \"64G\""),
    ("[devices.\"oth er\"]", "size = \"64G\""),
    // Levels are the same where the load that they set can be planned.
    ("# no layer", SAME),
    ("[devices.\"oth er\"]", SAME),
    ("target = \"nowhere\" # mixed", SAME),
    (EMPTY_STAGE, SAME),
    // A reference that may be to what has no right name.
    ("# no name", "variant = \"yy\""),
    ("# no name", "only = [\"zz\"]"),
    (EMPTY_VARIANT, "variant = \"yy\""),
    (EMPTY_VARIANT, "only = [\"zz\"]"),
    (EMPTY_FACTOR, "dedupe = \"quux\""),
    (EMPTY_FACTOR, "variant = \"yy\""),
    (EMPTY_FACTOR, "only = [\"zz\"]"),
    (EMPTY_STAGE, "stage = \"nostage\" # asked"),
    (EMPTY_STAGE, "files = \"lax\""),
    (EMPTY_STAGE, "\"nolayer.size\" = \"5G\""),
];

fn with(wrong: &[&Wrong]) -> String {
    wrong.iter().fold(RIGHT.to_owned(), |text, (right, wrong, _)| {
        let from = format!("\n{right}\n");
        assert_eq!(text.matches(&from).count(), 1, "{right}");
        text.replace(&from, &format!("\n{wrong}\n"))
    })
}

/// Returns what is wrong with the report of these mistakes.
fn failing(wrong: &[&Wrong]) -> Option<String> {
    let text = with(wrong);
    let Err(error) = plan(&text) else { return Some("nothing is reported".to_owned()) };
    let shown: Vec<&str> = error.mistakes.iter().map(|m| m.message.as_str()).collect();
    let starts = error.mistakes.iter().map(|m| m.span.as_ref().map(|span| span.start));
    let once = |phrase: &str| shown.iter().filter(|m| m.contains(phrase)).count() == 1;
    let all = wrong.iter().all(|(.., phrase)| once(phrase)) && shown.len() == wrong.len();
    (!all || !starts.is_sorted()).then(|| format!("{shown:#?}"))
}

#[test]
fn each_of_them_is_told_alone() {
    let wrong = WRONG.iter().filter_map(|one| Some((one.1, failing(&[one])?)));
    let wrong: Vec<_> = wrong.map(|(what, why)| format!("{what}: {why}")).collect();
    assert!(wrong.is_empty() && WRONG.len() >= 20, "{}", wrong.join("\n"));
}

#[test]
fn of_every_two_both_are_told_and_nothing_beside() {
    let mut wrong = Vec::new();
    for (i, one) in WRONG.iter().enumerate() {
        for other in &WRONG[..i] {
            let rests = |(a, b): &(&str, &str)| {
                [(one, other), (other, one)].iter().any(|(x, y)| x.1 == *a && y.1 == *b)
            };
            if RESTS.iter().any(rests) {
                continue;
            }
            wrong.extend(
                failing(&[other, one]).map(|why| format!("{} | {}: {why}", other.1, one.1)),
            );
        }
    }
    assert!(wrong.is_empty(), "{} pairs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_name_that_is_refused_is_not_said_to_be_missing() {
    let text = with(&[&WRONG[0]])
        .replace("# all that there is\n", "")
        .replace("\"iops\" # asked", "\"iopz\"");
    let shown = plan(&text).expect_err("a bad name").render(false);
    assert!(shown.contains("'bad one' cannot be") && shown.contains("iopz"), "{shown}");
    assert!(!shown.contains("has no key 'name'"), "{shown}");
}

#[test]
fn a_key_that_begins_as_another_is_meant_to_be_that() {
    let shown = plan(&format!("{RIGHT}\n[[expectation]]\nfoo = 1\n"))
        .expect_err("a strange table")
        .render(false);
    assert!(
        shown.contains("has no key 'expectation'") && shown.contains("did you mean 'expect'?"),
        "{shown}"
    );
}

#[test]
fn a_mistake_that_the_command_line_makes_is_told_as_its_option() {
    let set = [("vdo.nokey", "3"), ("mixed.depth", "x")];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let shown = plan(&crate::written::scale::with_set(RIGHT.to_owned(), &set))
        .expect_err("both")
        .render(false);
    assert!(
        shown.contains("--> --set vdo.nokey=3\n") && shown.contains("--> --set mixed.depth=x\n"),
        "{shown}"
    );
    assert!(!shown.contains("test.toml:"), "{shown}");
}

#[test]
fn a_size_that_is_refused_is_shown_as_it_is() {
    for (right, wrong, shown) in [
        ("size = \"12G\"", "size = \"8388000\"", "A device of 8388000 bytes is too small"),
        ("jobs = 2", "block_size = \"4097k\"", "block_size = 4195328 bytes cannot carry"),
    ] {
        let text = with(&[&(right, wrong, shown)]);
        let message = plan(&text).expect_err(wrong).render(false);
        assert!(message.contains(shown), "{message}");
    }
}
