//! A result as a page, on a terminal, as JSON, CSV or Markdown.
//!
//! [`view::view`] makes the whole content of a report from a result, its analysis and its findings;
//! [`html::page`], [`terminal::text`], [`json::json`], [`csv::csv`] and [`markdown::result`] render that and nothing else, so they
//! cannot disagree. Nothing here needs devices, privileges or a network.
#![forbid(unsafe_code)]

pub mod across;
pub mod bisected;
pub mod counters;
pub mod csv;
mod drawing;
pub mod html;
pub mod json;
pub mod ladder;
pub mod markdown;
pub mod sources;
pub mod terminal;
pub mod view;
mod wording;

pub use wording::so_many_would_decide;
