//! The program `fathom-bench`: Fathom measured against itself and against fio. It is for developers, and not shipped.
//!
//! Each contestant is a program with a command line that a person can type, started as a child of its own and measured from outside by the same code.
//! Its JSON gives I/Os and latency; the kernel gives its cost (CPU time of all its threads, the kernel's io_uring workers included; CPU time of
//! kernel threads in that time). Repeats are interleaved, figures are ratios of neighbouring runs, and the CPU time of the rest of the machine is
//! recorded with them.
#![forbid(unsafe_code)]

mod acceptance;
mod args;
mod case;
mod child;
mod commands;
mod content;
mod contest;
mod cpu;
mod disks;
mod equal;
mod error;
mod estimate;
mod fathom_contestant;
mod fio;
mod floor;
mod goal;
mod goal_verdicts;
mod guest_comparison;
mod outcome;
mod proportion;
mod record;
mod repeats;
mod reported_figures;
mod suite;
mod target;
mod verdicts;
mod verified;

use std::process::ExitCode;

use args::Cli;
use clap::Parser;
use cli::failure::Failure;
use error::BenchError;
use reported_figures::ReportedFigures;

fn main() -> ExitCode {
    if lab::guest::is_guest() {
        return cli::guest(commands::in_guest::compare);
    }
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|word| word == fathom_contestant::FATHOM).is_some() {
        return cli::run(std::iter::once(fathom_contestant::FATHOM.into()).chain(words));
    }
    cli::finish(Cli::try_parse().map(|cli| cli::begin_log(None).and_then(|()| execute(&cli))))
}

fn execute(cli: &Cli) -> Result<ExitCode, Failure> {
    match cli {
        Cli::Lab(args) => commands::lab::lab(args),
        Cli::Engine(args) => commands::engine::engine(args),
        Cli::Floor(args) => commands::floor::floor(args),
        Cli::Turns(args) => commands::turns::turns(args),
        Cli::Estimate(args) => commands::estimate::estimate(args),
        Cli::Curve(args) => commands::curve::curve(args),
        Cli::Verdicts(args) => commands::verdicts::verdicts(args),
        Cli::Content(args) => commands::content::content(args),
        Cli::Disks(args) => commands::disks::disks(args),
        Cli::Show(args) => commands::show::show(args),
    }
}
