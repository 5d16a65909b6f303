//! `fathom trend`: results of one experiment, one after another.

use crate::program::{expect, fathom_in, fresh, json, text};

#[test]
fn few_results_are_listed_and_said_to_be_too_few() {
    let (dir, first) = fresh();
    let second = dir.path().join("second");
    for (out, seed) in [(&first, "1"), (&second, "2")] {
        let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--seed", seed];
        expect(0, &[&args[..], &["--out", text(out)]].concat());
    }
    // Both are in the directory.
    let said = expect(0, &["trend", text(dir.path())]).out;
    assert!(said.contains("IOPS of randwrite, vdo over plain: 2 results"), "{said}");
    assert!(said.contains("too few to say anything: 20 are needed, 18 more"), "{said}");
    assert!(said.contains("simulated, where no figure is real"), "{said}");
    let all = json(&["trend", text(&first), text(&second), "--json"]);
    let series = &all["series"][0];
    assert_eq!(
        (&series["outcome"], &series["more_results_needed"]),
        (&"too_few".into(), &18.into())
    );
    assert!(series["machine"].as_str().unwrap().starts_with("simulated"), "{series}");
    assert_eq!(series["results"].as_array().unwrap().len(), 2);
    assert!(series["results"][0]["value"].as_f64().unwrap() > 0.0);
    let none = fathom_in(dir.path(), &["trend", "nowhere"]);
    assert_eq!(none.code, Some(2), "{}", none.err);
    // One of too few repeats is named, not passed over.
    let short = dir.path().join("short");
    expect(0, &["run", "vdo-vs-plain", "--simulate", "--repeat", "3", "--out", text(&short)]);
    let said = expect(0, &["trend", text(dir.path())]).out;
    let why = "short: nothing that it asks rests on 5 repeats or more";
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{said}");
    let help = expect(0, &["trend", "--help"]).out;
    assert!(help.contains("twenty results") && help.contains("last hundred"), "{help}");
    let word = fathom_in(dir.path(), &["trend", text(&first), "--fail-on", "slower"]);
    assert_eq!(word.code, Some(2), "{}", word.err);
}
