//! Numbers of repeats, fixed and as many as are needed.

use results::model::SequentialFacts;
use units::Nanos;

use super::*;
use crate::{Repeat, explain};

#[test]
fn a_plan_of_as_many_repeats_as_are_needed_has_all_there_can_be() {
    let text = shipped("vdo-vs-plain").unwrap().text;
    let fixed = plan(text).unwrap();
    assert!(fixed.facts.sequential.is_none() && fixed.takes().0 == fixed.takes().1);
    let auto = plan(&text.replace("repeat = 5", "repeat = \"auto\"")).unwrap();
    assert_eq!((auto.cells.len(), auto.facts.repeat), (54, 27));
    let looks = vec![5, 8, 12, 18, 27];
    assert_eq!(auto.facts.sequential, Some(SequentialFacts { looks, time: None }));
    assert_eq!(auto.facts.repeats(), "auto, at most 27");
    // The first repeats are those of five.
    assert_eq!(auto.takes().0, fixed.takes().0);
    let (least, most) = auto.takes();
    assert_eq!(most.0 * 5, least.0 * 27);
    let explained = explain(&auto);
    assert_eq!((explained.least_ns, explained.about_ns), (least.0, most.0));
    let order = |plan: &Plan| explain(plan).order[..10].to_vec();
    assert_eq!(order(&auto), order(&fixed));
    let short = plan(&text.replace("repeat = 5", "repeat = \"auto:10s\"")).unwrap();
    assert_eq!(short.takes(), (Nanos::from_secs(10), Nanos::from_secs(10)));
}

#[test]
fn as_many_repeats_as_are_needed_are_refused_where_nothing_could_be_decided() {
    let factor =
        "[[factor]]\nname = \"depth\"\nkey = \"random-write.depth\"\nlevels = [1, 2]\n[[stage]]";
    let text = shipped("vdo-vs-plain").unwrap().text;
    let auto = text.replace("repeat = 5", "repeat = \"auto\"");
    let questions = auto.find("[[question]]").unwrap();
    for (text, phrase, remedy) in [
        (text.replace("repeat = 5", "repeat = \"auto:4\""), "fewer repeats than the 5", "auto:12"),
        (text.replace("repeat = 5", "repeat = \"auto:28\""), "more repeats than", "up to 27"),
        (text.replace("repeat = 5", "repeat = \"auto:0s\""), "no time", "auto:30m"),
        (text.replace("repeat = 5", "repeat = \"often\""), "'often' is not", "repeat = 5"),
        (auto.replacen("[[stage]]", factor, 1), "does not go with factors", "--repeat 5"),
        (auto[..questions].to_owned(), "needs a question", "[[question]]"),
    ] {
        let said_of = only_mistake(&text, "repeat = ");
        assert!(said_of.contains(phrase) && said_of.contains(remedy), "{said_of}");
    }
    let choices = PlanOptions {
        repeat: Some(Repeat::Auto { most: None, time: None }),
        only: vec!["vdo".into()],
        ..choices()
    };
    let error = compose("x", text, &choices).unwrap_err();
    assert!(error.mistakes[0].message.contains("needs two variants"), "{error}");
    assert!(error.mistakes[0].span.is_none(), "no line of the file is to blame");
}
