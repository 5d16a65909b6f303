//! One line on how far the figures of a result may be trusted; the reasons are in its findings.

use std::collections::BTreeSet;

use results::model::{Finding, Severity};

use super::Variant;

/// A rule, and a few words for the doubt that its findings cast on the figures.
type Words = (&'static str, &'static str);

/// The rules whose findings have a box of their own on top of a page.
const SEPARATE_RULES: [&str; 3] = ["changed_files", "simulated", "incomplete"];
const TOO_FEW_REPEATS: &str = "too_few_repeats";
const EMULATED: &str = "emulated_cpu";

/// The words for all other rules about a whole result, the most serious first.
const WORDS: [Words; 34] = [
    ("wrong_blocks", "wrong data"),
    ("not_verified", "verification that checked nothing"),
    ("figures_contradict", "figures that contradict each other"),
    ("failed_cells", "failed runs"),
    ("load_errors", "failed I/Os"),
    ("other_options", "loads that were not alike"),
    (TOO_FEW_REPEATS, "few runs"),
    (EMULATED, "emulated CPU"),
    ("guest_clock", "a guest clock at the wrong speed"),
    ("stood_still", "a stall of Fathom itself"),
    ("reads_reach_no_disk", "reads that reached no disk"),
    ("page_cache", "I/O through the page cache"),
    ("late_disk", "a modelled disk that answered late"),
    ("disturbed_cells", "a busy machine"),
    ("rate_not_kept", "a rate that was not kept"),
    ("uneven_jobs", "jobs at very different speeds"),
    ("uneven_repeats", "repeats unlike each other"),
    ("uneven_course", "speed that changed within runs"),
    ("short_window", "a short steady window"),
    ("kernels_differ", "several kernels"),
    ("slow_cpus", "CPUs at different clocks"),
    ("virtual_machine", "a virtual machine"),
    ("achieved_off_asked", "data other than asked"),
    ("content_not_measured", "data that was not measured"),
    ("content_of_several_loads", "data of several loads"),
    ("resumed", "a run in several parts"),
    ("order_not_drawn", "an order that was not drawn"),
    ("cpu_sources", "CPU times that disagree"),
    ("sampling_expensive", "sampling that took CPU"),
    ("samples_failed", "samples that failed"),
    ("cell_notices", "trouble within cells"),
    ("load_notices", "loads with notices"),
    ("leftovers", "something left behind"),
    ("not_sealed", "no seal"),
];

/// Most doubts that are named: more are only counted.
const SHOWN: usize = 4;

/// The line, and whether it is good news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Tells whether nothing casts doubt on the figures.
    pub sound: bool,
    /// The line.
    pub text: String,
}

/// Tells whether the findings of a rule have a box of their own on top of a page.
pub fn apart(rule: &str) -> bool {
    SEPARATE_RULES.contains(&rule)
}

/// Describes how far the figures may be trusted. `decided`: some verdict was given; `watched`: disturbances of all cells were looked for.
pub fn trust(findings: &[Finding], variants: &[Variant], decided: bool, watched: bool) -> Trust {
    let grave = || findings.iter().filter(|one| one.severity >= Severity::Warning);
    let takes = |rule: &str| grave().any(|one| one.rule == rule);
    let words = |(rule, words): &Words| match *rule {
        TOO_FEW_REPEATS => few(variants),
        _ => (*words).to_owned(),
    };
    let mut doubts: Vec<String> = WORDS.iter().filter(|(rule, _)| takes(rule)).map(words).collect();
    // A limit of a layer casts no doubt on the figures, but a warning about a layer does.
    let known = |rule: &str| apart(rule) || WORDS.iter().any(|(id, _)| *id == rule);
    let of_layers = grave().filter(|one| one.explains_percent.is_none() && !known(&one.rule));
    let of_layers: BTreeSet<&str> = of_layers.map(|one| one.rule.as_str()).collect();
    doubts.extend(match of_layers.len() {
        0 => None,
        1 => Some("a warning of a layer".to_owned()),
        n => Some(format!("{n} warnings of layers")),
    });
    if doubts.is_empty() && SEPARATE_RULES.iter().any(|rule| takes(rule)) {
        return Trust { sound: false, text: String::new() };
    }
    if doubts.is_empty() {
        let text = match watched {
            true => "Nothing was found that casts doubt on these figures.",
            false => {
                "Nothing was found that casts doubt on these figures; whether other programs disturbed them was not looked at."
            }
        };
        return Trust { sound: watched, text: text.into() };
    }
    let more = doubts.len().saturating_sub(SHOWN);
    doubts.truncate(SHOWN);
    doubts.extend((more > 0).then(|| format!("{more} more")));
    let begin = match takes(TOO_FEW_REPEATS) && !decided {
        true => "First look, no verdicts: ",
        false => "Read with care: ",
    };
    // If figures are wrong, no part of them is recommended as trustworthy.
    let wrong = grave().any(|one| one.severity == Severity::Error) || takes("guest_clock");
    let end = match (takes(TOO_FEW_REPEATS) && !decided, takes(EMULATED)) {
        _ if wrong => "",
        (true, true) => " Trust what was counted; how fast is open.",
        (true, false) => " Trust what was counted; which is better is open.",
        (false, true) => " Trust ratios and what was counted, not absolute speed.",
        (false, false) => "",
    };
    Trust { sound: false, text: format!("{begin}{}.{end}", doubts.join(" · ")) }
}

/// Describes the number of runs; without the number if it differs between variants.
fn few(variants: &[Variant]) -> String {
    let mut runs = variants.iter().map(|variant| variant.repeats);
    let first = runs.next().unwrap_or(0);
    match runs.all(|other| other == first) {
        true if first == 1 => "one run each".to_owned(),
        true => format!("{first} runs each"),
        false => "few runs of some variants".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_looks_at_a_whole_result_has_its_words() {
        let common = doctor::rules();
        let common = common.iter().filter(|rule| rule.layer.is_none());
        for rule in common.filter(|rule| rule.when == doctor::When::After) {
            let has_words = WORDS.iter().any(|(id, _)| *id == rule.id) || apart(rule.id);
            assert!(has_words, "{}: the trust line has no words for it", rule.id);
        }
    }

    #[test]
    fn the_line_names_what_takes_most_and_what_may_be_trusted() {
        let found = |rules: &[&str]| -> Vec<Finding> {
            let one = |rule: &&str| Finding {
                rule: (*rule).to_owned(),
                severity: Severity::Warning,
                ..Finding::default()
            };
            rules.iter().map(one).collect()
        };
        let line = |rules: &[&str]| trust(&found(rules), &[], false, true).text;
        assert!(trust(&found(&[]), &[], false, true).sound);
        let unwatched = trust(&found(&[]), &[], false, false);
        assert!(!unwatched.sound && unwatched.text.ends_with("not looked at."), "{unwatched:?}");
        assert_eq!(line(&["simulated"]), "", "a box says it");
        assert_eq!(
            line(&["sampling_expensive", EMULATED, "disturbed_cells"]),
            "Read with care: emulated CPU · a busy machine · sampling that took CPU. Trust ratios and what was counted, not absolute speed."
        );
        assert!(line(&[TOO_FEW_REPEATS, EMULATED, "late_disk", "disturbed_cells", "leftovers"]).contains(
            "no verdicts: 0 runs each · emulated CPU · a modelled disk that answered late · a busy machine · 1 more."
        ));
        // What a layer warns of counts, and of what is wrong nothing is to be trusted.
        assert_eq!(line(&["map_unallocated"]), "Read with care: a warning of a layer.");
        let mut wrong = found(&[TOO_FEW_REPEATS, "wrong_blocks"]);
        wrong[1].severity = Severity::Error;
        assert!(trust(&wrong, &[], false, true).text.ends_with("runs each."));
        let decided = trust(&found(&[TOO_FEW_REPEATS]), &[], true, true).text;
        assert!(decided.starts_with("Read with care: "), "{decided}");
        let mut note = found(&["uneven_course"]);
        note[0].severity = Severity::Note;
        assert!(trust(&note, &[], false, true).sound, "a note takes nothing");
    }
}
