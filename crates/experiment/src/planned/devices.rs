//! The devices of an experiment: those that stacks stand on, and files of the host that stages copy from.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use disk::Attributes;
use layers::environment::AskedSetting;
use toml::Spanned;
use units::Bytes;

use crate::checked::bounds;
use crate::written::diagnostic::Diagnostic;
use crate::written::file::{Device, LIKE, SIZE};
use crate::written::variants::Variant;
use plan::{ATTRIBUTES, ModelPlan};

/// Bytes of a block: sizes of devices and of files that are copied from are multiples of this.
const BLOCK: u64 = 4096;
/// Smallest device that a stack can stand on.
const MIN_DEVICE: Bytes = Bytes(64 * Bytes::MIB);

/// All devices by role.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Devices {
    /// Sizes of those that are written to.
    pub sizes: BTreeMap<String, Bytes>,
    /// Those that are only read.
    pub images: BTreeMap<String, Image>,
    /// Models of the devices that are not as fast as the host, by role.
    pub models: BTreeMap<String, ModelPlan>,
    /// Attributes and limits by role, of devices for which the file gives any.
    pub attributes: BTreeMap<String, Attributes>,
    /// Roles of the devices whose writes are recorded, to know the length of runs of consecutive writes.
    pub recorded: BTreeSet<String>,
    /// Settings of their queues.
    pub environment: Vec<AskedSetting>,
}

/// A file or block device of the host that is only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub path: PathBuf,
    pub size: Bytes,
}

/// Reads the devices of a variant; paths are relative to `name`, the experiment's file.
pub(crate) fn read(variant: &Variant, name: &str) -> Result<Devices, Vec<Diagnostic>> {
    let mut devices = Devices::default();
    let mut mistakes = Vec::new();
    for device in &variant.devices {
        let (role, given) = (&device.name, &device.value);
        match (&given.size, &given.file) {
            (Some(size), None) => {
                mistakes.extend(check_size(size));
                match model(given, size.get_ref().0) {
                    Ok(model) => devices.models.extend(model.map(|model| (role.clone(), model))),
                    Err(mistake) => mistakes.push(mistake),
                }
                devices.sizes.insert(role.clone(), *size.get_ref());
                devices.attributes.insert(role.clone(), given.attributes.clone());
                let recorded = given.write_runs.as_ref().is_some_and(|runs| *runs.get_ref());
                devices.recorded.extend(recorded.then(|| role.clone()));
                devices.environment.extend(given.environment.iter().cloned());
            }
            (None, Some(_)) if given.like.is_some() || given.faults.is_some() => {
                let key = if given.like.is_some() { "like" } else { "faults" };
                let message = format!(
                    "The device '{role}' is a file that is only read, and cannot be modelled"
                );
                let help = "leave like and faults out, or give size instead of file";
                mistakes
                    .push(Diagnostic::at(given.table.place(key), message, help).fix_by_removing());
            }
            (None, Some(_)) if !given.attributes.is_usual() => {
                let key =
                    ATTRIBUTES.iter().find(|key| given.table.has(key)).unwrap_or(&ATTRIBUTES[0]);
                let message =
                    format!("The device '{role}' is a file that is only read, and stays as it is");
                let help =
                    format!("leave {} out, or give size instead of file", ATTRIBUTES.join(", "));
                mistakes
                    .push(Diagnostic::at(given.table.place(key), message, help).fix_by_removing());
            }
            (None, Some(_)) if !given.environment.is_empty() => {
                let setting = &given.environment[0].setting;
                let message =
                    format!("The device '{role}' is a file that is only read: it has no {setting}");
                let at = given.table.place(setting);
                mistakes.push(Diagnostic::at(at, message, "leave it out").fix_by_removing());
            }
            (None, Some(_)) if given.write_runs.is_some() => {
                let message = format!(
                    "The device '{role}' is a file that is only read: it has no runs of writes"
                );
                let help = "leave write_runs out, or give size instead of file";
                let at = given.table.place("write_runs");
                mistakes.push(Diagnostic::at(at, message, help).fix_by_removing());
            }
            (None, Some(image)) => match image_of(image.get_ref(), name) {
                Ok(found) => {
                    devices.images.insert(role.clone(), found);
                }
                Err((message, help)) => mistakes.push(Diagnostic::at(image.span(), message, help)),
            },
            (both, _) => {
                let message = format!("The device '{role}' needs either a size or a file");
                let help = "give size = \"12G\" for a stack to stand on, or file = \"data.img\" to copy from";
                mistakes.push(match both {
                    Some(_) => {
                        Diagnostic::at(given.table.place("file"), message, help).fix_by_removing()
                    }
                    None => Diagnostic::at(given.table.at(), message, help).add(&SIZE),
                });
            }
        }
    }
    if mistakes.is_empty() { Ok(devices) } else { Err(mistakes) }
}

/// Gives every variant the same devices: the real one's size, else the largest that a variant asks for. So a layer that takes all of its
/// device takes the same amount in every variant. Returns the roles whose sizes differed.
pub(crate) fn fit(variants: &mut [Devices], real: &BTreeMap<String, Bytes>) -> Vec<String> {
    let mut largest: BTreeMap<String, Bytes> = BTreeMap::new();
    let mut differ = Vec::new();
    for (role, &size) in variants.iter().flat_map(|devices| &devices.sizes) {
        let most = largest.entry(role.clone()).or_insert(size);
        if *most != size && !differ.contains(role) {
            differ.push(role.clone());
        }
        *most = size.max(*most);
    }
    largest.extend(real.iter().map(|(role, &size)| (role.clone(), size)));
    for (role, size) in variants.iter_mut().flat_map(|devices| &mut devices.sizes) {
        *size = largest.get(role).copied().unwrap_or(*size);
    }
    differ
}

/// Returns what a device is modelled like.
fn model(device: &Device, size: u64) -> Result<Option<ModelPlan>, Diagnostic> {
    let faults = device.faults.as_ref();
    if let (Some(destage), None) = (device.attributes.destage, &device.like) {
        let message = format!(
            "Only a modelled disk has a cache that is written out as destage = \"{destage}\" says"
        );
        let help = "say what it is like, as in like = \"ssd\"";
        return Err(Diagnostic::at(device.table.place("destage"), message, help)
            .fix_by_removing()
            .if_rest_is_right());
    }
    let Some(like) = &device.like else {
        return faults.map_or(Ok(None), |faults| {
            let message = "Only a modelled disk can have faults";
            let help = "say what it is like, as in like = \"hdd\"; like = \"memory\" is as fast as it can be";
            Err(Diagnostic::at(faults.span(), message, help).fix_by_removing().if_rest_is_right())
        });
    };
    let wrong = |span, error: &disk::Error| Diagnostic::at(span, error.to_string(), error.help());
    let unlike = |error| wrong(like.span(), &error).with(LIKE.example.to_owned());
    like.get_ref().profile().map_err(unlike)?;
    let mut list = Vec::new();
    if let Some(faults) = faults {
        for (i, fault) in faults.get_ref().iter().enumerate() {
            let place = format!("faults[{i}]");
            fault
                .check(&place, size)
                .map_err(|error| wrong(faults.span(), &error).fix_by_removing())?;
        }
        list.clone_from(faults.get_ref());
    }
    Ok(Some(ModelPlan { like: like.get_ref().clone(), faults: list }))
}

fn check_size(size: &Spanned<Bytes>) -> Option<Diagnostic> {
    let value = *size.get_ref();
    if value > bounds::DEVICE_SIZE {
        let message = format!("A device of {} is too large", value.exact());
        let help = format!("give at most {}P", bounds::DEVICE_SIZE.0 >> 50);
        return Some(Diagnostic::at(size.span(), message, help).with(SIZE.example.into()));
    }
    if value < MIN_DEVICE {
        let message = format!("A device of {} is too small", value.exact());
        let small = Diagnostic::at(size.span(), message, "give at least 64M");
        return Some(small.with(SIZE.example.into()));
    }
    let down = value.0 / BLOCK * BLOCK;
    (down < value.0).then(|| {
        Diagnostic::at(
            size.span(),
            format!("A device of {} B is not a whole number of blocks of 4 KiB", value.0),
            format!("give {down} or {}, which are the nearest, or a size such as 1G or 954M, whose units are powers of two", down + BLOCK),
        )
        .with(SIZE.example.into())
    })
}

/// Examines the file, whose path is relative to the experiment's folder; the error is a message and its remedy.
fn image_of(image: &str, experiment: &str) -> Result<Image, (String, &'static str)> {
    let folder = Path::new(experiment).parent().unwrap_or(Path::new(""));
    let path = folder.join(image);
    let cannot = |error: std::io::Error| {
        (
            format!("{} cannot be read: {error}", path.display()),
            "name a file or block device; its path is relative to the experiment's folder",
        )
    };
    let length = sys::input::open_or_device(&path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let size = length.map_err(cannot)?;
    if size == 0 || size % BLOCK != 0 {
        return Err((
            format!("{} has {size} B, which is not a multiple of 4 KiB", path.display()),
            "fill it up: truncate -s %4096 FILE",
        ));
    }
    let path = path.canonicalize().map_err(cannot)?;
    Ok(Image { path, size: Bytes(size) })
}
