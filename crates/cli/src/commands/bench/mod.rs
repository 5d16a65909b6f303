//! `fathom bench ...`: Fathom measured.

mod engine;
mod lab;
mod table;

pub use engine::engine;
pub use lab::lab;
