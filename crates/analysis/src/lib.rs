//! Figures per variant and comparisons between variants.
#![forbid(unsafe_code)]
