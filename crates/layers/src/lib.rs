//! What a storage layer is, as data and pure functions: settings and their validity, the steps that raise
//! it and take it down, what to read and how to parse it, its figures, charts and needs, its simulated
//! twin. One folder per layer; adding a layer means adding a folder and one line of the registry. Nothing
//! here touches the machine.
#![forbid(unsafe_code)]

pub mod probe;
pub mod step;
