//! The one room that touches the machine: claims, steps and their undo, probes at a cadence.
#![forbid(unsafe_code)]
