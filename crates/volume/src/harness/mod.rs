//! The crash harness: volumes on a device that forgets what was not flushed, thousands of power cuts, and checks of everything promised.

mod content;
mod device;
mod errors;
mod flips;
mod life;
mod oracle;
mod pins;
mod run;
mod tests;
