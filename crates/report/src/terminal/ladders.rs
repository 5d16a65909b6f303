//! Latency by layer, on a terminal.

use super::ink::{Ink, Tint, wrapped};
use crate::view::View;

/// Returns a table for each ladder, headed by a sentence that names the layer that made the 99th percentile.
pub(super) fn tables(view: &View, width: usize, ink: &Ink) -> String {
    let mut out = String::new();
    for row in &view.ladders {
        out.push_str(&wrapped(&row.text, width, "    "));
        out.push('\n');
        for line in crate::ladder::lines(&row.stage_ladder.ladder) {
            out.push_str(&ink.paint(Tint::Dim, &format!("  {line}")));
            out.push('\n');
        }
        out.push('\n');
    }
    out
}
