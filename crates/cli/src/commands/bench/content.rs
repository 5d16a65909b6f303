//! `fathom bench content`: how fast content is made, and how exactly it is what was asked for.

use std::process::ExitCode;

use bench::content::{peer, speed};
use bench::fio::Fio;
use serde_json::json;

use crate::args::BenchContentArgs;
use crate::failure::Failure;
use crate::terminal::{answer, say};

use super::engine::failure;

pub fn content(args: &BenchContentArgs) -> Result<ExitCode, Failure> {
    let interrupt = crate::terminal::interrupt();
    let speeds = speed::measure(args.repeats);
    let document = json!({ "speed": speeds });
    Ok(ExitCode::SUCCESS)
}
