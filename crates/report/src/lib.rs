//! A result as a page, on a terminal, or as JSON.
#![forbid(unsafe_code)]
