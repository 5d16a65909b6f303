//! `fathom uvdo create`

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use host::TargetPermit;
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
    if let (Err(_), Some(made)) = (&created, &made) {
        // The new file holds nothing but zeros.
        remove(path, made);
    }
    let geometry = created?;
    report(args, &geometry);
    Ok(ExitCode::SUCCESS)
}

fn create(path: &Path, args: &CreateArgs) -> Result<Geometry, Failure> {
    let permit = TargetPermit { destroy: args.destroy_data || args.size.is_some(), create: false };
    let claim = host::claim_target(path, permit)?;
    let mut backing = Backing::through(&claim.way(), claim.path(), true)?;
    let CreateArgs { logical_size, slab_size, index_memory, .. } = *args;
    let geometry =
        uvdo::layout(&backing, &CreateOptions { logical_size, slab_size, index_memory })?;
    uvdo::create(&mut backing, geometry)?;
    Ok(geometry)
}

/// Removes a file that was made here, unless its name now leads to another file.
fn remove(path: &Path, made: &File) {
    let of = |found: Metadata| (found.dev(), found.ino());
    let (there, made) = (path.symlink_metadata().map(of), made.metadata().map(of));
    if there.is_ok_and(|there| made.is_ok_and(|made| made == there)) {
        let _ = std::fs::remove_file(path);
    }
}

/// Makes a new file where a size is given, and returns it.
fn make_file(path: &Path, size: Option<Bytes>) -> Result<Option<File>, Failure> {
    let there = path.symlink_metadata().is_ok();
    match (size, there) {
        (None, true) => Ok(None),
        (None, false) => Err(Failure::usage(format!("{} does not exist", path.display()))
            .with_help("give a device or a file, or --size for a new file")),
        (Some(_), true) => Err(Failure::refused(format!("{} exists already", path.display()))
            .with_help("--size is for a new file: give another name, or leave it out")),
        (Some(size), false) => {
            let refused = |error: std::io::Error| {
                let help = "give a name in a directory that you may write to, with room for it";
                let what = format!("{} cannot be made: {error}", path.display());
                match (sys::new_file::remedy(&error), uvdo::is_misnamed(&error)) {
                    (Some(remedy), _) => Failure::usage(what).with_help(remedy),
                    (None, true) => Failure::usage(what).with_help(help),
                    (None, false) => Failure::environment(what).with_help(help),
                }
            };
            if i64::try_from(size.0).is_err() {
                let what = format!("--size: {size} is more than a file may have");
                return Err(Failure::usage(what).with_help("give less than 8 EiB"));
            }
            let made = sys::new_file::create(path).map_err(refused)?;
            made.set_len(size.0).map_err(|error| {
                remove(path, &made);
                refused(error)
            })?;
            Ok(Some(made))
        }
    }
}

fn report(args: &CreateArgs, geometry: &Geometry) {
    let bytes = |blocks: u64| Bytes(blocks * 4096);
    let memory = Settings::default().memory_bytes(geometry);
    if args.json {
        let mut sizes = uvdo::sizes(geometry);
        sizes["backing"] = args.backing.display().to_string().into();
        sizes["memory_bytes"] = memory.into();
        return json_line(&sizes);
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
