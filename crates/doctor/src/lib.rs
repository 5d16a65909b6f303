//! Rules: facts of a result in, findings out.
#![forbid(unsafe_code)]
