//! `do = "age"`: a file system is aged on purpose, and measured before and after.

use results::model::StageData;
use units::{Bytes, Key, Nanos, Percent};
use workload::{LoadSpec, OpName, Ops};

use crate::kinds::layout::folder;
use crate::kinds::targets;
use crate::planned::estimate;
use crate::stages::{Around, KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};
use crate::written::load;
use plan::{AgeingPlan, StagePlan, Task};

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts::new("age", "An ageing", WorksOn::One, StageData::Unknown),
    read: |table, around| Ok(Box::new(Ageing::read(table, around)?)),
};

const FILES: Key = Key { name: "files", takes: "how many, from 1 to 100000", example: "200" };
const APPEND: Key =
    Key { name: "append", takes: "bytes that a file grows by in a round", example: "\"16k\"" };
const ROUNDS: Key = Key { name: "rounds", takes: "how many, from 1 to 10000", example: "40" };
const RUNS: Key = Key {
    name: "runs_per_file",
    takes: "the mean number of runs per file, above 1, at which rounds end",
    example: "30",
};
const BYTES: Key =
    Key { name: "bytes", takes: "bytes written after which rounds end", example: "\"1G\"" };
const DURATION: Key =
    Key { name: "duration", takes: "the time after which rounds end", example: "\"60s\"" };
const THIN_OUT: Key = Key { name: "thin_out", takes: "true or false", example: "false" };
const FILL: Key = Key {
    name: "fill",
    takes: "how full the file system is at the end, from 1 % to 99 %",
    example: "\"95%\"",
};
const FILL_FILE: Key = Key {
    name: "fill_file",
    takes: "the size of a file that fills it, 4 KiB or more",
    example: "\"16M\"",
};
const READ: Key =
    Key { name: "read", takes: "bytes of each kind of file that are read", example: "\"64M\"" };
const LEAST_FILLER: u64 = 4 << 10;
const MOST_FILES: u64 = 100_000;
const MOST_ROUNDS: u64 = 10_000;

/// An ageing as written.
#[derive(Clone)]
struct Ageing {
    plan: AgeingPlan,
}

impl Ageing {
    /// Reads the keys that are left.
    fn read(mut table: Table, around: &Around) -> Result<Self, Diagnostic> {
        let places = table.places();
        let number = |table: &mut Table, key: &Key, most: u64| {
            let number = table.need::<u64>(key)?;
            match (1..=most).contains(number.get_ref()) {
                true => Ok(number.into_inner()),
                false => {
                    let message = format!("{} cannot be {}", key.name, number.get_ref());
                    Err(Diagnostic::of_key(number.span(), message, key))
                }
            }
        };
        let size = |table: &mut Table, key: &Key, usual: u64| match table.take::<Bytes>(key)? {
            Some(size) if size.get_ref().0 == 0 => {
                let message = format!("{} cannot be 0", key.name);
                Err(Diagnostic::of_key(size.span(), message, key))
            }
            size => Ok(size.map_or(Bytes(usual), |size| size.into_inner())),
        };
        let files = number(&mut table, &FILES, MOST_FILES)?;
        let rounds = number(&mut table, &ROUNDS, MOST_ROUNDS)?;
        let append = size(&mut table, &APPEND, 16 << 10)?;
        let runs_per_file = over(&mut table, &RUNS, &1.0)?;
        let bytes = over(&mut table, &BYTES, &Bytes(0))?;
        let duration = over(&mut table, &DURATION, &Nanos(0))?;
        let thin_out = table.take::<bool>(&THIN_OUT)?.is_none_or(|wanted| wanted.into_inner());
        let fill = table.take::<Percent>(&FILL)?;
        if let Some(fill) = fill.as_ref().filter(|fill| !(1.0..=99.0).contains(&fill.get_ref().0)) {
            let message = format!("fill cannot be {}", fill.get_ref());
            return Err(Diagnostic::of_key(fill.span(), message, &FILL));
        }
        let fill_percent = fill.map(|fill| fill.into_inner().0);
        let fill_file = match table.take::<Bytes>(&FILL_FILE)? {
            Some(size) if fill_percent.is_none() || size.get_ref().0 < LEAST_FILLER => {
                let message = match fill_percent {
                    None => {
                        "fill_file sets the size of files for fill, which is not asked for".into()
                    }
                    Some(_) => format!("fill_file cannot be {}", size.get_ref()),
                };
                return Err(Diagnostic::of_key(size.span(), message, &FILL_FILE));
            }
            size => size.map_or(Bytes(16 << 20), |size| size.into_inner()),
        };
        let read = size(&mut table, &READ, 64 << 20)?;
        let content = content(table, &places, around)?;
        let folder = String::new();
        Ok(Self {
            plan: AgeingPlan {
                files,
                append,
                rounds,
                runs_per_file,
                bytes,
                duration,
                thin_out,
                fill_percent,
                fill_file,
                read,
                content,
                folder,
            },
        })
    }
}

/// Reads a value that has to be greater than `least`, and finite.
fn over<T>(table: &mut Table, key: &Key, least: &T) -> Result<Option<T>, Diagnostic>
where
    T: serde::de::DeserializeOwned + PartialOrd + std::fmt::Display,
{
    match table.take::<T>(key)? {
        Some(value) if !value.get_ref().gt(least) || value.get_ref().to_string() == "inf" => {
            let message = format!("{} cannot be {}", key.name, value.get_ref());
            Err(Diagnostic::of_key(value.span(), message, key))
        }
        value => Ok(value.map(|value| value.into_inner())),
    }
}

/// Reads the content, which loads have too.
fn content(
    table: Table,
    places: &Places,
    around: &Around,
) -> Result<content::ContentSpec, Diagnostic> {
    let mut load: LoadSpec = table.only(&["content"])?.read(LoadSpec::key)?;
    load.ops = Ops::only(OpName::Write);
    load.passes = Some(1);
    let load = load::checked(load, places, around.file)?;
    if load.content.scope == content::Scope::Live {
        let message = "content.scope = \"live\" needs addresses";
        let help = "leave it out: files of an ageing have no addresses";
        return Err(Diagnostic::at(places.at("content.scope"), message, help));
    }
    Ok(load.content)
}

/// Estimates how long it takes: the rounds, in which each file is opened and grows, and the filling and reading.
fn about(plan: &AgeingPlan, there: Bytes) -> Nanos {
    let opened = plan.files.saturating_mul(plan.all_rounds());
    let rounds = estimate::amount(opened, plan.grown_bytes());
    let rounds = plan.duration.into_iter().fold(rounds, Nanos::min);
    let filled = there.0 as f64 * plan.fill_percent.unwrap_or(0.0) / 100.0;
    let kinds = if plan.fill_percent.is_some() { 4 } else { 3 };
    let beside = plan.read.0.min(there.0).saturating_mul(kinds).saturating_add(filled as u64);
    Nanos(rounds.0.saturating_add(estimate::amount(0, Bytes(beside)).0))
}

impl StageTask for Ageing {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let target = targets::directory(stage, &on.stack)?;
        let plan = AgeingPlan { folder: folder(stage)?, ..self.plan.clone() };
        let (wanted, there) = (plan.grown_bytes(), Bytes(target.offer.bytes()));
        if wanted > there {
            let message =
                format!("{wanted} of files do not fit '{}', which has {there}", target.name);
            let help = "age fewer files, in fewer rounds, or with smaller appends";
            return Err(Diagnostic::at(stage.places.at("rounds"), message, help).if_rest_is_right());
        }
        let about = stage.deadline.into_iter().fold(about(&plan, there), Nanos::min);
        Ok(vec![StagePlan { about, ..stage.planned(Task::Age(Box::new(plan)), target) }])
    }

    fn is_ageing(&self) -> bool {
        true
    }
}
