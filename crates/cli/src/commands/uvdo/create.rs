//! `fathom uvdo create`

use std::fs::OpenOptions;
use std::path::Path;
use std::process::ExitCode;

use host::TargetPermit;
use serde_json::json;
use units::Bytes;
use uvdo::{Backing, CreateOptions};
use volume::{Geometry, Settings};

use crate::args::CreateArgs;
use crate::failure::Failure;
use crate::terminal::{Text, answer, json_line};

pub fn run(args: &CreateArgs) -> Result<ExitCode, Failure> {
    let path = args.backing.as_path();
    let made = make_file(path, args.size)?;
    let created = create(path, args);
    if created.is_err() && made {
        // Nothing but the zeros that were just made.
        let _ = std::fs::remove_file(path);
    }
    let geometry = created?;
    told(args, &geometry);
    Ok(ExitCode::SUCCESS)
}

fn create(path: &Path, args: &CreateArgs) -> Result<Geometry, Failure> {
    let permit = TargetPermit { destroy: args.destroy_data || args.size.is_some(), create: false };
    let claim = host::claim_target(path, permit)?;
    let mut backing = Backing::open(claim.path(), true)?;
    let CreateArgs { logical_size, slab_size, .. } = *args;
    let geometry = uvdo::layout(&backing, &CreateOptions { logical_size, slab_size })?;
    uvdo::create(&mut backing, geometry)?;
    Ok(geometry)
}

/// Makes a new file where a size is given; tells if it did.
fn make_file(path: &Path, size: Option<Bytes>) -> Result<bool, Failure> {
    let there = path.symlink_metadata().is_ok();
    match (size, there) {
        (None, true) => Ok(false),
        (None, false) => Err(Failure::usage(format!("{} does not exist", path.display()))
            .with_help("give a device or a file, or --size for a new file")),
        (Some(_), true) => Err(Failure::usage(format!("{} exists already", path.display()))
            .with_help("--size is for a new file: give another name, or leave it out")),
        (Some(size), false) => {
            let made = OpenOptions::new().write(true).create_new(true).open(path);
            let sized = made.and_then(|file| file.set_len(size.0));
            sized.map_err(|error| {
                let _ = std::fs::remove_file(path);
                Failure::environment(format!("{} cannot be made: {error}", path.display()))
                    .with_help("give a name in a directory that you may write to, with room for it")
            })?;
            Ok(true)
        }
    }
}

fn told(args: &CreateArgs, geometry: &Geometry) {
    let bytes = |blocks: u64| Bytes(blocks * 4096);
    let memory = Settings::default().memory_bytes(geometry);
    if args.json {
        return json_line(&json!({
            "schema": 1,
            "backing": args.backing.display().to_string(),
            "logical_bytes": bytes(geometry.sizes.logical).0,
            "physical_bytes": bytes(geometry.sizes.device).0,
            "data_bytes": bytes(geometry.data_total()).0,
            "slab_bytes": bytes(geometry.sizes.slab).0,
            "slabs": geometry.slabs,
            "memory_bytes": memory,
        }));
    }
    let mut text = Text::new();
    text.line(format!(
        "{}: an empty volume of {} on {}",
        args.backing.display(),
        bytes(geometry.sizes.logical),
        bytes(geometry.sizes.device)
    ));
    text.line(format!(
        "  room for data and block map  {} in {} slabs of {}",
        bytes(geometry.data_total()),
        geometry.slabs,
        bytes(geometry.sizes.slab)
    ));
    text.line(format!("  memory with usual settings   {}", Bytes(memory)));
    text.line(format!("next: fathom uvdo start {} DIR", args.backing.display()));
    answer(&text);
}
