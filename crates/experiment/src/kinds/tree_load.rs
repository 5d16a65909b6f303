//! `do = "tree"`: a load of a tree of files, in a separate directory on the target.

use std::path::Path;

use results::model::StageData;
use tree::{Distribution, Mix, Pick, Size, TreeSpec};
use units::{Key, Nanos, key};
use workload::{LoadSpec, OpName, Ops};

use crate::kinds::layout::folder;
use crate::kinds::targets;
use crate::planned::estimate::ASSUMED_IOPS;
use crate::stages::{Around, KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};
use crate::written::load;
use plan::{StagePlan, Task, TreePlan};

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts::new("tree", "A load of a tree", WorksOn::One, StageData::Unknown),
    read: |table, around| Ok(Box::new(Tree::read(table, around)?)),
};

const OPS: Key = key(
    "ops",
    "operations with weights in a text, or @ and a table of weights",
    "\"create=40,randread=40,delete=20\"",
);
const FILES: Key = key("files", "how many names there can be", "100000");
const LEVELS: Key = key("levels", "levels of directories, 0 to 8", "2");
const DIRS: Key = key("dirs", "directories in each", "10");
const FILE_SIZE: Key = key("file_size", "a size, a range, or lognormal:MEDIAN:SIGMA", "\"4k-64k\"");
const RECORD_SIZE: Key = Key { name: "record_size", ..FILE_SIZE };
const PICK: Key = key("pick", "\"any\" or \"live\"", "\"any\"");
const NAMES: Key = key("names", "a distribution of names", "\"zipf:1.1\"");
const FSYNC: Key = key("fsync", "a share in percent", "\"10%\"");
const FDATASYNC: Key = Key { name: "fdatasync", ..FSYNC };
const EQUILIBRIUM: Key = key("equilibrium", "true or false", "true");
/// The keys of a load that a load of a tree has too.
const KEYS: [&str; 5] = ["jobs", "content", "duration", "ios", "interval"];

/// A load of a tree as written.
#[derive(Clone)]
struct Tree {
    spec: TreeSpec,
    equilibrium: bool,
    /// The keys that it shares with other loads.
    load: LoadSpec,
}

impl Tree {
    /// Reads the keys that are left.
    fn read(mut table: Table, around: &Around) -> Result<Self, Diagnostic> {
        let places = table.places();
        let ops = weights(&mut table, around.file)?;
        let files = table.need::<u64>(&FILES)?.into_inner();
        let size = table.need::<Size>(&FILE_SIZE)?.into_inner();
        let levels = table.take::<u32>(&LEVELS)?.map_or(2, |levels| levels.into_inner());
        let dirs = table.take::<u32>(&DIRS)?.map_or(10, |dirs| dirs.into_inner());
        let record = table.take::<Size>(&RECORD_SIZE)?;
        let record = record.map_or(Size::Fixed(64 << 10), |record| record.into_inner());
        let pick = table.take::<Pick>(&PICK)?.map(|pick| pick.into_inner()).unwrap_or_default();
        let names = table.take::<Distribution>(&NAMES)?;
        let distribution = names.map_or(Distribution::Uniform, |names| names.into_inner());
        let mut share = |key: &Key| -> Result<f64, Diagnostic> {
            Ok(table.take::<units::Percent>(key)?.map_or(0.0, |share| share.into_inner().0))
        };
        let (fsync_percent, fdatasync_percent) = (share(&FSYNC)?, share(&FDATASYNC)?);
        let equilibrium =
            table.take::<bool>(&EQUILIBRIUM)?.is_some_and(|wanted| wanted.into_inner());
        let ends = equilibrium || ["duration", "ios"].iter().any(|key| table.has(key));
        if !ends {
            let help = "add duration = \"60s\", ios = 100000, or equilibrium = true";
            return Err(Diagnostic::at(table.at(), "A load of a tree has no end", help));
        }
        let mut load: LoadSpec = table.only(&KEYS)?.read(LoadSpec::key)?;
        load.ops = Ops::only(OpName::Write);
        load.passes = Some(1);
        let load = load::checked(load, &places, around.file)?;
        if load.content.scope == content::Scope::Live {
            let message = "content.scope = \"live\" needs addresses";
            let help = "leave it out: files of a tree have no addresses";
            return Err(Diagnostic::at(places.at("content.scope"), message, help));
        }
        let spec = TreeSpec {
            ops,
            files,
            levels,
            dirs,
            size,
            record,
            pick,
            distribution,
            workers: load.jobs,
            fsync_percent,
            fdatasync_percent,
        };
        spec.validate().map_err(|error| mistake(&error, &places))?;
        Ok(Self { spec, equilibrium, load })
    }
}

/// Reads the weights, or the table of weights, whose path is relative to the experiment's file.
fn weights(table: &mut Table, file: &str) -> Result<Mix, Diagnostic> {
    let at = table.places().at(OPS.name);
    let text = table.need::<String>(&OPS)?;
    let Some(name) = text.get_ref().strip_prefix('@') else {
        let read = text.get_ref().parse::<Mix>();
        return read.map_err(|error| Diagnostic::of_key(text.span(), error.to_string(), &OPS));
    };
    let path = Path::new(file).parent().unwrap_or(Path::new("")).join(name);
    let read = sys::input::read_text(&path, tree::LONGEST_TABLE).map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        Diagnostic::at(
            at.clone(),
            message,
            "name a table of operations and weights; its path is relative to the experiment's folder",
        )
    })?;
    Mix::from_table(&read).map_err(|error| {
        Diagnostic::at(at, format!("{}: {}", path.display(), error.message), error.help)
    })
}

fn mistake(error: &tree::TreeError, places: &Places) -> Diagnostic {
    let key = match error.key {
        "workers" => "jobs",
        "size" => "file_size",
        "distribution" => "names",
        "fsync_percent" => "fsync",
        key => key,
    };
    Diagnostic::at(places.at(key), error.message.clone(), error.help)
}

impl StageTask for Tree {
    fn operations(&self) -> Vec<String> {
        self.spec.operations().iter().map(ToString::to_string).collect()
    }

    fn is_of_tree(&self) -> bool {
        true
    }

    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let target = targets::directory(stage, &on.stack)?;
        let LoadSpec { content, duration, ios, interval, .. } = self.load.clone();
        let foretold = tree::Equilibrium::predict(&self.spec);
        let rest = foretold.population.ok().zip(foretold.bytes.ok());
        if let Some(never) = foretold.never().filter(|_| self.equilibrium) {
            let message = format!("This load of a tree never comes to rest: {}", never.why());
            return Err(Diagnostic::at(stage.places.at("equilibrium"), message, never.remedy()));
        }
        let rest = rest.filter(|_| self.equilibrium);
        let rest = rest.map(|(files, bytes)| files.operations().max(bytes.operations()));
        let operations = ios.into_iter().chain(rest).min();
        let takes = |n: u64| Nanos(n.saturating_mul(Nanos::PER_SECOND) / ASSUMED_IOPS);
        let about = operations
            .map(takes)
            .into_iter()
            .chain(duration)
            .chain(stage.deadline)
            .min()
            .unwrap_or_default();
        let task = Task::Tree(Box::new(TreePlan {
            spec: self.spec.clone(),
            content,
            duration,
            ios,
            equilibrium: self.equilibrium,
            interval,
            folder: folder(stage)?,
        }));
        Ok(vec![StagePlan { about, ..stage.planned(task, target) }])
    }
}
