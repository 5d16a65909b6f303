//! `do = "copy"`: the blocks of a device, in order, to the top of the stack.

use std::ops::Range;

use serde::Deserialize;
use toml::{Table, Value};
use units::Bytes;
use workload::LoadSpec;

use crate::devices::Devices;
use crate::diagnostic::{Diagnostic, key_span};
use crate::plan::CopyPlan;
use crate::stages::Stage;

/// What is copied is whole blocks of this.
const BLOCK: u64 = 4096;

/// A copy as written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Copy {
    /// Role of the device that is read.
    from: String,
    /// Where on it the copy begins.
    #[serde(default)]
    from_offset: Bytes,
    /// How much; to the end when it is not given.
    size: Option<Bytes>,
    /// Where on the target the copy begins.
    #[serde(default)]
    offset: Bytes,
    /// Bytes of one write.
    #[serde(default = "usual_block")]
    block_size: Bytes,
}

fn usual_block() -> Bytes {
    Bytes(64 << 10)
}

impl Copy {
    /// Reads the keys that are left.
    pub(crate) fn read(
        table: Table,
        measured: bool,
        span: &Range<usize>,
        text: &str,
    ) -> Result<Self, Diagnostic> {
        if measured {
            return Err(Diagnostic::at(
                key_span(text, span, "measure"),
                "A copy has no figures of its own, so it cannot be measured",
                "measure a load; settle = true reads all layers after the copy",
            ));
        }
        let copy = Self::deserialize(Value::Table(table)).map_err(|error| {
            let mut mistake = Diagnostic::from_toml(&error);
            let quoted = error.message().split('`').nth(1).unwrap_or_default().to_owned();
            mistake.span = Some(key_span(text, span, &quoted));
            mistake
        })?;
        let counts = [
            ("from_offset", copy.from_offset),
            ("size", copy.size.unwrap_or(Bytes(BLOCK))),
            ("offset", copy.offset),
            ("block_size", copy.block_size),
        ];
        for (key, value) in counts {
            let none = value.0 == 0 && !key.ends_with("offset");
            if none || !value.0.is_multiple_of(BLOCK) {
                return Err(Diagnostic::at(
                    key_span(text, span, key),
                    format!("{key} of a copy is {value}, which are no whole blocks of 4 KiB"),
                    "give a multiple of 4k",
                ));
            }
        }
        Ok(copy)
    }

    /// Where the blocks go, as a load would write them, and where they come from.
    pub(crate) fn plan(
        &self,
        devices: &Devices,
        stage: &Stage,
        text: &str,
    ) -> Result<(LoadSpec, CopyPlan), Diagnostic> {
        let mistake = |key: &str, message: String, help: String| {
            Diagnostic::at(key_span(text, &stage.span, key), message, help)
        };
        let Some(image) = devices.images.get(&self.from) else {
            let roles = devices.images.keys().cloned().collect::<Vec<_>>().join(", ");
            let help = if roles.is_empty() {
                format!("add [devices.{}] with file = \"...\"", self.from)
            } else {
                format!("there are: {roles}")
            };
            let message = format!("'{}' is no device with a file to copy from", self.from);
            return Err(mistake("from", message, help));
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
            let help = "copy less, or leave size away for all that is there".to_owned();
            return Err(mistake("from", message, help));
        }
        let whole = bytes.0.is_multiple_of(self.block_size.0);
        let spec = LoadSpec {
            ops: workload::Ops::only(workload::OpName::Write),
            block_size: if whole { self.block_size } else { Bytes(BLOCK) }.into(),
            depth: 1,
            offset: Some(self.offset),
            size: Some(bytes),
            passes: Some(1),
            ..Default::default()
        };
        let plan = CopyPlan {
            role: self.from.clone(),
            from: format!("{{device.{}}}", self.from),
            offset: self.from_offset,
            bytes,
            block: self.block_size,
        };
        Ok((spec, plan))
    }
}
