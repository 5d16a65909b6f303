//! Recorded texts, unpacked to a directory as a sosreport has them.

use std::fs;
use std::path::{Path, PathBuf};

/// A case: what it is made after, the rules that name its cause, and its files.
pub struct Case {
    pub name: String,
    pub causes: Vec<String>,
    pub files: Vec<(String, String)>,
}

/// Every case of the folder.
pub fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

pub fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).unwrap()
}

fn read(path: &Path) -> Case {
    let text = fs::read_to_string(path).unwrap();
    let mut parts = text.split("--- ");
    let head = parts.next().unwrap();
    let causes = head.lines().find_map(|line| line.strip_prefix("# cause: ")).unwrap();
    let files = parts.map(|part| part.split_once('\n').unwrap());
    Case {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        causes: causes.split(' ').map(str::to_owned).collect(),
        files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).collect(),
    }
}

impl Case {
    /// Writes its files below `top`.
    pub fn unpack(&self, top: &Path) {
        for (path, text) in &self.files {
            let at = top.join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, text).unwrap();
        }
    }

    /// The text of a file with another one in its place.
    pub fn change(&mut self, path: &str, from: &str, to: &str) {
        let (_, text) = self.files.iter_mut().find(|(name, _)| name == path).unwrap();
        assert!(text.contains(from), "{path}: {from}");
        *text = text.replace(from, to);
    }
}
