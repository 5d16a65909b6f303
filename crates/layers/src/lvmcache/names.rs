//! Names of the layer, of its parts and of its parser.

/// Its word in an experiment.
pub(super) const NAME: &str = "lvmcache";
/// Parser of a dm-cache status line: counts of hits, misses, promotions, demotions, used and dirty blocks.
pub(super) const STATUS: &str = "cache.status";

/// The input with the data.
pub(super) const ORIGIN: &str = "origin";
/// The input with the cache.
pub(super) const CACHE: &str = "cache";
/// Name of the cached volume in its group.
pub(super) const VOLUME: &str = "main";
/// Name of the volume with the cached blocks and their metadata.
pub(super) const FAST: &str = "fast";
