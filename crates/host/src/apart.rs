//! Checks that devices and files keep apart: a write to one must not change another.

use std::path::{Path, PathBuf};

use crate::BackingChain;

/// Two paths lead to the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Overlap {
    /// They are one device or file.
    #[error("{} and {} are the same target", one.display(), other.display())]
    Same {
        /// The first.
        one: PathBuf,
        /// The second.
        other: PathBuf,
    },
    /// One lies on the other, or both on the same part of a third.
    #[error("{} and {} share bytes: a write to one changes the other", one.display(), other.display())]
    Shared {
        /// The first.
        one: PathBuf,
        /// The second.
        other: PathBuf,
    },
}

impl Overlap {
    /// Returns the remedy; `None` where that depends on the purpose of the paths.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Same { .. } => None,
            Self::Shared { .. } => {
                Some("give one of them only; lsblk and losetup --list show what lies on what")
            }
        }
    }
}

/// Refuses paths that are one device or file, or where one lies on the other.
pub fn apart<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<(), Overlap> {
    let mut seen: Vec<(&Path, Option<BackingChain>)> = Vec::new();
    for path in paths {
        // A path that cannot be examined is refused, by name, where it is opened.
        let backing = BackingChain::of(path).ok().flatten();
        for (before, known) in &seen {
            let known = known.as_ref().zip(backing.as_ref());
            let (one, other) = (before.to_path_buf(), path.to_owned());
            if *before == path || known.is_some_and(|(a, b)| a.is(b)) {
                return Err(Overlap::Same { one, other });
            }
            if known.is_some_and(|(a, b)| a.shares_bytes(b)) {
                return Err(Overlap::Shared { one, other });
            }
        }
        seen.push((path, backing));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_under_two_names_is_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two, other] = ["one", "two", "other"].map(|name| dir.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::write(&other, "x").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        let check = |paths: [&Path; 2]| apart(paths.into_iter());
        assert!(matches!(check([&one, &two]), Err(Overlap::Same { .. })));
        assert_eq!(check([&one, &other]), Ok(()));
        let nowhere = dir.path().join("nowhere");
        assert!(matches!(check([&nowhere, &nowhere]), Err(Overlap::Same { .. })));
    }
}
