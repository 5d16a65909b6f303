//! The program `fathom`: arguments, commands, rendering of events; no logic. Its developers' program `fathom-bench` is made of the same, and runs
//! commands of `fathom` as they are.
#![forbid(unsafe_code)]

mod args;
mod choices;
mod commands;
mod corpora;
pub mod failure;
mod fit;
pub mod guests;
mod kernels;
mod log;
mod outputs;
mod render;
pub mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{BENCH, Cli, Command, DiskCommand, LabCommand, TraceCommand, UvdoCommand};
pub use args::{GuestArgs, new_path, words};
use clap::Parser;
pub use commands::estimate::failure as estimate_failure;
pub use commands::guest::main as guest;
pub use commands::lab::execute_own;
pub use commands::load::{engine_failure, reading};
use failure::Failure;
pub use log::begin as begin_log;
pub use render::RunView;

/// Runs the command that `words` name, the program's name first.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    finish(Cli::try_parse_from(words).map(|cli| execute(&cli)))
}

/// Ends the program: says what went wrong, of the command line or after it, and returns the exit code.
pub fn finish(done: Result<Result<ExitCode, Failure>, clap::Error>) -> ExitCode {
    let code = match done {
        Ok(done) => done.unwrap_or_else(|failure| failure.report()),
        Err(error) => commands::bisect::code_of(&error, failure::command_line(&error)),
    };
    // The command's own error matters more than that standard output was lost.
    match Failure::lost_output().map(|failure| failure.report()) {
        Some(lost) if code == ExitCode::SUCCESS => lost,
        _ => code,
    }
}

fn execute(cli: &Cli) -> Result<ExitCode, Failure> {
    if let Err(failure) = log::begin(cli.log.as_deref()) {
        return Ok(commands::bisect::code_before(&cli.command, failure.report()));
    }
    let done = command(&cli.command);
    match &done {
        Ok(code) => tracing::info!(?code, "ended"),
        Err(failure) => tracing::error!("failed: {}", failure.text()),
    }
    log::end();
    done
}

fn command(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Lab(LabCommand::Run(args)) => commands::lab::run(args),
        Command::Lab(LabCommand::Kernels(args)) => commands::kernels::list(args),
        Command::Lab(LabCommand::List(args)) => commands::lab::list(args.json),
        Command::Lab(LabCommand::Shell(args)) => commands::shell::open(args),
        Command::Lab(LabCommand::Clean(args)) => commands::lab::clean(args.json),
        Command::Run(args) => commands::run::run(args),
        Command::Load(args) if args.tree.tree => commands::load_tree::run(args),
        Command::Load(args) => commands::load::run(args),
        Command::Fio(args) => commands::fio::run(args),
        Command::Import(args) => commands::fio::import(args),
        Command::Age(args) => commands::age::run(args),
        Command::Estimate(args) => commands::estimate::run(args),
        Command::Show(args) => commands::show::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Pack(args) => commands::pack::pack(args),
        Command::Unpack(args) => commands::pack::unpack(args),
        Command::Push(args) => commands::push::run(args),
        Command::Export(args) => commands::export::run(args),
        Command::Trend(args) => commands::trend::run(args),
        Command::Bisect(args) => commands::bisect::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::Catalogue(args) => commands::catalogue::run(args),
        Command::Layers(args) => commands::layers::run(args),
        Command::Disk(DiskCommand::List(args)) => Ok(commands::disk::list(args.json)),
        Command::Disk(DiskCommand::Show(args)) => commands::disk::show(args),
        Command::Disk(DiskCommand::Bench(args)) => commands::disk::bench(args),
        Command::Disk(DiskCommand::Replay(args)) => commands::disk::replay(args),
        Command::Disk(DiskCommand::Serve(args)) => commands::disk::serve(args),
        Command::Trace(TraceCommand::Show(args)) => commands::trace::run(args),
        Command::Uvdo(UvdoCommand::Create(args)) => commands::uvdo::create(args),
        Command::Uvdo(UvdoCommand::Start(args)) => commands::uvdo::start(args),
        Command::Uvdo(UvdoCommand::Stop(args)) => commands::uvdo::stop(args),
        Command::Uvdo(UvdoCommand::Status(args)) => commands::uvdo::status(args),
        Command::Uvdo(UvdoCommand::Stats(args)) => commands::uvdo::stats(args),
        Command::Uvdo(UvdoCommand::Policy(args)) => commands::uvdo::policy(args),
        Command::Uvdo(UvdoCommand::Grow(args)) => commands::uvdo::grow(args),
        Command::Uvdo(UvdoCommand::Rebuild(args)) => commands::uvdo::rebuild(args),
        Command::Uvdo(UvdoCommand::Check(args)) => commands::uvdo::check(args),
        Command::Clean(args) => commands::clean::run(args),
        Command::Advise(args) => commands::advise::run(args),
        Command::Bench(_) => Err(Failure::usage(BENCH)),
    }
}
