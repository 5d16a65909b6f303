//! `do = "layout"`: files are made in a directory and written once, so that loads find data in them.

use results::model::StageData;
use toml::Spanned;
use units::{Bytes, Key, key};
use workload::{LoadSpec, OpName, Ops};

use crate::kinds::targets;
use crate::planned::graph::StackPlan;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use crate::written::load;
use crate::written::names;
use plan::{Aim, Files, StagePlan, Target};

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts::new("layout", "A layout", WorksOn::One, StageData::Load),
    read: |table, around| Ok(Box::new(Layout::read(table, around.file)?)),
};

const FILES: Key = key("files", "how many, from 1 to 1000", "4");
const SIZE: Key = key("size", "the size of each file", "\"256M\"");

/// Most files of a layout: each is open while a load drives it.
const MAX_FILES: u64 = 1000;
/// Default block size in which a file is written.
const USUAL_BLOCK: Bytes = Bytes(Bytes::MIB);
/// Smallest unit of direct I/O, bytes: offsets and sizes are multiples of it.
const SECTOR: u64 = 512;
/// The keys of a load that a layout has too.
const KEYS: [&str; 6] = ["block_size", "jobs", "depth", "content", "direct", "backend"];

/// A layout as written.
#[derive(Clone)]
struct Layout {
    files: u64,
    size: Bytes,
    /// Load that writes the files.
    load: LoadSpec,
}

impl Layout {
    /// Reads the keys that are left.
    fn read(mut table: Table, file: &str) -> Result<Self, Diagnostic> {
        let places = table.places();
        let files = table.take::<u64>(&FILES)?;
        if let Some(files) = files.as_ref().filter(|n| !(1..=MAX_FILES).contains(n.get_ref())) {
            let message = format!("A layout cannot have {} files", files.get_ref());
            return Err(Diagnostic::of_key(files.span(), message, &FILES));
        }
        let size = table.need::<Bytes>(&SIZE)?;
        if !size.get_ref().0.is_multiple_of(SECTOR) {
            let size_of = size.get_ref().exact();
            let message = format!("A file of {size_of} is not a whole number of sectors of 512 B");
            let help = "choose a multiple of 512 bytes, better of 4k";
            return Err(Diagnostic::at(size.span(), message, help));
        }
        let sized = table.has("block_size");
        let mut load: LoadSpec = table.only(&KEYS)?.read(LoadSpec::key)?;
        load.ops = Ops::only(OpName::Write);
        load.passes = Some(1);
        if !sized {
            load.block_size = USUAL_BLOCK.min(*size.get_ref()).into();
        }
        if size.get_ref().0 == 0 || !size.get_ref().0.is_multiple_of(load.largest_io().0.max(1)) {
            let message = format!(
                "A file of {} is not a whole number of blocks of {}",
                size.get_ref().exact(),
                load.largest_io().exact()
            );
            let help = "choose a size that is a multiple of block_size (1M unless said)";
            return Err(Diagnostic::at(size.span(), message, help));
        }
        let load = load::checked(load, &places, file)?;
        let files = files.map_or(1, Spanned::into_inner);
        Ok(Self { files, size: size.into_inner(), load })
    }

    /// The files in the directory of the stage.
    fn aim(&self, stage: &StageHead, stack: &StackPlan) -> Result<Aim, Diagnostic> {
        let target = targets::directory(stage, stack)?;
        let wanted = Bytes(self.size.0.saturating_mul(self.files));
        let there = Bytes(target.offer.bytes());
        if wanted > there {
            // Sizes that would look the same when rounded are shown exactly.
            let near = wanted.to_string() == there.to_string();
            let there = if near { there.exact() } else { there.to_string() };
            let (wanted, name) = (wanted.exact(), &target.name);
            let message = format!("{wanted} of files do not fit '{name}', which has {there}");
            let help = "lay out fewer or smaller files";
            return Err(Diagnostic::at(stage.places.at("size"), message, help).if_rest_is_right());
        }
        let folder = folder(stage)?;
        let files = Files { folder, first: 0, count: self.files, size: self.size, make: true };
        Ok(Aim { files: Some(files), ..Aim::alone(target) })
    }
}

impl StageTask for Layout {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let mut aim = self.aim(stage, &on.stack)?;
        let planned = stage.driving(&self.load, vec![aim.clone()])?;
        // From now on the files exist.
        aim.files.iter_mut().for_each(|files| files.make = false);
        on.layouts.insert(stage.name.clone(), aim);
        Ok(vec![planned])
    }

    fn load(&self) -> Option<&LoadSpec> {
        Some(&self.load)
    }

    fn loads_mut(&mut self) -> Vec<&mut LoadSpec> {
        vec![&mut self.load]
    }
}

/// The folder of the files of a stage, one for each name.
pub(crate) fn folder(stage: &StageHead) -> Result<String, Diagnostic> {
    let folder = names::as_file(&stage.name);
    if folder.len() <= names::LONGEST_FILE {
        return Ok(folder);
    }
    let message = format!("The name of '{}' is too long for a folder of its files", stage.name);
    let help = format!(
        "use letters, digits, '-' and '_': each byte of other characters counts three of {}",
        names::LONGEST_FILE
    );
    Err(Diagnostic::at(stage.places.at("name"), message, help))
}

/// One file of `size` in the folder of a stage, to be made.
pub(crate) fn one_file(stage: &StageHead, target: Target, size: Bytes) -> Result<Aim, Diagnostic> {
    let files = Files { folder: folder(stage)?, first: 0, count: 1, size, make: true };
    Ok(Aim { files: Some(files), ..Aim::alone(target) })
}
