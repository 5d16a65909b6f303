//! Name of the layer.

/// Its word in an experiment.
pub(super) const NAME: &str = "raid1";
