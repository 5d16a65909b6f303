//! The content generator measured: speed beside plain stores and beside fio, asked beside achieved.

pub mod peer;
pub mod speed;
