//! `fathom bench ...`: Fathom measured.

mod engine;
mod lab;

pub use engine::engine;
pub use lab::lab;
