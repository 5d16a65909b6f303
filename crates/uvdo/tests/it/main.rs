//! A served volume, as clients see it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod clients;
mod fairness;
mod protocol;
mod served;
mod stopping;
mod wire;
