//! `fathom uvdo grow`

use std::process::ExitCode;

use host::TargetPermit;
use serde_json::Value;
use units::Bytes;
use uvdo::{Backing, GrowOptions, Place};

use crate::args::GrowArgs;
use crate::failure::Failure;
use crate::terminal::{Text, answer, json};

pub fn run(args: &GrowArgs) -> Result<ExitCode, Failure> {
    let GrowArgs { physical, logical_size, .. } = *args;
    let options = GrowOptions { physical, logical_size };
    let reply = match args.volume.is_dir() {
        true => uvdo::ask(&Place::new(&args.volume), &options.to_question())?,
        false => at_rest(args, &options)?,
    };
    match args.json {
        true => json(&reply),
        false => answer(&page(args, &serde_json::from_str(&reply).map_err(Failure::data)?)),
    }
    Ok(ExitCode::SUCCESS)
}

fn at_rest(args: &GrowArgs, options: &GrowOptions) -> Result<String, Failure> {
    let claim = host::claim_target(&args.volume, TargetPermit { destroy: true, create: false })?;
    let mut backing = Backing::through(&claim.way(), claim.path(), true)?;
    Ok(uvdo::sizes(&uvdo::grow(&mut backing, options)?).to_string())
}

fn page(args: &GrowArgs, sizes: &Value) -> Text {
    let bytes =
        |key: &str| sizes[key].as_u64().map_or_else(|| "?".into(), |n| Bytes(n).to_string());
    let mut text = Text::from(format!(
        "{}: a volume of {} on {}",
        args.volume.display(),
        bytes("logical_bytes"),
        bytes("physical_bytes")
    ));
    text.line(format!(
        "  room for data and block map  {} in {} slabs of {}",
        bytes("data_bytes"),
        sizes["slabs"],
        bytes("slab_bytes")
    ));
    text
}
