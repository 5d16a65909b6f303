//! The rules common to all layers.

pub(crate) mod cells;
pub(crate) mod content;
pub(crate) mod course;
pub(crate) mod cpu;
pub(crate) mod figures;
pub(crate) mod imported;
pub(crate) mod jobs;
pub(crate) mod load;
pub(crate) mod repeats;
pub(crate) mod run;
pub(crate) mod sampling;
pub(crate) mod verify;
