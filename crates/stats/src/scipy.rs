//! Values that SciPy computed, as `tests/scipy/reference.py` wrote them.

/// The numbers on each line that begins with this name.
pub(crate) fn rows(name: &str) -> Vec<Vec<f64>> {
    let lines = include_str!("../tests/scipy/reference.txt").lines();
    let words = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let named = words.filter(|words| words[0] == name);
    let rows: Vec<Vec<f64>> =
        named.map(|words| words[1..].iter().map(|n| n.parse().unwrap()).collect()).collect();
    assert!(!rows.is_empty(), "{name}");
    rows
}
