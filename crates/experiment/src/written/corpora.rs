//! `[corpora.NAME]`: directories that commands read: the files of a Debian package, a directory of the host, or files made from a seed.

mod made;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use corpus::{CorpusSpec, MOST_BYTES, MOST_ENTRIES};
use toml::Spanned;
use units::show::grouped;
use units::{Bytes, Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Named, Setting, Table};
use crate::written::names;
use plan::Corpus;

const CORPORA: Key =
    key("corpora", "tables, each under its name", "{ files = { package = \"git\" } }");
const PACKAGE: Key = key("package", "the name of a Debian package", "\"vim-runtime\"");
const PATH: Key = key("path", "the path of a directory", "\"/usr/share/doc\"");
/// The name of the same key in files of earlier versions.
const TREES: Key = Key { name: "trees", ..CORPORA };
/// Most corpora of an experiment.
const MAX_CORPORA: usize = 16;

/// `[corpora.NAME]` as written.
#[derive(Clone)]
pub(crate) struct WrittenCorpus<'t> {
    pub name: String,
    pub at: Range<usize>,
    table: Table<'t>,
    from: CorpusSource,
}

/// Source of the files of a corpus.
#[derive(Clone, PartialEq)]
enum CorpusSource {
    Package(String),
    Path(Spanned<String>),
    Made(Box<CorpusSpec>),
}

/// The corpora of one variant: by their names in the file, the plan's names for them.
#[derive(Default)]
pub(crate) struct Corpora(BTreeMap<String, String>);

impl Corpora {
    /// The name in the plan.
    pub(crate) fn planned(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The corpora of all variants.
#[derive(Default)]
pub(crate) struct AllCorpora {
    /// The corpora by the plan's names for them.
    pub planned: BTreeMap<String, Corpus>,
    /// The names for each variant.
    pub variants: Vec<Corpora>,
}

impl WrittenCorpus<'_> {
    /// Returns a word that tells it from another corpus that a variant sets in its place: the package, or the last part of the path.
    fn word(&self) -> String {
        let word = match &self.from {
            CorpusSource::Package(package) => package.clone(),
            CorpusSource::Path(path) => {
                let last = Path::new(path.get_ref()).file_name();
                last.map_or_else(String::new, |last| last.to_string_lossy().into_owned())
            }
            CorpusSource::Made(spec) => format!("{}-{:.4}", spec.size, spec.id()),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        word.chars().map(|c| if plain(c) { c } else { '-' }).collect()
    }
}

impl<'t> WrittenCorpus<'t> {
    /// Returns the corpus with another value of a key.
    pub(crate) fn set(&self, key: &str, setting: &Setting<'t>) -> Result<Self, Diagnostic> {
        let mut table = self.table.clone();
        table.put(key, setting)?;
        written(Named { name: self.name.clone(), at: setting.at(), value: table })
            .map(|corpus| Self { at: self.at.clone(), ..corpus })
    }
}

/// Tells whether the file calls them trees, as files of earlier versions do.
pub(crate) fn are_trees(root: &Table) -> bool {
    root.has(TREES.name) && !root.has(CORPORA.name)
}

/// Takes `[corpora]` out of the file.
pub(crate) fn take<'t>(root: &mut Table<'t>) -> Result<Vec<WrittenCorpus<'t>>, Diagnostic> {
    let key = if are_trees(root) { &TREES } else { &CORPORA };
    let Some(table) = root.table(key, "A list of corpora")? else { return Ok(Vec::new()) };
    let at = table.at();
    let corpora = table.named_tables(key, "A corpus")?;
    if corpora.len() > MAX_CORPORA {
        let message =
            format!("There are {} corpora; at most {MAX_CORPORA} are possible", corpora.len());
        return Err(Diagnostic::at(
            at,
            message,
            format!("leave {} out", corpora.len() - MAX_CORPORA),
        ));
    }
    corpora.into_iter().map(written).collect()
}

fn written(named: Named<Table>) -> Result<WrittenCorpus, Diagnostic> {
    let Named { name, at, value: mut table } = named;
    let whole = table.clone();
    if let Some(mistake) = names::check_plain("a corpus", &name, &at) {
        return Err(mistake.with_other_key());
    }
    let package = table.take::<String>(&PACKAGE)?;
    let path = table.take::<String>(&PATH)?;
    if let Some(misspelt) = [PACKAGE, PATH].iter().find_map(|key| table.misspelt(key)) {
        return Err(misspelt);
    }
    let of_made = made::KEYS.iter().find(|key| table.has(key));
    let made = of_made.is_some();
    let from = match (package, path) {
        (Some(package), None) if !made => {
            table.finish()?;
            names::check_package(package.get_ref(), package.span())?;
            CorpusSource::Package(package.into_inner())
        }
        (None, Some(path)) if !made => {
            table.finish()?;
            CorpusSource::Path(path)
        }
        (None, None) if made => CorpusSource::Made(made::read(table)?.into()),
        (package, path) => {
            let message = format!("The corpus '{name}' needs either a package, a path or a size");
            let help = "give package = \"vim-runtime\" for its files, path = \"/usr/share/doc\" for a directory, or size = \"64M\" for files that are made";
            return Err(match (package, path) {
                (None, None) => Diagnostic::at(at, message, help).add(&PACKAGE),
                (_, Some(_)) => {
                    Diagnostic::at(whole.place("path"), message, help).fix_by_removing()
                }
                _ => {
                    let key = of_made.unwrap_or(&PACKAGE.name);
                    Diagnostic::at(whole.place(key), message, help).fix_by_removing()
                }
            });
        }
    };
    Ok(WrittenCorpus { name, at, table: whole, from })
}

/// Examines the directories; paths are relative to `file`, the experiment's file. A corpus that differs between variants has
/// several names in the plan: `files.git` and `files.vim-runtime` for `[corpora.files]`.
pub(crate) fn read(
    variants: &[&[WrittenCorpus]],
    file: &str,
) -> Result<AllCorpora, Vec<Diagnostic>> {
    let mut all = AllCorpora::default();
    let mut mistakes: Vec<Diagnostic> = Vec::new();
    // Each directory is looked through once.
    let mut seen: Vec<(&CorpusSource, Corpus)> = Vec::new();
    let differs = |corpus: &WrittenCorpus| {
        let same = |other: &WrittenCorpus| other.name != corpus.name || other.from == corpus.from;
        !variants.iter().copied().flatten().all(same)
    };
    for &corpora in variants {
        let mut of_variant = Corpora::default();
        for corpus in corpora {
            let known = seen.iter().find(|(from, _)| **from == corpus.from).map(|(_, t)| t.clone());
            let found = known.map_or_else(|| corpus.from.look(file, &corpus.at), Ok);
            match found {
                Ok(found) => {
                    let name = if differs(corpus) {
                        let taken = |name: &str| {
                            let other = all.planned.get(name).is_some_and(|t| *t != found);
                            other || corpora.iter().any(|corpus| corpus.name == name)
                        };
                        free(&format!("{}.{}", corpus.name, corpus.word()), taken)
                    } else {
                        corpus.name.clone()
                    };
                    seen.push((&corpus.from, found.clone()));
                    all.planned.insert(name.clone(), found);
                    of_variant.0.insert(corpus.name.clone(), name);
                }
                Err(mistake) if mistakes.contains(&mistake) => {}
                Err(mistake) => mistakes.push(mistake),
            }
        }
        all.variants.push(of_variant);
    }
    let last = variants.iter().copied().flatten().last();
    if let Some(last) = last.filter(|_| all.planned.len() > MAX_CORPORA) {
        let message = format!(
            "All variants together read {} corpora; at most {MAX_CORPORA} are possible",
            all.planned.len()
        );
        mistakes.push(Diagnostic::at(last.at.clone(), message, "let fewer of them differ"));
    }
    if mistakes.is_empty() { Ok(all) } else { Err(mistakes) }
}

/// `name`, or if it is taken, the first `name-2`, `name-3`, ... that is free.
fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n: u32| format!("{name}-{n}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

impl CorpusSource {
    fn look(&self, file: &str, at: &Range<usize>) -> Result<Corpus, Diagnostic> {
        match self {
            Self::Package(package) => Ok(Corpus::Package(package.clone())),
            Self::Path(path) => directory(path, file),
            Self::Made(spec) => made::look(spec, file, at).map(|spec| Corpus::Made(spec.into())),
        }
    }
}

/// Examines the directory, whose path is relative to the experiment's folder.
fn directory(written: &Spanned<String>, file: &str) -> Result<Corpus, Diagnostic> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let path = folder.join(written.get_ref());
    let refuse = |message: String, help: &str| Err(Diagnostic::at(written.span(), message, help));
    let found = match path.canonicalize() {
        Ok(found) if found.is_dir() => found,
        Ok(_) => return refuse(format!("{} is not a directory", path.display()), "name one"),
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return refuse(
                message,
                "name a directory; its path is relative to the experiment's folder",
            );
        }
    };
    let (bytes, entries) = match held(&found) {
        Ok(held) => held,
        Err((path, error)) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return refuse(message, "name a directory in which everything can be read");
        }
    };
    if bytes > MOST_BYTES || entries > MOST_ENTRIES {
        let message = format!(
            "{} holds more than {MOST_BYTES} or {} files and directories, the most that a corpus may",
            found.display(),
            grouped(MOST_ENTRIES)
        );
        return refuse(message, "name a smaller directory: a guest gets a copy of it");
    }
    Ok(Corpus::Directory { path: found, bytes })
}

/// Bytes of files, and number of entries; counting stops when there are too many.
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
            if bytes > MOST_BYTES || entries > MOST_ENTRIES {
                return Ok((bytes, entries));
            }
        }
    }
    Ok((bytes, entries))
}
