//! Names of the layer, of its parts and of its parsers.

/// Its word in an experiment.
pub(super) const NAME: &str = "vdo";
/// Parser of the statistics message: every field, nested names joined with dots.
pub(super) const STATS: &str = "vdo.stats";
/// Parser of the status line: texts `mode`, `recovery`, `index`, `compression`; numbers `used_blocks`, `total_blocks`.
pub(super) const STATUS: &str = "vdo.status";
/// Parser of the configuration message: every field as text.
pub(super) const CONFIG: &str = "vdo.config";
/// Parser of the statistics message that gives the instance's number only, as text `instance`.
pub(super) const INSTANCE: &str = "vdo.instance";

/// Parser of vdostats' output about a volume, as a table or a list: those fields of the statistics message that the output has.
pub(super) const REPORT: &str = "vdo.report";
/// Parser of the line of its table: each setting in it as text, by its name in an experiment.
pub(super) const TABLE: &str = "vdo.table";

/// The input that holds data and metadata.
pub(super) const DATA: &str = "data";
/// The input that holds the end of the pool.
pub(super) const TAIL: &str = "tail";
/// Name of the volume after the layer's own name, whichever way it is made.
pub(super) const VOLUME: &str = "volume";

/// Node of the vdo target itself.
pub(super) const LVM_POOL_NODE: &str = "pool-vpool";
/// Node of the pool's data device.
pub(super) const LVM_DATA_NODE: &str = "pool_vdata";
/// Node under the volume: the part of the device that the volume uses, and the tail after it.
pub(super) const TABLE_DATA_NODE: &str = "data";
