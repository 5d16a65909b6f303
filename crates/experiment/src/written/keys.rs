//! Keys that several parts of an experiment file have.

use units::{Key, key};

/// `[[variant]]`; of a scale `[scale.NAME.variant."V"]`.
pub(crate) const VARIANT: Key = key("variant", "tables: [[variant]]", "[{ name = \"plain\" }]");
/// `[scale.NAME]`.
pub(crate) const SCALE: Key = key(
    "scale",
    "tables, each under its name",
    "{ lab = { set = { \"vdo.slab_size\" = \"128M\" } } }",
);
/// `[given]`: the settings of the command line, which override `[set]`.
pub(crate) const GIVEN: Key =
    key("given", "values of keys, by \"NAME.key\"", "{ \"vdo.dedupe\" = false }");
/// `set` of a variant or stage.
pub(crate) const SET: Key =
    key("set", "values of keys, by \"NAME.key\"", "{ \"vdo.dedupe\" = false }");
