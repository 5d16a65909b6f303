//! The plan made of what is written: devices, graphs of layers, order, estimates, explanations.

pub(crate) mod alike;
pub(crate) mod compose;
pub(crate) mod devices;
pub(crate) mod estimate;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod kernels;
pub(crate) mod order;
