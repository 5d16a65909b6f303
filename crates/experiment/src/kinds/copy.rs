//! `do = "copy"`: the blocks of a device, in order, to the top of the stack.

use results::model::StageData;
use toml::Spanned;
use units::{Bytes, Key, key};
use workload::LoadSpec;

use crate::kinds::targets;
use crate::planned::devices::Devices;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use plan::{Aim, CopyPlan, StagePlan, Task};

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts {
        instead: Some("a load"),
        ..KindFacts::new("copy", "A copy", WorksOn::One, StageData::Foreign)
    },
    read: |table, _| Ok(Box::new(CopyStage::read(table)?)),
};

/// Bytes of a block: offsets and sizes of a copy are multiples of this.
const BLOCK: u64 = 4096;
/// Default size of one write.
const USUAL_WRITE: Bytes = Bytes(64 << 10);

const FROM: Key = key("from", "the role of a device with a file", "\"corpus\"");
const FROM_OFFSET: Key = size("from_offset", "\"1G\"");
const SIZE: Key = size("size", "\"10G\"");
const OFFSET: Key = size("offset", "\"1G\"");
const BLOCK_SIZE: Key = size("block_size", "\"64k\"");

const fn size(name: &'static str, example: &'static str) -> Key {
    Key { name, takes: "a size that is a multiple of 4k", example }
}

/// A copy as written.
#[derive(Debug, Clone, PartialEq)]
struct CopyStage {
    /// Role of the device that is read.
    from: String,
    /// Offset on that device at which the copy begins, bytes.
    from_offset: Bytes,
    /// Number of bytes to copy; to the end when it is not given.
    size: Option<Bytes>,
    /// Offset on the target at which the copy begins, bytes.
    offset: Bytes,
    /// Bytes of one write.
    block_size: Bytes,
}

impl CopyStage {
    /// Reads the keys that are left.
    fn read(mut table: Table) -> Result<Self, Diagnostic> {
        let from = table.need::<String>(&FROM)?.into_inner();
        let mut blocks = |key: &Key| -> Result<Option<Bytes>, Diagnostic> {
            let Some(size) = table.take::<Bytes>(key)? else { return Ok(None) };
            whole_blocks(key, &size)?;
            Ok(Some(size.into_inner()))
        };
        let copy = Self {
            from,
            from_offset: blocks(&FROM_OFFSET)?.unwrap_or_default(),
            size: blocks(&SIZE)?,
            offset: blocks(&OFFSET)?.unwrap_or_default(),
            block_size: blocks(&BLOCK_SIZE)?.unwrap_or(USUAL_WRITE),
        };
        table.finish()?;
        Ok(copy)
    }

    /// Returns the target of the blocks, as a load would write them, and their source.
    fn on_stack(
        &self,
        devices: &Devices,
        stage: &StageHead,
    ) -> Result<(LoadSpec, CopyPlan), Diagnostic> {
        let mistake = |key: &str, message: String, help: String| {
            Diagnostic::at(stage.places.at(key), message, help)
        };
        let Some(image) = devices.images.get(&self.from) else {
            let roles = devices.images.keys().cloned().collect::<Vec<_>>().join(", ");
            let help = if roles.is_empty() {
                format!("add [devices.{}] with file = \"...\"", self.from)
            } else {
                format!("there are: {roles}")
            };
            let message = format!("'{}' is not a device with a file to copy from", self.from);
            let known: Vec<&str> = devices.images.keys().map(String::as_str).collect();
            return Err(mistake("from", message, help).near(&self.from, known));
        };
        let there = Bytes(image.size.0.saturating_sub(self.from_offset.0));
        let bytes = self.size.unwrap_or(there);
        if bytes.0 == 0 || bytes > there {
            let message = format!(
                "{} has {} from byte {} on, and {bytes} are to be copied",
                image.path.display(),
                there,
                self.from_offset.0
            );
            let help = "copy less, or leave size out to copy all that is there".to_owned();
            return Err(mistake("from", message, help).if_rest_is_right());
        }
        let whole = bytes.0.is_multiple_of(self.block_size.0);
        let spec = LoadSpec {
            ops: workload::Ops::only(workload::OpName::Write),
            block_size: if whole { self.block_size } else { Bytes(BLOCK) }.into(),
            depth: 1,
            offset: Some(self.offset.into()),
            size: Some(bytes.into()),
            passes: Some(1),
            ..Default::default()
        };
        let plan = CopyPlan {
            role: self.from.clone(),
            from: format!("{{device.{}}}", self.from),
            offset: self.from_offset,
            bytes,
            block: self.block_size,
            to: self.offset,
        };
        Ok((spec, plan))
    }
}

impl StageTask for CopyStage {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let (spec, from) = self.on_stack(on.devices, stage)?;
        let target = targets::block(stage, &on.stack)?;
        let written = stage.driving(&spec, vec![Aim::alone(target)])?;
        Ok(vec![StagePlan { task: Task::Copy(from), ios: None, aims: Vec::new(), ..written }])
    }

    fn copies_from(&self) -> Option<&str> {
        Some(&self.from)
    }
}

fn whole_blocks(key: &Key, size: &Spanned<Bytes>) -> Result<(), Diagnostic> {
    let value = *size.get_ref();
    let none = value.0 == 0 && !key.name.ends_with("offset");
    if !none && value.0.is_multiple_of(BLOCK) {
        return Ok(());
    }
    let message =
        format!("{} of a copy is {}, which is not a multiple of 4 KiB", key.name, value.exact());
    Err(Diagnostic::of_key(size.span(), message, key))
}
