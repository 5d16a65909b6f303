//! `fathom compare`: two results, variant by variant.

use std::process::ExitCode;

use analysis::across;
use report::across::{json as document, text};

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, csv, json, say_line, width};

pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let (old, new) = (results::open(&args.old)?, results::open(&args.new)?);
    if old.manifest.run_id == new.manifest.run_id {
        let message = format!(
            "{} and {} are one run, {}: nothing can differ",
            args.old.display(),
            args.new.display(),
            old.manifest.run_id
        );
        return Err(Failure::usage(message).with_help("name the results of two runs"));
    }
    for result in [&old, &new] {
        let why = result.seal.broken().map(|what| format!("was changed: {what}"));
        let why = why.or_else(|| Some(format!("is incomplete: {}", result.incomplete.as_ref()?)));
        let unsealed = (result.seal == results::Seal::None)
            .then(|| "is not sealed: whether its files were changed is not known".to_owned());
        let why = why.or(unsealed);
        if let Some(why) = why {
            say_line(
                Style::of_stderr().note("warning:").and(format!("{} {why}", result.path.display())),
            );
        }
    }
    let found = across(&old, &new);
    let good = [&old, &new].iter().all(|one| one.seal.broken().is_none() && one.complete());
    if args.json {
        json(&serde_json::to_string_pretty(&document(&found, good)).map_err(Failure::data)?);
    } else if args.csv {
        csv(&report::across::csv(&found));
    } else if args.markdown {
        answer(&Text::as_it_is(&report::markdown::across(&found, args.all)));
    } else {
        answer(&Text::preformatted(&text(&found, args.all, width(), Style::of_stdout().colour())));
    }
    let any_asked =
        found.rows.iter().any(|row| row.comparison.is_asked_about() && row.comparison.n > 0);
    if !args.fail_on.is_empty() && !any_asked {
        let message = "No variant of both results has a figure that the experiments ask for: --fail-on has nothing to judge";
        return Err(Failure::data(message)
            .with_help("name results of one experiment; --all shows what they have"));
    }
    let mut verdicts = found.rows.iter().filter_map(|row| row.comparison.verdict);
    let fails = verdicts.any(|verdict| args.fail_on.contains(&verdict));
    let lone = [&found.only_old, &found.only_new, &found.figures_only_old, &found.figures_only_new];
    let lone: Vec<String> = lone.into_iter().flatten().cloned().collect();
    if good && !fails && !args.fail_on.is_empty() && !lone.is_empty() {
        let names = units::show::names(&lone);
        let message =
            format!("Only one of the results has {names}: --fail-on judged nothing of it");
        return Err(Failure::data(message).with_help(
            "run the same variants in both (--only leaves some out), with the same questions; or compare two results that have the same",
        ));
    }
    Ok(ExitCode::from(match fails {
        _ if !good => 5,
        true => 1,
        false => 0,
    }))
}
