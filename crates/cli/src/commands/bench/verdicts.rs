//! `fathom bench verdicts`: verdicts on simulated experiments whose truth is known.

use std::process::ExitCode;

use bench::verdicts::{Condition, Wanted, conditions, power};
use serde_json::{Value, json};
use stats::simulation::{Repeats, Shares, Simulated};
use units::{Seed, show::significant};

use crate::args::BenchVerdictsArgs;
use crate::failure::Failure;
use crate::terminal::{Text, answer, json_line};

/// Any will do; the same gives the same table.
const SEED: Seed = Seed(18);

pub fn verdicts(args: &BenchVerdictsArgs) -> Result<ExitCode, Failure> {
    let mut met = true;
    let mut lines = vec![HEAD.to_owned(), RULE.to_owned()];
    let mut documents = Vec::new();
    for condition in conditions() {
        let shares = condition.measure(args.experiments, SEED);
        let holds = condition.met(&shares);
        met &= holds;
        let wanted = wanted(&condition);
        let word = if holds { "met" } else { "MISSED" };
        lines.push(format!(
            "{} {wanted} | {word} |",
            row(condition.noise, &condition.simulated, &shares)
        ));
        let mut document = document(condition.noise, &condition.simulated, &shares);
        document["wanted"] = wanted.into();
        document["met"] = holds.into();
        documents.push(document);
    }
    let power: Vec<_> = power().map(|s| (s, s.shares(args.experiments, SEED))).collect();
    if args.json {
        let power: Vec<_> = power.iter().map(|(s, shares)| document("normal", s, shares)).collect();
        json_line(
            &json!({"experiments": args.experiments, "met": met, "conditions": documents, "power": power}),
        );
    } else {
        lines.push(String::new());
        let without = |line: &str, end: &str| line.strip_suffix(end).unwrap_or(line).to_owned();
        lines.extend([without(HEAD, " wanted | |"), without(RULE, " --- | --- |")]);
        lines.extend(power.iter().map(|(s, shares)| row("normal", s, shares)));
        let mut text = Text::default();
        lines.into_iter().for_each(|line| text.line(line));
        answer(&text);
    }
    Ok(ExitCode::from(u8::from(!met)))
}

const HEAD: &str = "| noise | compared | repeats | spread | true ratio | better | worse | same | mean repeats | wanted | |";
const RULE: &str = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |";

fn row(noise: &str, s: &Simulated, shares: &Shares) -> String {
    let percent = |share: f64| format!("{} %", significant(100.0 * share, 3));
    let test = format!("{:?}", s.test).to_lowercase();
    let mean = shares.repeats;
    let shares = [shares.better, shares.worse, shares.same].map(percent).join(" | ");
    format!(
        "| {noise} | {test} | {} | {} | {} | {shares} | {} |",
        repeats(s.repeats),
        percent(s.spread),
        significant(s.ratio, 3),
        significant(mean, 3)
    )
}

fn repeats(repeats: Repeats) -> String {
    match repeats {
        Repeats::Fixed(n) => n.to_string(),
        Repeats::Auto => "auto".to_owned(),
    }
}

fn wanted(condition: &Condition) -> String {
    let shares = match condition.wanted {
        Wanted::FalseSides(most) => {
            format!("each false side at most {} %", significant(100.0 * most, 2))
        }
        Wanted::Same(least) => format!("same at least {} %", significant(100.0 * least, 2)),
        Wanted::Better(least) => format!("better at least {} %", significant(100.0 * least, 2)),
    };
    let few = condition.most_repeats.map(|most| format!(", {} repeats", significant(most, 2)));
    format!("{shares}{}", few.unwrap_or_default())
}

fn document(noise: &str, s: &Simulated, shares: &Shares) -> Value {
    json!({
        "noise": noise, "test": s.test, "repeats": repeats(s.repeats), "mean_repeats": shares.repeats, "spread": s.spread, "ratio": s.ratio, "threshold": s.threshold,
        "better": shares.better, "worse": shares.worse, "same": shares.same, "unclear": shares.unclear,
    })
}
