//! Names of the layer and its parser.

/// Its word in an experiment.
pub(super) const NAME: &str = "crypt";
/// Parser of a dm-crypt table line: the settings, as text.
pub(super) const TABLE: &str = "crypt.table";
