//! Capabilities of this machine.

use host::{Capability, CapabilityState};
use lab::accel::{Accelerator, AcceleratorKind};
use lab::cache::{Cache, CachedImage};
use lab::image::Image;

use crate::terminal::{Style, Text};

/// Remedy for an emulated guest.
const WITHOUT_KVM: &str =
    "the lab emulates the CPU: ratios count; for absolute speed use a machine whose KVM works";

/// Returns what the host can do, and what the lab has found out about it.
pub fn capabilities() -> Vec<Capability> {
    let mut all = host::capabilities();
    let cache = match Cache::open() {
        Ok(cache) => cache,
        Err(error) => {
            let (detail, remedy) = (error.to_string(), error.help());
            let (state, name) = (CapabilityState::Missing, "lab image".to_owned());
            all.push(Capability { id: "lab_image", name, state, detail, remedy });
            return all;
        }
    };
    let newest =
        cache.images().ok().and_then(|images| images.into_iter().find(|i| i.manifest.is_some()));
    let (state, detail, remedy) = match &newest {
        Some(CachedImage { manifest: Some(manifest), size, .. }) => (
            CapabilityState::Ok,
            format!("{} kernel {}, {size}", manifest.suite, manifest.kernel),
            None,
        ),
        _ => {
            let remedy =
                "nothing: the first fathom lab run builds it in some seconds, with the network";
            (CapabilityState::Limited, "not built yet".to_owned(), Some(remedy.to_owned()))
        }
    };
    all.push(Capability { id: "lab_image", name: "lab image".to_owned(), state, detail, remedy });
    let image = newest.and_then(|i| Some(Image { id: i.id, dir: i.path, manifest: i.manifest? }));
    if let Some(known) = image.and_then(|image| Accelerator::known(&cache, &image)) {
        // A probe boot tells more than whether /dev/kvm can be opened.
        for kvm in all.iter_mut().filter(|c| c.id == "kvm") {
            kvm.detail.clone_from(&known.reason);
            (kvm.state, kvm.remedy) = match known.kind {
                AcceleratorKind::Kvm => (CapabilityState::Ok, None),
                AcceleratorKind::Tcg => (CapabilityState::Limited, Some(WITHOUT_KVM.to_owned())),
            };
        }
    }
    all
}

pub fn text(capabilities: &[Capability], style: Style) -> Text {
    let mut text = Text::new();
    for capability in capabilities {
        let word = match capability.state {
            CapabilityState::Ok => style.good("ok     "),
            CapabilityState::Limited => style.note("limited"),
            CapabilityState::Missing => style.bad("missing"),
        };
        text.line(word.and(format!(" {:<32} {}", capability.name, capability.detail)));
        if let Some(remedy) = &capability.remedy {
            text.line(format!("          do: {remedy}"));
        }
    }
    text
}
