//! `fathom-bench verdicts`: verdicts on simulated experiments whose truth is known.

use std::process::ExitCode;

use crate::acceptance::{Acceptance, acceptances};
use crate::verdicts::{Condition, Met, Wanted, conditions, coverage, power};
use serde_json::{Value, json};
use stats::simulation::{Repeats, Shares, Simulated};
use units::{Seed, show::significant};

use super::equal::equal;
use super::tables::{self, Measured, bound, percent};
use crate::args::VerdictsArgs;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json_line};

/// The seed of the simulations. Any will do; the same one gives the same tables.
const SEED: Seed = Seed(18);

pub fn verdicts(args: &VerdictsArgs) -> Result<ExitCode, Failure> {
    if args.lab {
        return equal(args);
    }
    let measured: Vec<Measured> =
        conditions().into_iter().map(|c| (c, c.measure(args.experiments, SEED))).collect();
    let others = acceptances(args.experiments, SEED);
    let missed = measured.iter().any(|(c, shares)| c.met(shares) == Met::Missed)
        || others.iter().any(|one| one.met() == Met::Missed);
    let power: Vec<_> = power().map(|s| (s, s.shares(args.experiments, SEED))).collect();
    if args.json {
        json_line(&document(args.experiments, !missed, (&measured, &others, &power)));
    } else if args.tables {
        // Each interval is made of 10,000 resamples.
        let coverage = coverage(args.experiments.div_ceil(20), SEED);
        answer(&tables::of_method(&measured, &others, &power, &coverage));
    } else {
        answer(&table(&measured, &others, &power));
    }
    Ok(ExitCode::from(u8::from(missed)))
}

fn document(
    experiments: u32,
    met: bool,
    (measured, others, power): (&[Measured], &[Acceptance], &[(Simulated, Shares)]),
) -> Value {
    let condition = |(condition, shares): &Measured| {
        let mut document = simulated(condition.noise, &condition.simulated, shares);
        let found = condition.met(shares);
        document["wanted"] = wanted(condition).into();
        document["met"] = (found == Met::Wanted).into();
        document["outcome"] = found.word().into();
        document["limit"] = condition.limit.map_or(
            Value::Null,
            |limit| json!({"sides": limit.sides, "same": limit.same, "why": limit.why}),
        );
        document
    };
    let other = |one: &Acceptance| {
        json!({
            "what": one.what, "found": one.found, "wanted": bound(one), "outcome": one.met().word(),
            "limit": one.limit.map(|(limit, why)| json!({"reached": limit, "why": why})),
        })
    };
    let power = power.iter().map(|(s, shares)| simulated("normal", s, shares));
    json!({
        "experiments": experiments, "met": met,
        "conditions": measured.iter().map(condition).collect::<Vec<_>>(),
        "others": others.iter().map(other).collect::<Vec<_>>(),
        "power": power.collect::<Vec<_>>(),
    })
}

fn table(measured: &[Measured], others: &[Acceptance], power: &[(Simulated, Shares)]) -> Text {
    let mut lines = vec![HEAD.to_owned(), RULE.to_owned()];
    for (condition, shares) in measured {
        let row = row(condition.noise, &condition.simulated, shares);
        let word = condition.met(shares).word();
        lines.push(format!("{row} {} | {word} |", wanted(condition)));
    }
    lines.push(String::new());
    lines.extend(
        ["| besides verdicts | found | wanted | |", "| --- | ---: | ---: | --- |"]
            .map(str::to_owned),
    );
    lines.extend(others.iter().map(|one| {
        format!("| {} | {} | {} | {} |", one.what, percent(one.found), bound(one), one.met().word())
    }));
    lines.push(String::new());
    let without = |line: &str, end: &str| line.strip_suffix(end).unwrap_or(line).to_owned();
    lines.extend([without(HEAD, " wanted | |"), without(RULE, " --- | --- |")]);
    lines.extend(power.iter().map(|(s, shares)| row("normal", s, shares)));
    let mut reasons: Vec<&str> = measured
        .iter()
        .filter(|(condition, shares)| condition.met(shares) == Met::Limit)
        .filter_map(|(condition, _)| Some(condition.limit?.why))
        .chain(
            others
                .iter()
                .filter(|one| one.met() == Met::Limit)
                .filter_map(|one| Some(one.limit?.1)),
        )
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    lines.extend(reasons.iter().map(|why| format!("known limit: {why}")));
    let mut text = Text::default();
    lines.into_iter().for_each(|line| text.line(line));
    text
}

const HEAD: &str = "| noise | compared | repeats | spread | true ratio | better | worse | same | mean repeats | wanted | |";
const RULE: &str = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |";

fn row(noise: &str, s: &Simulated, shares: &Shares) -> String {
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
            format!("each false verdict at most {} %", significant(100.0 * most, 2))
        }
        Wanted::Same(least) => format!("same at least {} %", significant(100.0 * least, 2)),
        Wanted::Better(least) => format!("better at least {} %", significant(100.0 * least, 2)),
    };
    let few = condition.most_repeats.map(|most| format!(", {} repeats", significant(most, 2)));
    format!("{shares}{}", few.unwrap_or_default())
}

fn simulated(noise: &str, s: &Simulated, shares: &Shares) -> Value {
    json!({
        "noise": noise, "test": s.test, "repeats": repeats(s.repeats), "mean_repeats": shares.repeats, "spread": s.spread, "ratio": s.ratio, "threshold": s.threshold,
        "better": shares.better, "worse": shares.worse, "same": shares.same, "unclear": shares.unclear,
    })
}
