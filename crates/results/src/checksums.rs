//! The seal of a whole result: `SHA256SUMS`, a list of the checksums of all its files in the form of sha256sum(1).
//!
//! It is written last of all, when the run has ended and nothing changes any more. It shows damage and mistakes, but does not stop deliberate
//! deception: anybody can write a new list.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::digest::sum;
use crate::parts::LONGEST;
use crate::sink::{SinkError, replace};
use crate::writer::{CELLS, EXPERIMENT, LAB, MANIFEST, TRANSCRIPT};

/// Path of the list.
pub const SUMS: &str = "SHA256SUMS";

/// The outcome of checking a result's files against the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seal {
    /// There is no list: the run has not ended, or the program's version made none.
    None,
    /// Every file is as the run left it.
    Whole,
    /// Some files are not, by the list or by their own content: what is wrong with each (`cells/00-plain-r1/cell.json was changed`).
    Broken(Vec<String>),
}

impl Seal {
    /// Returns what is wrong, in one line; `None` when nothing is known to be wrong.
    pub fn broken(&self) -> Option<String> {
        match self {
            Self::Broken(wrong) => Some(wrong.join(", ")),
            Self::None | Self::Whole => None,
        }
    }

    /// Adds to the seal what is wrong by the content of the files themselves.
    pub(crate) fn with_faults(self, wrong: Vec<String>) -> Self {
        match self {
            seal if wrong.is_empty() => seal,
            Self::Broken(listed) => Self::Broken(listed.into_iter().chain(wrong).collect()),
            Self::None | Self::Whole => Self::Broken(wrong),
        }
    }

    /// `none`, `whole` or `broken`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Whole => "whole",
            Self::Broken(_) => "broken",
        }
    }
}

/// Seals the result in `root`: writes the list, atomically.
pub fn write(root: &Path) -> Result<(), SinkError> {
    let mut list = String::new();
    for path in files(root).map_err(|source| SinkError::Read { path: root.to_owned(), source })? {
        let full = root.join(&path);
        let sum = sum(&full).map_err(|source| SinkError::Read { path: full, source })?;
        list.push_str(&format!("{sum}  {path}\n"));
    }
    replace(&root.join(SUMS), list.as_bytes())
}

/// Checks the files of the result in `root` against its list.
pub fn check(root: &Path) -> Result<Seal, (PathBuf, io::Error)> {
    let place = root.join(SUMS);
    let list = match sys::input::read(&place, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Seal::None),
        Err(error) => return Err((place, error)),
    };
    let (mut wrong, mut listed) = (Vec::new(), Vec::new());
    for (number, line) in String::from_utf8_lossy(&list).lines().enumerate() {
        let Some((expected, path)) = entry(line) else {
            wrong.push(format!("line {} of {SUMS} is no checksum", number + 1));
            continue;
        };
        let full = root.join(path);
        match sum(&full) {
            Ok(found) if found.eq_ignore_ascii_case(expected) => {}
            Ok(_) => wrong.push(format!("{path} was changed")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                wrong.push(format!("{path} is missing"));
            }
            Err(error) => return Err((full, error)),
        }
        listed.push(path.to_owned());
    }
    let there = files(root).map_err(|error| (root.to_owned(), error))?;
    let added = there.iter().filter(|path| !listed.contains(path));
    wrong.extend(added.map(|path| format!("{path} was added")));
    Ok(if wrong.is_empty() { Seal::Whole } else { Seal::Broken(wrong) })
}

/// Returns checksum and path of a line; `None` for a line that does not name a file inside a result.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (sum, path) = line.split_once(' ')?;
    let path = path.strip_prefix([' ', '*'])?;
    let hexadecimal = sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit());
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    (hexadecimal && inside && !path.is_empty()).then_some((sum, path))
}

/// Returns the paths of all files that belong to the result in `root`, relative to it and sorted. Files that people have added are not included.
fn files(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for name in [MANIFEST, EXPERIMENT, TRANSCRIPT] {
        if root.join(name).is_file() {
            found.push(name.to_owned());
        }
    }
    for folder in [CELLS, LAB] {
        below(root, folder, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn below(root: &Path, folder: &str, found: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        // Links are not followed, and files that a kill left half-written do not belong to the result.
        let kind = entry.file_type()?;
        if kind.is_dir() {
            below(root, &path, found)?;
        } else if kind.is_file() && !path.ends_with(".new") {
            found.push(path);
        }
    }
    Ok(())
}
