//! Summaries, quantiles, bootstrap intervals, rank tests and verdicts.
#![forbid(unsafe_code)]
