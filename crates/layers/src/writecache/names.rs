//! Names of the layer, of its parsers and of its probes.

/// Its word in an experiment.
pub(super) const NAME: &str = "writecache";
/// Parser of a dm-writecache status line: blocks, and counts of reads, writes and hits.
pub(super) const STATUS: &str = "writecache.status";
/// Parser of a dm-writecache table line: the settings, as text, and the size of a block.
pub(super) const TABLE: &str = "writecache.table";
