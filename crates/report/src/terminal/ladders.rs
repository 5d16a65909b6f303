//! Latency by layer, on a terminal.

use super::ink::{Ink, Tint, wrapped};
use crate::view::View;

/// A table for each ladder, with the sentence of which layer made the 99th percentile over it.
pub(super) fn tables(view: &View, width: usize, ink: &Ink) -> String {
    let mut out = String::new();
    for row in &view.ladders {
        out.push_str(&wrapped(&row.text, width, "    "));
        out.push('\n');
        for line in crate::ladder::lines(&row.of.ladder) {
            out.push_str(&ink.paint(Tint::Dim, &format!("  {line}")));
            out.push('\n');
        }
        out.push('\n');
    }
    out
}
