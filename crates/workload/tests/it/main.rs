//! Loads as people write them, and what their jobs then do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(test)]
mod loads;
#[cfg(test)]
mod options;
#[cfg(test)]
mod passes;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
