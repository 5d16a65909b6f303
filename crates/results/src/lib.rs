//! The data model of a result, writing it safely and reading it for ever.
#![forbid(unsafe_code)]
