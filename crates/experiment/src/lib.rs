//! The experiment file, its variants and stages, and the Plan they become.
#![forbid(unsafe_code)]
