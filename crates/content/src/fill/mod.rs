//! Incompressible bytes from a content id: the *AES fan*.
//!
//! Four AES rounds turn the id into a 128-bit root. Counters go from there in steps of an odd constant; two rounds make a stem of each,
//! and eight lanes of 16 bytes grow from the stem in two chains of rounds, encryption and *decryption* in turn: 1.25 rounds for 16
//! bytes, where a plain counter needs four to look random. All paths make the same bytes, and each lane can be inverted to the id
//! (`identity.rs`), so that a block names its content.

#[cfg(target_arch = "x86_64")]
mod aesni;
mod block_check;
#[cfg(target_arch = "x86_64")]
mod driver;
#[cfg(target_arch = "x86_64")]
mod entry;
mod fan;
mod generator;
mod grow;
pub(crate) mod invert;
mod layout;
pub(crate) mod portable;
mod root;
mod run;
#[cfg(test)]
mod tests;
mod text;
#[cfg(target_arch = "x86_64")]
mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes512;

pub use block_check::BlockCheck;
pub use generator::{Generator, Mismatch, Path};
pub use layout::BlockLayout;
pub use root::Root;
pub(crate) use text::Text;
