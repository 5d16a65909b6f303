//! Tables of weights in the form of fs-drift: an operation and its weight on each line, separated by a comma.

use crate::{Mix, TreeError, TreeOp};

/// Most bytes of a table.
pub const LONGEST_TABLE: u64 = 1 << 20;

impl Mix {
    /// Reads a table of weights. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// Fails with the line number if a line is not an operation and its weight, or repeats an operation.
    pub fn from_table(text: &str) -> Result<Self, TreeError> {
        let mut weights: Vec<(TreeOp, f64)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: String, help| {
                Err(TreeError::new("ops", format!("line {} of the table: {why}", number + 1), help))
            };
            let Some((name, weight)) = line.split_once(',') else {
                return wrong(
                    format!("'{line}' has no weight"),
                    "write an operation, a comma and its weight; fs-drift skips the line silently",
                );
            };
            let op = match name.parse::<TreeOp>() {
                Ok(op) => op,
                Err(error) => {
                    return wrong(format!("'{name}' is no {}", error.what), error.example);
                }
            };
            let Some(weight) = weight.trim().parse::<f64>().ok().filter(|w| *w >= 0.0) else {
                return wrong(
                    format!("'{}' is no weight", weight.trim()),
                    "write a number that is not below 0 after the comma, and nothing after it",
                );
            };
            if weights.iter().any(|(other, _)| *other == op) {
                return wrong(
                    format!("{op} is there a second time"),
                    "leave one of them: fs-drift takes the last",
                );
            }
            weights.push((op, weight));
        }
        let mix = Self::new(weights);
        mix.validate()?;
        Ok(mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The twelve built-in weights of fs-drift, in a table with a different layout.
    const OWN: &str = "# weights\n\nread, 2\nrandom_read,1\r\n random_write , 1 \nappend, 4\n\
                       delete, 0.1\nhardlink, 0.01\nsoftlink, 0.02\ntruncate, 0.05\nrename, 1\n\
                       readdir, 0.1\ncreate, 4\nwrite, 2";

    #[test]
    fn a_table_of_fs_drift_is_read_as_it_says() {
        let mix = Mix::from_table(OWN).unwrap();
        assert_eq!(mix.weights().count(), 12);
        assert_eq!(mix.share(TreeOp::Append), mix.share(TreeOp::Create));
        assert!((mix.share(TreeOp::Randread) - 1.0 / 15.28).abs() < 1e-12);
        // An operation with weight 0 never runs; fs-drift runs it once in a hundred times.
        let mix = Mix::from_table("create, 1\nrename, 0\n").unwrap();
        assert!(!mix.has(TreeOp::Rename));
    }

    #[test]
    fn a_line_that_cannot_be_done_as_it_says_is_told_by_its_number() {
        for (text, phrase) in [
            ("create, 1\ndelete", "line 2 of the table: 'delete' has no weight"),
            ("create, 1\n\n# x\nfly, 1", "line 4 of the table: 'fly' is no operation"),
            ("remount, 1", "line 1 of the table: 'remount' is no"),
            ("create, x", "'x' is no weight"),
            ("create, -1", "'-1' is no weight"),
            ("create, nan", "'nan' is no weight"),
            ("create, 1, 2", "'1, 2' is no weight"),
            ("read, 1\nread, 2", "line 2 of the table: read is there a second time"),
            ("random_read, 1\nrandread, 2", "randread is there a second time"),
            ("create, 0", "no operation has a weight above 0"),
            ("create, inf", "cannot be inf"),
            ("", "no operation has a weight above 0"),
        ] {
            let error = Mix::from_table(text).unwrap_err();
            assert!(error.message.contains(phrase), "{text}: {error}");
        }
    }
}
