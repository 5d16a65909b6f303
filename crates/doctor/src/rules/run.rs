//! Rules about the run as a whole: circumstances in which its figures mean less.

use analysis::{Analysis, VariantFigures};
use results::checksums::{SUMS, Seal};
use results::model::{Accelerator, Finding, Manifest, Severity, StopReason};
use results::read::ResultSet;
use stats::LEAST_REPEATS;

/// Layers and engine were twins.
pub(crate) fn simulated(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let finding = Finding {
        rule: "simulated".into(),
        severity: Severity::Error,
        subject: None,
        message: "Layers and engine were simulated, so no figure was measured.".into(),
        evidence: "The manifest says that the run was simulated.".into(),
        remedy: "Run the experiment in the lab or on devices for real figures.".into(),
        ..Finding::default()
    };
    Vec::from_iter(result.manifest.simulated.then_some(finding))
}

/// The CPU was emulated.
pub(crate) fn emulated_cpu(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let manifest = &result.manifest;
    let why = manifest.accelerator_reason.as_deref().unwrap_or("no reason is recorded");
    let finding = Finding {
        rule: "emulated_cpu".into(),
        severity: Severity::Warning,
        subject: None,
        message:
            "The lab's CPU was emulated: shapes, ratios and space count, absolute speed does not."
                .into(),
        evidence: format!("Accelerator tcg: {why}."),
        remedy:
            "For absolute figures run on a machine that gives KVM (/dev/kvm), or on devices with \
                 fathom run."
                .into(),
        ..Finding::default()
    };
    Vec::from_iter((manifest.accelerator == Accelerator::Tcg).then_some(finding))
}

/// The run was in a virtual machine whose CPU was not emulated, in the lab or not.
pub(crate) fn virtual_machine(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let manifest = &result.manifest;
    let around = manifest.host.0.get("virtualisation").filter(|kind| *kind != "none");
    let evidence = match manifest.accelerator {
        Accelerator::Kvm => Some("The lab ran with KVM.".to_owned()),
        Accelerator::None if !manifest.simulated => {
            around.map(|kind| format!("The machine says that it is {kind}."))
        }
        _ => None,
    };
    let finding = |evidence| {
        Finding {
        rule: "virtual_machine".into(),
        severity: Severity::Note,
        subject: None,
        message: "The run was in a virtual machine: ratios and space count, speed depends on the machine around it, too."
            .into(),
        evidence,
        remedy: "For absolute speed run on devices of a machine of its own (fathom run).".into(),
        ..Finding::default()
    }
    };
    evidence.map(finding).into_iter().collect()
}

/// Largest accepted ratio of the 99th percentile of lateness to the model's median latency.
pub(crate) const LATE_PART: f64 = 0.1;

/// Replies of a modelled disk that came late: a figure of it is the host's too.
pub(crate) fn late_disks(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let disks = result.manifest.lab.as_ref().and_then(|lab| lab["disks"].as_array());
    let late = disks.into_iter().flatten().filter_map(|disk| {
        let (role, served) = (disk["role"].as_str()?, &disk["model"]["served"]);
        let [p99, median] =
            [served["late_p99_ns"].as_f64()?, served["model_p50_ns"].as_f64()?];
        let priority = served["priority"].as_str().map_or_else(String::new, |why| {
            format!(" The process that served it had no real-time priority ({why}).")
        });
        // A disk without a model has no time of its own to compare with.
        (median > 0.0 && p99 > LATE_PART * median).then(|| Finding {
            rule: "late_disk".into(),
            severity: Severity::Warning,
            subject: Some(role.to_owned()),
            message: format!("Replies of the modelled disk {role} came late: its latencies are partly the host's."),
            evidence: format!(
                "99 of 100 replies were late by up to {}; half of the model's own latencies are up to {}.{priority}",
                units::show::nanos(p99),
                units::show::nanos(median),
            ),
            remedy: "Run it on a quiet machine, as root or with ulimit -r 1; for fast disks rely on shapes, not on figures.".into(),
 ..Finding::default()
})
    });
    late.collect()
}

/// Largest error of the guest's clock, as a share of its rate, that gives no finding: a wrong guess of the rate makes a far larger one.
pub(crate) const CLOCK_TOLERANCE: f64 = 0.05;

/// The guest's clock ran at another speed than the host's.
pub(crate) fn guest_clock(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let rate = result.manifest.lab.as_ref().and_then(|lab| lab["guest_clock_rate"].as_f64());
    let wrong = rate.filter(|rate| (rate - 1.0).abs() > CLOCK_TOLERANCE);
    let finding = wrong.map(|rate| Finding {
        rule: "guest_clock".into(),
        severity: Severity::Error,
        subject: None,
        message:
            "The guest's clock ran at another speed than the host's: times and rates are wrong."
                .into(),
        evidence: format!("A second of the host was {rate:.2} s in the guest."),
        remedy: "Run again on a machine that is not overloaded.".into(),
        ..Finding::default()
    });
    Vec::from_iter(finding)
}

/// Something is missing.
pub(crate) fn incomplete(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let manifest = &result.manifest;
    let killed_here = manifest.outcome.is_none()
        && result.going_on.is_none()
        && manifest.accelerator == Accelerator::None
        && !manifest.simulated;
    let path = result.path.display();
    let again = if result.going_on.is_some() {
        "Wait until the run has ended.".to_owned()
    } else if matches!(result.seal, Seal::Broken(_)) {
        // It was not possible to tell which of its files are the run's.
        "For a whole result run it anew, with another --out: files of this one are not as the run left them, and it cannot go on.".to_owned()
    } else {
        format!(
            "For a whole result repeat the command that began it, with --resume {path} instead of --out: runs that ended well are kept."
        )
    };
    let remedy = match killed_here {
        true => {
            format!("First see what the run left on this machine: fathom clean {path}. {again}")
        }
        false => again,
    };
    let finding = |why: &String| {
        Finding {
        rule: "incomplete".into(),
        severity: Severity::Warning,
        subject: None,
        message: "The result is incomplete: figures rest on what is there, and what is missing was not examined.".into(),
        evidence: format!("Missing: {why}."),
        remedy: remedy.clone(),
        ..Finding::default()
    }
    };
    result.incomplete.iter().map(finding).collect()
}

/// The run was stopped and went on later.
pub(crate) fn resumed(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let sessions = result.manifest.resumed.iter().filter(|session| session.kept > 0);
    let list: Vec<String> = sessions
        .map(|session| format!("at {} with {} cells kept", session.started_utc, session.kept))
        .collect();
    let finding = Finding {
        rule: "resumed".into(),
        severity: Severity::Note,
        subject: None,
        message: "The run was stopped and went on later: its cells come from several sessions.".into(),
        evidence: format!("Begun at {}; went on {}.", result.manifest.started_utc, list.join(", and ")),
        remedy: "Where a verdict is close run it anew, in one go: the machine may have been in another state."
            .into(),
        ..Finding::default()
    };
    Vec::from_iter((!list.is_empty()).then_some(finding))
}

/// Files are not as the run left them.
pub(crate) fn changed(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let finding = |what: String| Finding {
        rule: "changed_files".into(),
        severity: Severity::Error,
        subject: None,
        message: "The result is not as its run left it: its figures cannot be trusted.".into(),
        evidence: format!("By {SUMS}: {what}."),
        remedy: "Copy the result anew from where it was made, or run the experiment again.".into(),
        ..Finding::default()
    };
    result.seal.broken().map(finding).into_iter().collect()
}

/// The result holds no checksums to tell whether files were changed.
pub(crate) fn unsealed(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let finding = Finding {
        rule: "not_sealed".into(),
        severity: Severity::Note,
        subject: None,
        message: "The result is not sealed: whether its files were changed is not known.".into(),
        evidence: format!("It holds no {SUMS}, which is written when a run has ended."),
        remedy: "None is needed for a result of an earlier version or of a run that was cut off."
            .into(),
        ..Finding::default()
    };
    Vec::from_iter((result.seal == Seal::None).then_some(finding))
}

/// Tells whether the runs were another program's: Fathom knows neither a plan nor the machine of such.
fn imported(manifest: &Manifest) -> bool {
    manifest.plan_document.is_null() && manifest.host.0.is_empty()
}

/// A variant has too few runs for a verdict.
pub(crate) fn too_few_repeats(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let few: Vec<_> =
        analysis.variants.iter().filter(|variant| variant.repeats < LEAST_REPEATS).collect();
    if few.is_empty() || analysis.variants.len() < 2 {
        return Vec::new();
    }
    let planned = result.manifest.plan.repeat;
    let remedy = if result.manifest.stopped.is_some_and(|s| s.why == StopReason::Time) {
        "Run again with more time behind --repeat auto, or with --repeat 5: the time was over."
            .to_owned()
    } else if imported(&result.manifest) {
        format!("Import {LEAST_REPEATS} files or more under each name: each is one repeat.")
    } else if planned as usize >= LEAST_REPEATS {
        "Run again: enough repeats were planned, and not all ended well.".to_owned()
    } else {
        format!(
            "Run with --repeat 5; {planned} {} planned.",
            if planned == 1 { "was" } else { "were" }
        )
    };
    vec![Finding {
        rule: "too_few_repeats".into(),
        severity: Severity::Warning,
        subject: None,
        message:
            "There are too few repeats for a verdict between variants: each verdict is 'unclear'."
                .into(),
        evidence: format!(
            "Runs that ended well: {}; {LEAST_REPEATS} a side are the least{}.",
            counts(&few, analysis.variants.len()),
            if analysis.effects.is_empty() {
                ""
            } else {
                ", not so for what factors do over all their levels"
            }
        ),
        remedy,
        ..Finding::default()
    }]
}

/// The variants of a repeat alternated: a disturbance with the same period would always fall on one of them.
pub(crate) fn order_not_drawn(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let plan = &result.manifest.plan;
    let finding = Finding {
        rule: "order_not_drawn".into(),
        severity: Severity::Note,
        subject: None,
        message: "The order within each repeat was not drawn: an earlier version, or whoever ran another program, chose it.".into(),
        evidence: "The figures are compared by the method of today, which takes the order for drawn. A disturbance that comes every \
                   four runs would fall on one variant alone."
            .into(),
        remedy: "Run again where a verdict is close.".into(),
 ..Finding::default()
};
    Vec::from_iter((!plan.order_drawn && !analysis.comparisons.is_empty()).then_some(finding))
}

/// Describes how many runs the variants in `few` have, out of `all`; names them where they are not many.
fn counts(few: &[&VariantFigures], all: usize) -> String {
    const NAMED: usize = 4;
    let (least, most) = few.iter().fold((usize::MAX, 0), |(least, most), variant| {
        (least.min(variant.repeats), most.max(variant.repeats))
    });
    if few.len() <= NAMED {
        let named = few.iter().map(|v| format!("{} has {}", v.name, v.repeats));
        return named.collect::<Vec<_>>().join(", ");
    }
    let runs = if least == most { least.to_string() } else { format!("{least} to {most}") };
    format!("{} of {all} variants have {runs}", few.len())
}
