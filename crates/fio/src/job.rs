//! One job as it was understood: the settings of a load that its options mean.

use crate::value::Size;

/// The way in which a setting is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A text, or a number with a unit.
    Text,
    /// A plain number.
    Number,
    /// Operations with shares.
    Ops,
    /// Keys of single operations.
    Each,
    /// `direct = false`, which is `--buffered` among options.
    Buffered,
    /// A key of `content`.
    Content,
}

/// A setting of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its key in an experiment; with dashes the option of `fathom load`.
    pub key: &'static str,
    /// Its value as an option takes it.
    pub value: String,
    /// The way in which it is written.
    pub shape: Shape,
}

/// A job as it was understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Job {
    /// Settings that do not depend on the number of jobs.
    pub settings: Vec<Setting>,
    /// Jobs of fio's.
    pub jobs: u64,
    /// The files or devices that it names; none where fio makes up the name of each.
    pub named: Vec<String>,
    /// The folder of names that fio makes up.
    pub folder: Option<String>,
    /// Tells whether no device is driven (`ioengine=null`).
    pub null: bool,
    /// The part of each file that is used.
    pub size: Option<Size>,
    /// Bytes of each file, where they are known.
    pub file: Option<u64>,
    /// Bytes that one job moves in a loop, where that is less than its files hold.
    pub part: Option<u64>,
    /// Bytes that one job moves, where that ends it.
    pub bytes: Option<u64>,
    /// I/Os that one job does, where that ends it.
    pub ios: Option<u64>,
    /// I/Os per second of one job, or bytes per second.
    pub rate: Option<(u64, bool)>,
    /// Tells whether the rate is one of an open loop.
    pub open: bool,
    /// Tells whether it reads, and whether it writes.
    pub reads: bool,
    pub writes: bool,
    /// The content of files that it reads, and that are written first.
    pub laid_out: Vec<Setting>,
    /// Sentences on options that change nothing.
    pub notes: Vec<String>,
    /// Sentences on what fio really does, where that differs from its options or from Fathom.
    pub in_fio: Vec<String>,
}

impl Job {
    /// Adds a setting.
    pub(crate) fn set(&mut self, key: &'static str, value: impl Into<String>, shape: Shape) {
        self.settings.push(Setting { key, value: value.into(), shape });
    }

    /// Tells whether it visits each block once in a pass.
    pub(crate) fn makes_passes(&self) -> bool {
        let patterns = self.settings.iter().filter(|one| ["pattern", "each"].contains(&one.key));
        let mut all = patterns.flat_map(|one| one.value.split(';'));
        all.all(|one| one.ends_with("permutation") || one.contains("block_size="))
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, key: &'static str, value: impl Into<String>) {
        self.set(key, value, Shape::Text);
    }

    /// Adds a key of content.
    pub(crate) fn content(&mut self, key: &'static str, value: impl Into<String>) {
        self.set(key, value, Shape::Content);
    }
}
