//! What a storage layer is: settings, steps, probes, parsers, figures, as data and pure functions.
#![forbid(unsafe_code)]
