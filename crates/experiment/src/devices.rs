//! The devices of an experiment: those that stacks stand on, and files of the host that stages copy from.

use std::collections::BTreeMap;
use std::fs::File as Opened;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use toml::Spanned;
use units::Bytes;

use crate::compose::Choices;
use crate::diagnostic::{Diagnostic, key_span, table_span};
use crate::file::{Device, File};

/// What devices are made of, and what is copied.
const BLOCK: u64 = 4096;
/// The least that a stack can stand on.
const LEAST: Bytes = Bytes(64 * Bytes::MIB);

/// All devices by role.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Devices {
    /// Sizes of those that are written to.
    pub sizes: BTreeMap<String, Bytes>,
    /// Those that are only read.
    pub images: BTreeMap<String, Image>,
}

/// A file or block device of the host that is only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub path: PathBuf,
    pub size: Bytes,
}

/// Reads `[devices]`; `name` is the experiment's file, which files are named from.
pub(crate) fn read(
    file: &File,
    name: &str,
    text: &str,
    choices: &Choices,
) -> Result<Devices, Vec<Diagnostic>> {
    let mut devices = Devices::default();
    let mut mistakes = Vec::new();
    for (role, device) in file.devices.get_ref() {
        let given = device.get_ref();
        match (given.size, &given.file) {
            (Some(size), None) => {
                mistakes.extend(check_size(size, device, text));
                let size = choices.sizes.get(role).copied().unwrap_or(size);
                devices.sizes.insert(role.clone(), size);
            }
            (None, Some(image)) => match image_of(image, name) {
                Ok(image) => {
                    devices.images.insert(role.clone(), image);
                }
                Err((message, help)) => {
                    let span = key_span(text, &table_span(text, &device.span()), "file");
                    mistakes.push(Diagnostic::at(span, message, help));
                }
            },
            _ => mistakes.push(Diagnostic::at(
                table_span(text, &device.span()),
                format!("The device '{role}' needs either a size or a file"),
                "give size = \"12G\" for a stack to stand on, or file = \"data.img\" to copy from",
            )),
        }
    }
    if mistakes.is_empty() { Ok(devices) } else { Err(mistakes) }
}

fn check_size(size: Bytes, device: &Spanned<Device>, text: &str) -> Option<Diagnostic> {
    (size < LEAST || !size.0.is_multiple_of(BLOCK)).then(|| {
        Diagnostic::at(
            key_span(text, &table_span(text, &device.span()), "size"),
            format!("A device of {size} is too small, or not whole blocks of 4 KiB"),
            "give at least 64M, in multiples of 4k",
        )
    })
}

/// The file, found from where the experiment stands; the error is a message and its remedy.
fn image_of(image: &str, experiment: &str) -> Result<Image, (String, &'static str)> {
    let folder = Path::new(experiment).parent().unwrap_or(Path::new(""));
    let path = folder.join(image);
    let cannot = |error: std::io::Error| {
        (
            format!("{} cannot be read: {error}", path.display()),
            "name a file or block device, from the experiment's folder on",
        )
    };
    let length = Opened::open(&path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let size = length.map_err(cannot)?;
    if size == 0 || size % BLOCK != 0 {
        return Err((
            format!("{} has {size} B, which are no whole blocks of 4 KiB", path.display()),
            "fill it up: truncate -s %4096 FILE",
        ));
    }
    let path = path.canonicalize().map_err(cannot)?;
    Ok(Image { path, size: Bytes(size) })
}
