//! Checks before a run continues where an earlier one stopped: the result and the plan must belong to the same experiment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use host::{RunLock, RunLockError};
use plan::Plan;
use results::model::{Accelerator, CellState, DeviceFacts, MachineFacts, Manifest, StopReason};
use results::sink::{DirSink, SinkError};
use results::{CellData, ReadError, ResultSet, Seal};
use sys::identity::Identity;
use units::Seed;

use crate::clean::Cleaning;
use crate::{RunError, Start};

/// A result that is to be continued. While this value exists, nobody else writes into it.
pub struct Earlier {
    sink: DirSink,
    lock: Option<RunLock>,
    set: ResultSet,
}

/// Why a result cannot be continued.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its run still goes on, or its directory cannot be opened.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// Its run still goes on, perhaps in another directory, or its lock cannot be made.
    #[error(transparent)]
    Lock(#[from] RunLockError),
    /// Its files are not as the run left them.
    #[error("{} cannot be continued: {wrong}", .dir.display())]
    Changed {
        /// Its directory.
        dir: PathBuf,
        /// The change, in words.
        wrong: String,
    },
    /// Another device.
    #[error("{} cannot be continued on this device for '{role}': {why}", .dir.display())]
    Device {
        /// Its directory.
        dir: PathBuf,
        /// The role.
        role: String,
        /// The earlier value, and the present one.
        why: String,
    },
    /// Another plan, or another machine.
    #[error("{} cannot be continued: {what} was {was}, and now it is {now}", .dir.display())]
    Differs {
        /// Its directory.
        dir: PathBuf,
        /// Name of what differs.
        what: &'static str,
        /// The value in the result.
        was: String,
        /// The value that is asked for now.
        now: String,
    },
}

impl ResumeError {
    /// Returns what to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Read(_) => "name the directory that a run wrote with --out",
            Self::Sink(SinkError::Live(_)) => "wait for its end, or stop it with Ctrl-C",
            Self::Lock(error) => error.help(),
            Self::Sink(_) => "its directory must be writable",
            Self::Device { .. } => {
                "give the device that it began on (no option allows another), or run it anew: --out instead of --resume"
            }
            Self::Changed { .. } => "run it anew: --out instead of --resume",
            Self::Differs { .. } => {
                "repeat the command that began it with --resume instead of --out, or run it anew"
            }
        }
    }
}

impl Earlier {
    /// Opens the result in `dir`, and keeps others from writing into it.
    pub fn open(dir: &Path) -> Result<Self, ResumeError> {
        // A directory that is not a result is refused before anything is locked.
        let manifest = results::open(dir)?.manifest;
        let take = || RunLock::take(&manifest.run_id, dir);
        let lock = (!manifest.simulated).then(take).transpose()?;
        let sink = DirSink::reopen(dir)?;
        // Another result may have taken the name since its lock was taken.
        let set = results::open_held(&sink)?;
        if set.manifest.run_id != manifest.run_id {
            let wrong = "another result has taken its place in the meantime".to_owned();
            return Err(ResumeError::Changed { dir: dir.to_owned(), wrong });
        }
        match &set.seal {
            Seal::Broken(wrong) => {
                Err(ResumeError::Changed { dir: dir.to_owned(), wrong: wrong.join(", ") })
            }
            Seal::Whole | Seal::None => Ok(Self { sink, lock, set }),
        }
    }

    /// The seed of the run.
    pub fn seed(&self) -> Seed {
        self.set.manifest.seed
    }

    /// Returns settings of this machine that still have a value of the killed run.
    ///
    /// # Errors
    /// When its devices cannot be held.
    pub fn values_left(&self) -> Result<Vec<String>, RunError> {
        Ok(Cleaning::of(&self.set, host::RealMachine::after_another())?.values_left())
    }

    /// The run's tag.
    pub fn run_tag(&self) -> &str {
        &self.set.manifest.run_id
    }

    /// Returns how many cells have not ended well and are needed.
    pub fn left(&self) -> usize {
        self.set.cells.len() - self.skipped() - self.kept().iter().filter(|kept| **kept).count()
    }

    /// Returns how many cells were not needed; cells that there was no time for count as left.
    pub fn skipped(&self) -> usize {
        let stopped = self.set.manifest.stopped;
        if stopped.is_some_and(|stopped| stopped.why == StopReason::Time) {
            return 0;
        }
        let skipped = |cell: &&CellData| cell.state() == CellState::Skipped;
        self.set.cells.iter().filter(skipped).count()
    }

    /// Tells whether `plan`, made with the seed and the tag of this run, is its plan, and whether the machine is the same.
    pub fn check(&self, plan: &Plan, start: &Start) -> Result<(), ResumeError> {
        let manifest = &self.set.manifest;
        let old = &manifest.plan;
        let variants = |facts: &results::model::PlanFacts| {
            facts.variants.iter().map(|v| v.name.clone()).collect::<Vec<_>>().join("; ")
        };
        let scale = |scale: &Option<String>| scale.clone().unwrap_or_else(|| "none".into());
        let text = |same: bool| if same { "this file" } else { "another one" }.to_owned();
        let kept = self.set.experiment_toml.as_deref();
        let same_text = kept.map(of_before).as_deref() == Some(&*of_before(&start.experiment_text));
        self.same("the experiment file", text(same_text), text(true))?;
        self.same("the seed", manifest.seed.to_string(), plan.seed.to_string())?;
        // The time limit of a run with as many repeats as needed may differ: each command sets its own.
        let (before, now) = (old.repeats_at_most(), plan.facts.repeats_at_most());
        self.same("the number of repeats", before, now)?;
        self.same("the scale", scale(&old.scale), scale(&plan.facts.scale))?;
        self.same("the list of variants", variants(old), variants(&plan.facts))?;
        self.same("the place", place(manifest), place_of(start))?;
        for (key, what) in MACHINE {
            self.same(what, fact(&manifest.host, key), fact(&start.host, key))?;
        }
        self.same_devices(start)?;
        // The plan is written and read back, as the manifest was, since numbers may lose their last digit on the way.
        let json = serde_json::to_string(plan).unwrap_or_default();
        let same_plan = serde_json::from_str(&json).is_ok_and(|plan: serde_json::Value| {
            comparable(plan) == comparable(renamed(&manifest.plan_document))
        });
        let now = format!("that of fathom {}", start.tool_version);
        let was = if same_plan {
            now.clone()
        } else {
            format!("another one, of fathom {}", manifest.tool_version)
        };
        self.same("the plan", was, now)
    }

    /// Refuses devices that are not those that the run began on.
    fn same_devices(&self, start: &Start) -> Result<(), ResumeError> {
        match other_device(&self.set.manifest.devices, &start.devices) {
            None => Ok(()),
            Some((role, why)) => Err(ResumeError::Device { dir: self.set.path.clone(), role, why }),
        }
    }

    /// Returns the roles for which the result does not tell the device that the run began on, so that nobody can check that it is the same.
    pub fn uncompared(&self, start: &Start) -> Vec<String> {
        let known = |role: &String| self.set.manifest.devices.get(role).and_then(identity);
        start.devices.keys().filter(|role| known(role).is_none()).cloned().collect()
    }

    fn same(&self, what: &'static str, was: String, now: String) -> Result<(), ResumeError> {
        if was == now {
            return Ok(());
        }
        Err(ResumeError::Differs { dir: self.set.path.clone(), what, was, now })
    }

    /// Tells for each cell whether it ended well and its files are complete.
    fn kept(&self) -> Vec<bool> {
        self.set.cells.iter().map(CellData::is_whole).collect()
    }

    pub(crate) fn into_parts(self) -> (DirSink, Option<RunLock>, Manifest, Vec<bool>) {
        let kept = self.kept();
        (self.sink, self.lock, self.set.manifest, kept)
    }
}

/// Facts of the machine that must be the same in results that are compared: the fact's key and its name in words.
const MACHINE: [(&str, &str); 2] = [("cpu", "the CPU"), ("kernel", "the kernel")];

fn fact(facts: &MachineFacts, key: &str) -> String {
    facts.0.get(key).cloned().unwrap_or_else(|| "unknown".into())
}

/// Returns in words what differs between `later` and `first`: the place, the machine that the program was started on, or a device. `None` where
/// nothing differs, as far as both results tell it.
pub fn other_machine(first: &Manifest, later: &Manifest) -> Option<String> {
    let differs = |what: &str, was: String, is: String| {
        (was != is).then(|| format!("{what} was '{was}' and is '{is}'"))
    };
    let of =
        |(key, what): (&str, &str)| differs(what, fact(&first.host, key), fact(&later.host, key));
    differs("the place", place(first), place(later))
        .or_else(|| MACHINE.into_iter().find_map(of))
        .or_else(|| {
            let (role, why) = other_device(&first.devices, &later.devices)?;
            Some(format!("device '{role}' is another one: {why}"))
        })
}

/// The first role with another device than before, and how the two differ.
fn other_device(
    before: &BTreeMap<String, DeviceFacts>,
    now: &BTreeMap<String, DeviceFacts>,
) -> Option<(String, String)> {
    before.iter().find_map(|(role, was)| {
        let (known, now) = identity(was).zip(now.get(role))?;
        let why = match identity(now) {
            Some(found) if was.bytes == now.bytes => known.difference(&found),
            found => {
                let found = found.map_or_else(|| "something".to_owned(), |found| found.to_string());
                let [was, now] = [was.bytes, now.bytes].map(|bytes| format!("{bytes} bytes"));
                Some(format!("it was {known} with {was}, and is {found} with {now}"))
            }
        };
        Some((role.clone(), why?))
    })
}

/// Returns the text of an experiment with the settings of the command line in the table that earlier versions wrote.
fn of_before(text: &str) -> String {
    text.replace("\n# Given on the command line:\n[given]\n", "\n[set]\n")
}

/// Returns the identity of a device in a result; `None` where another version stored it in another form.
pub(crate) fn identity(facts: &DeviceFacts) -> Option<Identity> {
    serde_json::from_value(facts.identity.clone()).ok()
}

/// Returns the document of a plan with corpora under their present name; earlier versions called them trees.
fn renamed(plan: &serde_json::Value) -> serde_json::Value {
    let text = plan.to_string().replace("\"trees\":", "\"corpora\":").replace("{tree.", "{corpus.");
    serde_json::from_str(&text).unwrap_or_default()
}

/// Returns the document of a plan without the time limit of a run with as many repeats as needed, and without the traits of stages, which
/// follow from their kinds and which earlier versions did not write.
fn comparable(mut plan: serde_json::Value) -> serde_json::Value {
    if let Some(time) = plan.pointer_mut("/facts/sequential/time") {
        *time = serde_json::Value::Null;
    }
    // Earlier versions did not store which variant comes first in the file.
    if let Some(facts) = plan.pointer_mut("/facts").and_then(serde_json::Value::as_object_mut) {
        facts.remove("first_left_out");
    }
    drop_traits(&mut plan);
    plan
}

/// Removes the traits from each list of stages, but not from other objects that may have a key of that name.
fn drop_traits(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(entries) => {
            if let Some(serde_json::Value::Array(stages)) = entries.get_mut("stages") {
                for stage in stages.iter_mut().filter_map(serde_json::Value::as_object_mut) {
                    stage.remove("traits");
                }
            }
            entries.values_mut().for_each(drop_traits);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(drop_traits),
        _ => {}
    }
}

fn place(manifest: &Manifest) -> String {
    named(manifest.simulated, manifest.accelerator)
}

fn place_of(start: &Start) -> String {
    named(start.simulated, start.accelerator)
}

fn named(simulated: bool, accelerator: Accelerator) -> String {
    match (simulated, accelerator) {
        (true, _) => "a simulation",
        (false, Accelerator::None) => "this machine",
        (false, Accelerator::Kvm) => "the lab with KVM",
        (false, Accelerator::Tcg) => "the lab with TCG",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_before_traits_is_the_same_plan() {
        let plan =
            |stage: serde_json::Value| serde_json::json!({ "cells": [{ "stages": [stage] }] });
        let now = plan(serde_json::json!({ "kind": "load", "traits": { "data": "load" } }));
        let before = plan(serde_json::json!({ "kind": "load" }));
        assert_ne!(now, before);
        assert_eq!(comparable(now), comparable(before));
    }
}
