//! Stages that are nothing but steps: pausing, dropping caches, changing settings, trimming, remounting.

use layers::Offer;
use layers::step::{Action, Step};
use results::model::StageData;
use units::{Key, Nanos, key};

use crate::kinds::targets;
use crate::planned::graph::StackPlan;
use crate::stages::{Around, KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use plan::{Needs, StagePlan, Target};

const DURATION: Key = key("duration", "a time above 0, at most 24h", "\"30s\"");
/// The longest pause.
const LONGEST_WAIT: Nanos = Nanos::from_secs(24 * 3600);
/// Time limit of writing out or trimming, seconds.
const PATIENCE_S: u64 = 3600;

pub(crate) const DROP_CACHES: StageKind = StageKind {
    facts: quiet("drop_caches", "Dropping caches", WorksOn::Nothing),
    read: |table, _| alone(table, Steps::DropCaches),
};
pub(crate) const WAIT: StageKind = StageKind {
    facts: quiet("wait", "A wait", WorksOn::Nothing),
    read: |mut table, _| {
        let time = wait(&mut table)?;
        alone(table, Steps::Wait(time))
    },
};
pub(crate) const READ: StageKind = StageKind {
    facts: quiet("read", "A read", WorksOn::Nothing),
    read: |table, _| alone(table, Steps::Read),
};
pub(crate) const SET: StageKind =
    StageKind { facts: quiet("set", "A change of settings", WorksOn::Nothing), read: set };
pub(crate) const TRIM: StageKind = StageKind {
    facts: KindFacts { cannot: "be discarded", ..quiet("trim", "A trim", WorksOn::One).timed() },
    read: |table, _| alone(table, Steps::Trim),
};
pub(crate) const REMOUNT: StageKind = StageKind {
    facts: quiet("remount", "A remount", WorksOn::One).timed(),
    read: |table, _| alone(table, Steps::Remount),
};

/// A kind that brings no data.
const fn quiet(name: &'static str, what: &'static str, works_on: WorksOn) -> KindFacts {
    KindFacts::new(name, what, works_on, StageData::Nothing)
}

/// Makes a stage whose own keys have all been read; any other key is a mistake.
fn alone(table: Table, steps: Steps) -> Result<Box<dyn StageTask>, Diagnostic> {
    table.finish().map(|()| Box::new(steps) as Box<dyn StageTask>)
}

fn set(table: Table, around: &Around) -> Result<Box<dyn StageTask>, Diagnostic> {
    let at = table.at();
    if around.sets {
        return alone(table, Steps::Set);
    }
    table.finish()?;
    let help = "write what changes: set.\"vdo.dedupe\" = false";
    Err(Diagnostic::at(at, "A change of settings changes nothing", help))
}

/// A stage that is nothing but steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// The kernel's caches of files are written out and dropped.
    DropCaches,
    Wait(Nanos),
    /// Nothing is done; the layers are read.
    Read,
    /// Settings of running layers change; that is all.
    Set,
    /// Unused space is discarded: all of a block device, the free space of a file system.
    Trim,
    /// The file system is unmounted and mounted again.
    Remount,
}

impl StageTask for Steps {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let stack = &on.stack;
        let target = match (self, targets::of(stage, stack)?) {
            // Discarding a device would destroy the layer that stands on it.
            (Self::Trim, Target { offer: Offer::Block { .. }, .. }) => {
                targets::block(stage, stack)?
            }
            (_, target) => target,
        };
        let (steps, about) = match self {
            Self::Read | Self::Set => (Vec::new(), Nanos::default()),
            Self::Wait(time) => (vec![pause(*time)], *time),
            Self::DropCaches => (drop_caches(), Nanos::default()),
            Self::Trim => (vec![trim(&target)], Nanos::from_secs(1)),
            Self::Remount => (remount(stage, stack, &target)?, Nanos::from_secs(1)),
        };
        Ok(vec![stage.doing(steps, target, about)?])
    }

    fn needs(&self) -> Needs {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        match self {
            Self::Trim => Needs {
                packages: owned(&["util-linux"]),
                tools: owned(&["blkdiscard", "fstrim"]),
                ..Needs::default()
            },
            _ => Needs::default(),
        }
    }
}

/// Returns how long a pause is.
fn wait(table: &mut Table) -> Result<Nanos, Diagnostic> {
    let duration = table.need::<Nanos>(&DURATION)?;
    let (time, help) = (*duration.get_ref(), "wait more than 0s, and at most 24h");
    if time == Nanos::default() || time > LONGEST_WAIT {
        let long = if time > LONGEST_WAIT { "too long" } else { "none" };
        let message = format!("A wait of {time} is {long}");
        let mistake = Diagnostic::at(duration.span(), message, help);
        return Err(mistake.with(DURATION.example.to_owned()));
    }
    Ok(duration.into_inner())
}

fn step(about: &str, action: Action, undo: Vec<Action>) -> Step {
    Step { about: about.to_owned(), action, undo, deadline_s: PATIENCE_S }
}

fn pause(time: Nanos) -> Step {
    Step {
        about: format!("wait {time}"),
        action: Action::Pause { ms: time.0 / 1_000_000 },
        undo: Vec::new(),
        deadline_s: time.0 / Nanos::PER_SECOND + 60,
    }
}

/// Dirty pages are written out first: only clean ones can be dropped (the kernel's admin-guide/sysctl/vm, drop_caches).
pub(crate) fn drop_caches() -> Vec<Step> {
    let forget = Action::Write {
        path: "/proc/sys/vm/drop_caches".into(),
        value: "3".into(),
        reads: None,
        may_be_gone: false,
    };
    let about = "write out what the kernel holds of files in memory";
    vec![
        step(about, Action::Sync, Vec::new()),
        step("let the kernel forget what it holds of files in memory", forget, Vec::new()),
    ]
}

fn trim(target: &Target) -> Step {
    let (program, about) = match target.offer {
        Offer::Block { .. } => ("blkdiscard", "discard the whole device"),
        Offer::Directory { .. } => ("fstrim", "discard what the file system does not use"),
    };
    let argv = vec![program.to_owned(), target.offer.path().to_owned()];
    step(about, Action::Command { argv, removes: None }, Vec::new())
}

/// Unmounts as teardown does, and mounts as the stack was raised.
fn remount(stage: &StageHead, stack: &StackPlan, target: &Target) -> Result<Vec<Step>, Diagnostic> {
    let path = target.offer.path();
    let mounts =
        |step: &&Step| matches!(&step.action, Action::Mount { directory, .. } if directory == path);
    let Some(mount) = stack.up.iter().find(mounts) else {
        let message = format!("'{}' is not a mounted file system", target.name);
        let help = "name a layer that is one: target = \"...\"";
        return Err(Diagnostic::at(stage.places.at("do"), message, help));
    };
    let device = match &mount.action {
        Action::Mount { device, .. } => Some(device.clone()),
        _ => None,
    };
    let unmount = Action::Unmount { directory: path.to_owned(), device };
    // What undoes the raising is owed already.
    let mount = Step { undo: Vec::new(), ..mount.clone() };
    Ok(vec![step("unmount the file system", unmount, Vec::new()), mount])
}
