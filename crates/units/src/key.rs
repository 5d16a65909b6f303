//! The description of a key that people write in a table.

/// A key of a table, with the words of the help for a user who wrote something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name, with the names of the tables around it before it, separated by dots. `*` stands for any name.
    pub name: &'static str,
    /// The values that it takes, in words that follow "takes".
    pub takes: &'static str,
    /// A value that it takes, as it is written in TOML.
    pub example: &'static str,
}

/// Returns the key `name`, with what it takes and an example.
pub const fn key(name: &'static str, takes: &'static str, example: &'static str) -> Key {
    Key { name, takes, example }
}

impl Key {
    /// Tells whether this describes the key at `path`.
    pub fn is(&self, path: &str) -> bool {
        let (mut names, mut parts) = (self.name.split('.'), path.split('.'));
        loop {
            match (names.next(), parts.next()) {
                (None, None) => return true,
                (Some(name), Some(part)) if name == "*" || name == part => {}
                _ => return false,
            }
        }
    }

    /// Returns what to write at `path`: `depth takes a whole number from 1 to 32768, as in depth = 32`.
    pub fn help(&self, path: &str) -> String {
        format!("{path} takes {}, as in {path} = {}", self.takes, self.example)
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn a_star_stands_for_one_name_and_the_help_shows_the_whole_path() {
        let key = Key { name: "each.*.pattern", takes: "a pattern", example: "\"random\"" };
        assert!(key.is("each.write.pattern"));
        for other in ["each.pattern", "each.write", "each.write.pattern.x", "pattern"] {
            assert!(!key.is(other), "{other}");
        }
        assert_eq!(
            key.help("each.write.pattern"),
            "each.write.pattern takes a pattern, as in each.write.pattern = \"random\""
        );
    }
}
