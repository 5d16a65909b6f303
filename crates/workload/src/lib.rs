//! Operations, mixes, patterns and stop rules: what comes next.
#![forbid(unsafe_code)]
