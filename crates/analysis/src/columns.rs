//! Reads series that were measured elsewhere: text in columns, where the first column is a label or date and each other one a series, oldest first.

/// The most bad lines that an error lists.
const NAMED: usize = 5;
/// Words that stand for a missing value.
const MISSING: [&str; 6] = ["", "na", "n/a", "nan", "null", "-"];

/// The content of a text in columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Name of the first column; `None` where the text has no header, or only one column.
    pub label: Option<String>,
    /// Every other column, or the only one.
    pub series: Vec<Series>,
    /// Tells whether the labels (numbers or dates) decrease from line to line, so that the newest comes first.
    pub falls: bool,
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The header of its column, else `column 2`.
    pub name: String,
    /// Its values, in the order of the lines.
    pub points: Vec<Point>,
    /// Numbers of the lines where its value is missing.
    pub missing: Vec<usize>,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The text of the first column, else `line 7`.
    pub label: String,
    /// Number of its line, from 1.
    pub line: usize,
    /// The value, finite.
    pub value: f64,
}

/// The reason why a text has no series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// It holds NUL bytes.
    #[error("it is not text")]
    NoText,
    /// It has no lines, or only a header.
    #[error("it holds no values")]
    Empty,
    /// A quoted value has no closing quote.
    #[error("line {0}: a quote is opened and never closed")]
    Unclosed(usize),
    /// Lines that cannot be read.
    #[error("{}", list_lines(.0))]
    Lines(Vec<String>),
}

fn list_lines(bad: &[String]) -> String {
    let more = bad.len().saturating_sub(NAMED);
    let named = bad.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    if more == 0 { named } else { format!("{named}; and {more} more lines") }
}

/// A line with its number; a quoted value may make several lines one.
type Row = (usize, Vec<String>);

/// Reads series from CSV (RFC 4180). The separator is a comma, unless the first line contains a tab or semicolon. Empty lines and those that begin
/// with `#` are skipped; the first line is a header if it has a value that is not a number.
///
/// # Errors
/// When it is not such a text, has no values, or has lines that cannot be read, which are listed with their numbers.
pub fn columns(text: &str) -> Result<Columns, ColumnsError> {
    if text.contains('\0') {
        return Err(ColumnsError::NoText);
    }
    let mut rows = rows(text.trim_start_matches('\u{feff}'))?.into_iter().peekable();
    let header = rows.next_if(|(_, cells)| cells[first_series(cells)..].iter().any(|c| is_word(c)));
    let rows: Vec<Row> = rows.collect();
    let Some(width) = header.as_ref().or(rows.first()).map(|(_, cells)| cells.len()) else {
        return Err(ColumnsError::Empty);
    };
    if rows.is_empty() {
        return Err(ColumnsError::Empty);
    }
    let mut header = header.map(|(_, cells)| cells.into_iter());
    let label = header.as_mut().filter(|_| width > 1).and_then(Iterator::next);
    let places = usize::from(width > 1)..width;
    let mut series: Vec<Series> =
        places.clone().map(|at| empty_series(header.as_mut(), at)).collect();
    let mut bad = Vec::new();
    for (line, cells) in &rows {
        if cells.len() != width {
            bad.push(format!("line {line}: {} where {width} are expected", counted(cells.len())));
            continue;
        }
        let label = if width > 1 { cells[0].clone() } else { format!("line {line}") };
        for (column, cell) in series.iter_mut().zip(&cells[places.clone()]) {
            match number(cell) {
                _ if is_missing(cell) => column.missing.push(*line),
                Some(value) => {
                    column.points.push(Point { label: label.clone(), line: *line, value });
                }
                None => bad.push(format!("line {line}: '{}' is no finite number", short(cell))),
            }
        }
    }
    if !bad.is_empty() {
        return Err(ColumnsError::Lines(bad));
    }
    Ok(Columns { label, series, falls: width > 1 && falls(&rows) })
}

/// Returns the index of the first column that is a series.
fn first_series(cells: &[String]) -> usize {
    usize::from(cells.len() > 1)
}

fn empty_series(header: Option<&mut std::vec::IntoIter<String>>, at: usize) -> Series {
    let title = header.and_then(Iterator::next).filter(|name| !name.is_empty());
    let name = title.unwrap_or_else(|| format!("column {}", at + 1));
    Series { name, points: Vec::new(), missing: Vec::new() }
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 column".to_owned() } else { format!("{cells} columns") }
}

fn short(cell: &str) -> String {
    let begin: String = cell.chars().take(40).collect();
    if begin.len() < cell.len() { format!("{begin}…") } else { begin }
}

fn is_missing(cell: &str) -> bool {
    MISSING.contains(&cell.to_ascii_lowercase().as_str())
}

fn is_word(cell: &str) -> bool {
    !is_missing(cell) && cell.parse::<f64>().is_err()
}

fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Tells whether the labels decrease from line to line: compared as numbers if all are numbers, else as texts, which sorts the usual dates.
fn falls(rows: &[Row]) -> bool {
    let labels: Vec<&str> = rows.iter().map(|(_, cells)| cells[0].as_str()).collect();
    let numbers: Option<Vec<f64>> = labels.iter().map(|label| number(label)).collect();
    let down = match &numbers {
        Some(numbers) => numbers.windows(2).all(|pair| pair[1] < pair[0]),
        None => labels.windows(2).all(|pair| pair[1] < pair[0]),
    };
    down && rows.len() > 1
}

/// Returns the separator used in the first line that has content.
fn separator(text: &str) -> char {
    let first = text.lines().find(|line| !is_passed(line)).unwrap_or_default();
    ['\t', ';'].into_iter().find(|c| first.contains(*c)).unwrap_or(',')
}

fn is_passed(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// Returns the lines that have content, split into cells.
fn rows(text: &str) -> Result<Vec<Row>, ColumnsError> {
    let separator = separator(text);
    let mut rows: Vec<Row> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if is_passed(line) {
            continue;
        }
        let mut whole = line.to_owned();
        while whole.matches('"').count() % 2 == 1 {
            let (_, more) = lines.next().ok_or(ColumnsError::Unclosed(at + 1))?;
            whole.push('\n');
            whole.push_str(more);
        }
        rows.push((at + 1, cells(&whole, separator)));
    }
    Ok(rows)
}

/// The cells of one line, without quotes and the blanks around them.
fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut cells, mut current, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                current.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            c if c == separator && !quoted => cells.push(std::mem::take(&mut current)),
            c => current.push(c),
        }
    }
    cells.push(current);
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(series: &Series) -> Vec<f64> {
        series.points.iter().map(|point| point.value).collect()
    }

    #[test]
    fn a_header_is_taken_a_first_column_labels_and_what_is_missing_is_counted() {
        let text = "\u{feff}# nightly\r\nday,IOPS,\"p99, ms\"\r\n\r\nMon,1e3, 2\r\nTue,,NaN\r\n\"We\"\"d\",-4,3\r\n";
        let all = columns(text).unwrap();
        assert_eq!((all.label.as_deref(), all.falls), (Some("day"), false));
        let [iops, p99] = &all.series[..] else { panic!("{all:?}") };
        assert_eq!((iops.name.as_str(), p99.name.as_str()), ("IOPS", "p99, ms"));
        assert_eq!((values(iops), values(p99)), (vec![1000.0, -4.0], vec![2.0, 3.0]));
        assert_eq!((&iops.missing, iops.points[1].line), (&vec![5], 6));
        assert_eq!(iops.points[1].label, "We\"d");
    }

    #[test]
    fn without_a_header_columns_are_numbered_and_one_alone_is_the_series() {
        let all = columns("2\t5\n1\t6\n").unwrap();
        assert_eq!((all.label, all.falls), (None, true), "the newest first");
        assert_eq!(
            (all.series[0].name.as_str(), values(&all.series[0])),
            ("column 2", vec![5.0, 6.0])
        );
        let one = columns("x\n1\n2\n").unwrap();
        assert_eq!((one.series[0].name.as_str(), one.falls), ("x", false));
        assert_eq!(one.series[0].points[1].label, "line 3");
        assert_eq!(columns("a;b\n1;2").unwrap().series[0].name, "b");
    }

    #[test]
    fn bad_lines_are_named_with_their_numbers() {
        for (text, mistake) in [
            ("", "it holds no values"),
            ("day,x\n", "it holds no values"),
            ("a\0b", "it is not text"),
            ("d,x\na,1\nb,2,3\n", "line 3: 3 columns where 2 are expected"),
            ("d,x\na,1\n\nb\n", "line 4: 1 column where 2 are expected"),
            ("d,x\na,fast\n", "line 2: 'fast' is no finite number"),
            ("d,x\na,inf\nb,1e999", "line 2: 'inf' is no finite number; line 3: '1e999' is no"),
            ("d;x\na;1,5\n", "line 2: '1,5' is no finite number"),
            ("d,x\na,\"1\nb,2\n", "line 2: a quote is opened and never closed"),
        ] {
            let error = columns(text).unwrap_err().to_string();
            assert!(error.starts_with(mistake), "{text:?}: {error}");
        }
        let many = columns(&format!("d,x\n{}", "a,b\n".repeat(9))).unwrap_err().to_string();
        assert!(many.ends_with("line 6: 'b' is no finite number; and 4 more lines"), "{many}");
    }
}
