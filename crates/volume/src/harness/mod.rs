//! The crash harness: volumes on a device that forgets, thousands of power cuts, and everything held against what was promised.

mod content;
mod device;
mod errors;
mod flips;
mod life;
mod oracle;
mod pins;
mod run;
mod tests;
