//! The order of findings.

use std::cmp::Reverse;

use results::model::Finding;

/// Sorts findings: worst first, bottlenecks by how much they explain.
pub(crate) fn sort(findings: &mut [Finding]) {
    let explained = |finding: &Finding| finding.explains_percent.unwrap_or(-1.0);
    findings.sort_by(|a, b| {
        let severity = Reverse(a.severity).cmp(&Reverse(b.severity));
        severity.then(explained(b).total_cmp(&explained(a)))
    });
}
