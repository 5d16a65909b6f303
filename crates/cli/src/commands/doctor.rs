//! `fathom doctor`: what this machine can do, or what a result suffers from.

use std::process::ExitCode;

use host::{Capability, CapabilityState};
use lab::accel::{Accelerator, Kind};
use lab::cache::{Cache, CachedImage};
use lab::image::Image;
use results::model::{Finding, Severity, plain_and_raw};

use crate::args::DoctorArgs;
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer};

pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    match &args.result {
        Some(path) => {
            let result = results::open(path)?;
            let analysis = analysis::analyse(&result);
            let findings = doctor::examine(&result, &analysis);
            let shown = show(&findings, args.json, findings_text)?;
            Ok(if result.seal.broken().is_some() { ExitCode::from(5) } else { shown })
        }
        None => show(&capabilities(), args.json, capabilities_text),
    }
}

/// What can be done about an emulated guest.
const WITHOUT_KVM: &str =
    "the lab emulates the CPU: ratios count; for absolute speed use a machine whose KVM works";

/// What the host can do, and what the lab has found out about it.
fn capabilities() -> Vec<Capability> {
    let mut all = host::capabilities();
    let Ok(cache) = Cache::open() else { return all };
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
        // What a probe boot has shown says more than whether the node opens.
        for kvm in all.iter_mut().filter(|c| c.id == "kvm") {
            kvm.detail.clone_from(&known.reason);
            (kvm.state, kvm.remedy) = match known.kind {
                Kind::Kvm => (CapabilityState::Ok, None),
                Kind::Tcg => (CapabilityState::Limited, Some(WITHOUT_KVM.to_owned())),
            };
        }
    }
    all
}

fn show<T: serde::Serialize>(
    items: &[T],
    json: bool,
    text: fn(&[T], Style) -> Text,
) -> Result<ExitCode, Failure> {
    if json {
        crate::terminal::json(&serde_json::to_string_pretty(items).map_err(Failure::data)?);
    } else {
        answer(&text(items, Style::of_stdout()));
    }
    Ok(ExitCode::SUCCESS)
}

fn findings_text(findings: &[Finding], style: Style) -> Text {
    if findings.is_empty() {
        return "Nothing found: the figures mean what they say.".into();
    }
    let mut text = Text::new();
    for finding in findings {
        let word = match finding.severity {
            Severity::Error => style.bad("error"),
            Severity::Warning => style.note("warning"),
            Severity::Note => style.dim("note"),
        };
        let (evidence, raw) = plain_and_raw(&finding.evidence);
        let more = raw.map_or("", |_| " (--json has the words of QEMU or the kernel)");
        let subject = finding.subject.as_ref().map_or_else(String::new, |s| format!("[{s}] "));
        text.line(word.and(format!("{subject}{}", finding.message)));
        text.line(format!("  evidence: {evidence}{more}"));
        text.line(format!("  do: {}", finding.remedy));
    }
    text
}

fn capabilities_text(capabilities: &[Capability], style: Style) -> Text {
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
