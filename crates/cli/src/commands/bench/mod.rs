//! `fathom bench ...`: Fathom measured.

mod content;
mod engine;
pub mod in_guest;
mod in_lab;
mod lab;
mod table;

pub use content::content;
pub use engine::engine;
pub use lab::lab;
