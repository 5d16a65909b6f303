//! The content generator measured: speed beside plain stores and beside fio, asked beside achieved, and what dm-vdo stores of it.

pub mod accuracy;
pub mod goals;
pub mod grid;
pub mod peer;
pub mod speed;
pub mod vdo;
