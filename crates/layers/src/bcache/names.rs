//! Names of the layer, of its inputs and of its parsers, and the places of its attributes.

use crate::layer::Place;

/// Its word in an experiment.
pub(super) const NAME: &str = "bcache";
/// Parser of what stands on the origin: the name that the kernel gave to the cached device.
pub(super) const DEVICE: &str = "bcache.device";
/// Parser of an attribute with one value, a word or a number.
pub(super) const VALUE: &str = "bcache.value";
/// Parser of the directory of bcache's own counts.
pub(super) const STATS: &str = "bcache.stats";
/// Parser of what the buckets of the cache hold.
pub(super) const BUCKETS: &str = "bcache.buckets";
/// Parser of block statistics: of the cached device, and of the two that it stands on.
pub(super) const LEGS: &str = "bcache.legs";

/// The input with the data.
pub(super) const ORIGIN: &str = "origin";
/// The input with the cache.
pub(super) const CACHE: &str = "cache";
/// The cached device among the block statistics.
pub(super) const WHOLE: &str = "whole";

/// Attributes of the cache set, which is known by its UUID.
pub(super) fn set(at: &Place) -> String {
    format!("/sys/fs/bcache/{}", at.uuid_text())
}

/// Attributes of the cached device, whose name a step has bound.
pub(super) fn device(at: &Place) -> String {
    format!("/sys/block/{{{}.node}}/bcache", at.name)
}
