//! Devices and trees that nothing uses.

use crate::devices::Devices;
use crate::diagnostic::Diagnostic;
use crate::file::File;
use crate::stacks::VariantStack;
use crate::stages::Stage;
use crate::trees::WrittenTree;

/// Refuses devices that nothing stands on and nothing is copied from.
pub(crate) fn devices(
    file: &File,
    variants: &[VariantStack],
    stages: &[Vec<Stage>],
) -> Vec<Diagnostic> {
    let stands = |role: &str| {
        let mut layers = variants.iter().flat_map(|variant| &variant.layers);
        layers.any(|layer| layer.on.names().any(|on| on == role))
    };
    let copied = |role: &str| {
        stages.iter().flatten().filter_map(Stage::copies_from).any(|from| from == role)
    };
    let idle = file.devices.iter().filter(|d| !stands(&d.name) && !copied(&d.name));
    idle.map(|device| {
        let role = &device.name;
        let use_it = match device.value.file {
            Some(_) => format!("copy from it: do = \"copy\" with from = \"{role}\""),
            None => format!("put a stack on it: on = \"{role}\""),
        };
        Diagnostic::at(
            device.at.clone(),
            format!("Nothing uses the device '{role}'"),
            format!("leave [devices.{role}] out, or {use_it}"),
        )
    })
    .collect()
}

/// Refuses trees that no command reads, and names that something else has.
pub(crate) fn trees(
    written: &[WrittenTree],
    devices: &[Devices],
    variants: &[VariantStack],
    stages: &[Stage],
) -> Vec<Diagnostic> {
    let device = |name: &str| {
        devices.iter().any(|d| d.sizes.contains_key(name) || d.images.contains_key(name))
    };
    let read =
        |name: &str| stages.iter().filter_map(Stage::command).any(|c| c.trees().contains(name));
    let layer =
        |name: &str| variants.iter().flat_map(|v| &v.layers).any(|layer| layer.name == name);
    let check = |tree: &WrittenTree| {
        let name = &tree.name;
        let stage = stages.iter().any(|stage| stage.head.name == *name);
        if let Some((what, _)) =
            [("layer", layer(name)), ("device", device(name)), ("stage", stage)]
                .into_iter()
                .find(|(_, same)| *same)
        {
            let message = format!("'{name}' is the name of a tree and of a {what}");
            return Some(Diagnostic::at(tree.at.clone(), message, "give the tree another name"));
        }
        let help = format!(
            "leave [trees.{name}] out, or read it in a command: {{tree.{name}}} stands for its directory"
        );
        let unused =
            || Diagnostic::at(tree.at.clone(), format!("Nothing uses the tree '{name}'"), help);
        (!read(name)).then(unused)
    };
    written.iter().filter_map(check).collect()
}
