//! `[trees.NAME]`: directories that commands read: the files of a Debian package, or a directory of the host.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::{Spanned, Value};
use units::show::grouped;
use units::{Bytes, Key};

use crate::diagnostic::Diagnostic;
use crate::document::{Named, Setting, Table};
use crate::names;
use crate::plan::Tree;

const TREES: Key = Key {
    name: "trees",
    takes: "tables, each under its name",
    example: "{ files = { package = \"git\" } }",
};
const PACKAGE: Key =
    Key { name: "package", takes: "the name of a Debian package", example: "\"vim-runtime\"" };
const PATH: Key =
    Key { name: "path", takes: "the path of a directory", example: "\"/usr/share/doc\"" };
/// Keys of trees that are made from the seed.
const MADE: [Key; 3] = [
    Key { name: "size", takes: "a size", example: "\"5G\"" },
    Key { name: "file_size", takes: "a range of sizes", example: "\"16k..1M\"" },
    Key { name: "content", takes: "what loads write", example: "{ dedupe = \"50%\" }" },
];
/// Most trees of an experiment.
const MOST: usize = 16;
/// The most that a tree may hold: a guest gets a copy of it.
const LARGEST: Bytes = Bytes(4 << 30);
/// Most files and directories of a tree.
const MOST_ENTRIES: u64 = 200_000;

/// `[trees.NAME]` as written.
#[derive(Clone)]
pub(crate) struct WrittenTree<'t> {
    pub name: String,
    pub at: Range<usize>,
    table: Table<'t>,
    from: TreeSource,
}

/// Where its files come from.
#[derive(Clone, PartialEq, Eq)]
enum TreeSource {
    Package(String),
    Path(Spanned<String>),
}

/// The trees of one variant: by the name in the file, the one that the plan has for it.
#[derive(Default)]
pub(crate) struct Trees(BTreeMap<String, String>);

impl Trees {
    /// The name in the plan.
    pub(crate) fn planned(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The trees of all variants.
#[derive(Default)]
pub(crate) struct AllTrees {
    /// By the name that the plan has for it.
    pub planned: BTreeMap<String, Tree>,
    /// Those of each variant.
    pub variants: Vec<Trees>,
}

impl WrittenTree<'_> {
    /// Returns what tells it from what a variant sets in its place: the package, or the last part of the path.
    fn word(&self) -> String {
        let word = match &self.from {
            TreeSource::Package(package) => package.clone(),
            TreeSource::Path(path) => {
                let last = Path::new(path.get_ref()).file_name();
                last.map_or_else(String::new, |last| last.to_string_lossy().into_owned())
            }
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        word.chars().map(|c| if plain(c) { c } else { '-' }).collect()
    }
}

impl<'t> WrittenTree<'t> {
    /// It with another value of a key.
    pub(crate) fn set(&self, key: &str, setting: &Setting<'t>) -> Result<Self, Diagnostic> {
        let mut table = self.table.clone();
        table.put(key, setting)?;
        written(Named { name: self.name.clone(), at: setting.at(), value: table })
            .map(|tree| Self { at: self.at.clone(), ..tree })
    }
}

/// Takes `[trees]` out of the file.
pub(crate) fn take<'t>(root: &mut Table<'t>) -> Result<Vec<WrittenTree<'t>>, Diagnostic> {
    let Some(table) = root.table(&TREES, "A list of trees")? else { return Ok(Vec::new()) };
    let at = table.at();
    let trees = table.named_tables(&TREES, "A tree")?;
    if trees.len() > MOST {
        let message = format!("There are {} trees; at most {MOST} are possible", trees.len());
        return Err(Diagnostic::at(at, message, format!("leave {} out", trees.len() - MOST)));
    }
    trees.into_iter().map(written).collect()
}

fn written(named: Named<Table>) -> Result<WrittenTree, Diagnostic> {
    let Named { name, at, value: mut table } = named;
    let whole = table.clone();
    if let Some(mistake) = names::check_plain("a tree", &name, &at) {
        return Err(mistake);
    }
    let package = table.take::<String>(&PACKAGE)?;
    let path = table.take::<String>(&PATH)?;
    for key in &MADE {
        if let Some(value) = table.take::<Value>(key)? {
            let message =
                format!("The tree '{name}' has a {}, and trees are not made yet", key.name);
            let help = "give package = \"...\" for the files of a Debian package, or path = \"...\" for a directory; trees made from the seed come with a later version";
            return Err(Diagnostic::at(value.span(), message, help));
        }
    }
    table.finish()?;
    let from = match (package, path) {
        (Some(package), None) => {
            names::check_package(package.get_ref(), package.span())?;
            TreeSource::Package(package.into_inner())
        }
        (None, Some(path)) => TreeSource::Path(path),
        (both, _) => {
            let message = format!("The tree '{name}' needs either a package or a path");
            let help = "give package = \"vim-runtime\" for its files, or path = \"/usr/share/doc\" for a directory";
            return Err(match both {
                Some(_) => Diagnostic::at(whole.place("path"), message, help).without(),
                None => Diagnostic::at(at, message, help).add(&PACKAGE),
            });
        }
    };
    Ok(WrittenTree { name, at, table: whole, from })
}

/// Looks at the directories; `file` is the experiment's, which paths are named from. A tree that is another one in some variants has
/// several names in the plan: `files.git` and `files.vim-runtime` for `[trees.files]`.
pub(crate) fn read(variants: &[&[WrittenTree]], file: &str) -> Result<AllTrees, Vec<Diagnostic>> {
    let mut all = AllTrees::default();
    let mut mistakes: Vec<Diagnostic> = Vec::new();
    // Each directory is looked through once.
    let mut seen: Vec<(&TreeSource, Tree)> = Vec::new();
    let differs = |tree: &WrittenTree| {
        let same = |other: &WrittenTree| other.name != tree.name || other.from == tree.from;
        !variants.iter().copied().flatten().all(same)
    };
    for &trees in variants {
        let mut own = Trees::default();
        for tree in trees {
            let known = seen.iter().find(|(from, _)| **from == tree.from).map(|(_, t)| t.clone());
            let found = known.map_or_else(|| tree.from.look(file), Ok);
            match found {
                Ok(found) => {
                    let name = if differs(tree) {
                        let taken = |name: &str| {
                            let other = all.planned.get(name).is_some_and(|t| *t != found);
                            other || trees.iter().any(|tree| tree.name == name)
                        };
                        free(&format!("{}.{}", tree.name, tree.word()), taken)
                    } else {
                        tree.name.clone()
                    };
                    seen.push((&tree.from, found.clone()));
                    all.planned.insert(name.clone(), found);
                    own.0.insert(tree.name.clone(), name);
                }
                Err(mistake) if mistakes.contains(&mistake) => {}
                Err(mistake) => mistakes.push(mistake),
            }
        }
        all.variants.push(own);
    }
    let last = variants.iter().copied().flatten().last();
    if let Some(last) = last.filter(|_| all.planned.len() > MOST) {
        let message = format!(
            "All variants together read {} trees; at most {MOST} are possible",
            all.planned.len()
        );
        mistakes.push(Diagnostic::at(last.at.clone(), message, "let fewer of them differ"));
    }
    if mistakes.is_empty() { Ok(all) } else { Err(mistakes) }
}

/// `name`, or the first with a number behind it that is not taken.
fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n: u32| format!("{name}-{n}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

impl TreeSource {
    fn look(&self, file: &str) -> Result<Tree, Diagnostic> {
        match self {
            Self::Package(package) => Ok(Tree::Package(package.clone())),
            Self::Path(path) => directory(path, file),
        }
    }
}

/// The directory, found from where the experiment stands.
fn directory(written: &Spanned<String>, file: &str) -> Result<Tree, Diagnostic> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let path = folder.join(written.get_ref());
    let refuse = |message: String, help: &str| Err(Diagnostic::at(written.span(), message, help));
    let found = match path.canonicalize() {
        Ok(found) if found.is_dir() => found,
        Ok(_) => return refuse(format!("{} is no directory", path.display()), "name a directory"),
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return refuse(message, "name a directory, from the experiment's folder on");
        }
    };
    let (bytes, entries) = match held(&found) {
        Ok(held) => held,
        Err((path, error)) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return refuse(message, "name a directory of which everything can be read");
        }
    };
    if bytes > LARGEST || entries > MOST_ENTRIES {
        let message = format!(
            "{} holds more than {LARGEST} or {} files and directories, the most that a tree may",
            found.display(),
            grouped(MOST_ENTRIES)
        );
        return refuse(message, "name a smaller directory: a guest gets a copy of it");
    }
    Ok(Tree::Directory { path: found, bytes })
}

/// Bytes of files, and how many entries there are; stops counting where it is too much.
fn held(root: &Path) -> Result<(Bytes, u64), (PathBuf, std::io::Error)> {
    let (mut bytes, mut entries) = (Bytes(0), 0);
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        let failed = |error| (folder.clone(), error);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            // Links are not followed.
            let facts = entry.metadata().map_err(|error| (path.clone(), error))?;
            entries += 1;
            if facts.is_dir() {
                open.push(path);
            } else if facts.is_file() {
                bytes.0 += facts.len();
            }
            if bytes > LARGEST || entries > MOST_ENTRIES {
                return Ok((bytes, entries));
            }
        }
    }
    Ok((bytes, entries))
}
