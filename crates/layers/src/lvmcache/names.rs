//! Names of the layer and of its parser.

/// Its word in an experiment.
pub(super) const NAME: &str = "lvmcache";
/// Parser of a dm-cache status line: counts of hits, misses, promotions, demotions, used and dirty blocks; its settings as text.
pub(super) const STATUS: &str = "cache.status";
