//! Layers, devices and corpora that nothing uses.

use std::collections::BTreeSet;

use crate::planned::devices::Devices;
use crate::planned::graph::StackPlan;
use crate::stages::Stage;
use crate::written::corpora::WrittenCorpus;
use crate::written::diagnostic::Diagnostic;
use crate::written::expectations::Expectation;
use crate::written::file::File;
use crate::written::pictures::Picture;
use crate::written::reported::Reported;
use crate::written::stacks::VariantStack;
use plan::StagePlan;

/// Refuses top layers that nothing in the file names, where a stack has several top layers. `stack` was planned from `written`, and `planned`
/// from the stages as `read`.
pub(crate) fn layers(
    file: &File,
    (written, stack): (&VariantStack, &StackPlan),
    (read, planned): (&[Stage], &[StagePlan]),
) -> Vec<Diagnostic> {
    if stack.tops().count() < 2 {
        return Vec::new();
    }
    let questioned = file.question.iter().filter_map(|question| question.subject.layer.as_deref());
    let expected = file.expect.iter().flat_map(Expectation::layers);
    let drawn = file.picture.iter().filter_map(Picture::layer);
    let reported = file.reported.iter().filter_map(Reported::layer);
    let set = read.iter().flat_map(|stage| &stage.head.set);
    let set = set.filter_map(|setting| setting.name.split('.').next());
    let mut named: BTreeSet<&str> =
        questioned.chain(expected).chain(drawn).chain(reported).collect();
    named.extend(set.chain(planned.iter().flat_map(worked_on)));
    let tops = written.layers.iter().filter(|layer| stack.stands_on(&layer.name).is_none());
    let idle = tops.filter(|layer| !named.contains(layer.name.as_str()));
    idle.map(|layer| {
        let name = &layer.name;
        let message = format!("Nothing uses the layer '{name}'");
        let help = format!("leave it out, or let a stage work on it: target = \"{name}\"");
        Diagnostic::at(layer.places.at("layer"), message, help).unless_used(name)
    })
    .collect()
}

/// Names of the layers that a stage works on, fills, or brings to a state.
fn worked_on(stage: &StagePlan) -> impl Iterator<Item = &str> {
    let target = stage.traits.on_layer.then_some(stage.target.name.as_str());
    let filled = stage.task.fill().map(|fill| fill.layer.as_str());
    let state = stage.state.as_ref().map(|state| state.layer.as_str());
    let aims = stage.aims.iter().map(|aim| aim.target.name.as_str());
    aims.chain(target).chain(filled).chain(state)
}

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
    let copied =
        |role: &str| stages.iter().flatten().any(|stage| stage.task.copies_from() == Some(role));
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
        .unless_used(role)
    })
    .collect()
}

/// Refuses corpora that no command reads, and corpora with the name of something else.
pub(crate) fn corpora(
    written: &[WrittenCorpus],
    devices: &[Devices],
    variants: &[VariantStack],
    stages: &[Stage],
) -> Vec<Diagnostic> {
    let device = |name: &str| {
        devices.iter().any(|d| d.sizes.contains_key(name) || d.images.contains_key(name))
    };
    let read = |name: &str| stages.iter().any(|stage| stage.task.corpora().contains(name));
    let layer =
        |name: &str| variants.iter().flat_map(|v| &v.layers).any(|layer| layer.name == name);
    let check = |corpus: &WrittenCorpus| {
        let name = &corpus.name;
        let stage = stages.iter().any(|stage| stage.head.name == *name);
        if let Some((what, _)) =
            [("layer", layer(name)), ("device", device(name)), ("stage", stage)]
                .into_iter()
                .find(|(_, same)| *same)
        {
            let message = format!("'{name}' is the name of a corpus and of a {what}");
            return Some(Diagnostic::at(
                corpus.at.clone(),
                message,
                "give the corpus another name",
            ));
        }
        let help = format!(
            "leave [corpora.{name}] out, or read it in a command: {{corpus.{name}}} stands for its directory"
        );
        let message = format!("Nothing uses the corpus '{name}'");
        (!read(name)).then(|| Diagnostic::at(corpus.at.clone(), message, help).unless_used(name))
    };
    written.iter().filter_map(check).collect()
}
