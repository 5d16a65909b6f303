//! Names of the layer, of its parts and of its parsers.

/// Its word in an experiment.
pub(super) const NAME: &str = "thin";
/// The input that the pool stands on.
pub(super) const DATA: &str = "data";
/// The figure of the bytes of the chunks in use.
pub(super) const POOL_USED: &str = "pool_used_bytes";
/// Parser of a pool's status line: chunks and blocks of metadata in use.
pub(super) const POOL: &str = "thin.pool";
/// Parser of a pool's table line: its settings as text, and the size of a chunk.
pub(super) const TABLE: &str = "thin.table";
/// Parser of a thin volume's status line: sectors that have a chunk.
pub(super) const VOLUME_STATUS: &str = "thin.volume";
/// Name of the thin volume in its group.
pub(super) const VOLUME: &str = "volume";
/// Name of the pool.
pub(super) const POOL_VOLUME: &str = "pool";
/// Name of the pool's node behind that of its group: lvm adds `-tpool` to the pool's name.
pub(super) const POOL_NODE: &str = "pool-tpool";
