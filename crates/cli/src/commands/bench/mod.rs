//! `fathom bench ...`: Fathom measured.

mod engine;
pub mod in_guest;
mod in_lab;
mod lab;
mod table;

pub use engine::engine;
pub use lab::lab;
