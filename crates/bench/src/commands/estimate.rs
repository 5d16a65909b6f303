//! `fathom-bench estimate`: how fast data is estimated.

use std::process::ExitCode;

use crate::estimate::{Contestant, EstimateComparison, Tree, measure};
use crate::goal::Summary;
use sys::interrupt::{Interrupt, Level};
use units::show::{bytes, significant};

use super::engine_record::failure;
use super::goal;
use crate::args::EstimateArgs;
use crate::fathom_contestant::Fathom;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json, say};

pub fn estimate(args: &EstimateArgs) -> Result<ExitCode, Failure> {
    if args.lab {
        return super::estimate_on_vdo::compare(args);
    }
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let fathom = Fathom::this_program().map_err(failure)?;
    let peer = ["/usr/bin/duperemove", "/usr/sbin/duperemove", "/usr/local/bin/duperemove"];
    let peer = peer.iter().map(std::path::PathBuf::from).find(|path| path.exists());
    let installed = peer.is_some();
    let tree = Tree::make(&args.dir, &args.tree, args.size.0, &interrupt).map_err(|error| {
        if interrupt.level() != Level::None {
            return Failure::interrupted();
        }
        Failure::environment(error).with_help("name other directories with --tree and --dir")
    })?;
    say(&format!("tree of {}: {}", bytes(tree.bytes() as f64), tree.sources().join(", ")));
    let outcome =
        measure(&fathom, &tree, peer, args.repeat as usize, &interrupt, &mut |done, all| {
            let speeds = all.iter().map(|one| {
                let last = one.throughput_bytes_per_s.last().copied().flatten();
                format!("{} {}", one.name, gigabytes(last))
            });
            let speeds: Vec<_> = speeds.collect();
            say(&format!("repeat {done} of {}, GB/s: {}", args.repeat, speeds.join(", ")));
        });
    drop(tree);
    let mut outcome = outcome.map_err(|error| match error {
        crate::estimate::Error::Bench(crate::BenchError::Interrupted) => Failure::interrupted(),
        error => Failure::environment(error),
    })?;
    if outcome.interrupted {
        let done = outcome.contestants.first().map_or(0, |one| one.cpu_s.len());
        say(&format!("interrupted: what follows rests on {done} of {} repeats", args.repeat));
    }
    if !installed {
        outcome.left_out.push("duperemove is not installed".into());
    }
    if args.json {
        json(&serde_json::to_string(&outcome).map_err(Failure::data)?);
    } else {
        answer(&Text::lines_of(&text(&outcome)));
    }
    Ok(ExitCode::from(if outcome.interrupted { 130 } else { 0 }))
}

fn gigabytes(bytes_per_s: Option<f64>) -> String {
    bytes_per_s.map_or("–".into(), |v| significant(v / 1e9, 3))
}

fn best(values: &[Option<f64>], larger: bool) -> Option<f64> {
    values.iter().flatten().copied().reduce(if larger { f64::max } else { f64::min })
}

fn row(contestant: &Contestant, outcome: &EstimateComparison) -> String {
    let cpu = best(&contestant.cpu_s, false);
    let all_cores = cpu.map(|s| outcome.bytes as f64 * outcome.cores as f64 / s.max(1e-9));
    format!(
        "{:<18} {:>8} {:>12} {:>22}\n",
        contestant.name,
        gigabytes(best(&contestant.throughput_bytes_per_s, true)),
        cpu.map_or("–".into(), |s| format!("{} s", significant(s, 3))),
        gigabytes(all_cores),
    )
}

fn text(outcome: &EstimateComparison) -> String {
    let mut text = format!(
        "{:<18} {:>8} {:>12} {:>22}\n",
        "best of all", "GB/s", "CPU time", "GB/s by CPU, all cores"
    );
    for contestant in &outcome.contestants {
        text += &row(contestant, outcome);
    }
    let shown = |v: Option<f64>| v.map_or("–".into(), |v| significant(v, 4));
    text += &format!(
        "--exact over LZ4 alone: {} by wall time, {} by CPU time (medians of pairs)\n",
        shown(outcome.exact_over_lz4.median),
        shown(outcome.exact_over_lz4_cpu.median),
    );
    let range = |s: &Summary| {
        let [median, low, high] = [s.median, s.low, s.high].map(shown);
        format!("{median} [{low}, {high}]")
    };
    text += &format!(
        "LZ4 that reads the files itself: {} of LZ4 alone; --exact: {} of that\n",
        range(&outcome.reading_over_lz4),
        range(&outcome.exact_over_reading),
    );
    let [exact, sampled, error] = outcome.saving_percent.map(shown);
    text += &format!("saving: exact {exact} %, sampled {sampled} % ± {error} points\n");
    outcome.goals.iter().for_each(|judged| text += &goal::line(judged));
    outcome.left_out.iter().for_each(|why| text += &format!("left out: {why}\n"));
    text
}
