//! Measurements of the content generator: its speed compared with plain stores and with fio, asked and achieved content, and the part that dm-vdo
//! stores.

pub mod accuracy;
pub mod goals;
pub mod grid;
pub mod peer;
pub mod speed;
pub mod vdo;
