//! Tests of the crate from outside.
#![allow(clippy::unwrap_used)]

mod index;
mod load;
mod model_time;
mod requests;
mod shapes;
mod structure;
