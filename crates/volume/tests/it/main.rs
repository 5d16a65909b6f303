//! Tests of the crate from outside.

mod load;
mod model_time;
mod shapes;
mod structure;
