//! For tests: the chi-squared test of draws against their distribution.

/// Chi-square of `counts` against `chances` (which need not sum to 1); cells with fewer than 10 expected are joined with
/// the next. Fails above the 99.999th percentile (Wilson and Hilferty's approximation).
pub(crate) fn holds(counts: &[u64], chances: &[f64], what: &str) {
    let (drawn, whole) = (counts.iter().sum::<u64>() as f64, chances.iter().sum::<f64>());
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    for (&count, &chance) in counts.iter().zip(chances) {
        open = (open.0 + count as f64, open.1 + chance / whole * drawn);
        if open.1 >= 10.0 {
            cells.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = cells.last_mut() {
        *last = (last.0 + open.0, last.1 + open.1);
    }
    assert!(cells.len() > 1, "{what}: too few cells");
    let chi: f64 = cells.iter().map(|(found, wanted)| (found - wanted).powi(2) / wanted).sum();
    let freedom = (cells.len() - 1) as f64;
    let h = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - h + 4.265 * h.sqrt()).powi(3);
    assert!(
        chi < limit,
        "{what}: chi-square {chi:.1} with {freedom} degrees of freedom, limit {limit:.1}"
    );
}
