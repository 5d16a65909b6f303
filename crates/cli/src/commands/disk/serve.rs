//! `fathom disk serve`: a modelled disk for a machine of the lab.

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use crate::args::DiskServeArgs;
use crate::failure::Failure;
use crate::terminal::json_line;

/// Serves one machine, and prints what was served as JSON.
pub fn run(args: &DiskServeArgs) -> Result<ExitCode, Failure> {
    let service = serde_json::from_str(&args.service).map_err(Failure::usage)?;
    // The lab gives the socket, listening already: the machine can connect before this process runs.
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(Failure::environment)?;
    let served = disk::front::serve(UnixListener::from(socket), &service)?;
    json_line(&serde_json::to_value(&served).map_err(Failure::data)?);
    Ok(ExitCode::SUCCESS)
}
