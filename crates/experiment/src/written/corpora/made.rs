//! Corpora that are made from a seed: `[corpora.files] size = "64M"`.

use std::ops::Range;
use std::path::Path;

use corpus::{Alike, CorpusError, CorpusSpec, FileSizes};
use toml::Spanned;
use units::{Bytes, Key, Percent, Seed, key};
use workload::{LoadSpec, OpName, Ops};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};
use crate::written::load;

const SIZE: Key = key("size", "the bytes of all files of one tree, at most 4G", "\"64M\"");
const FILE_SIZE: Key = key(
    "file_size",
    "the size of a file, or a range in which each doubling has as many files as the next",
    "\"4k..1M\"",
);
const PER_DIRECTORY: Key =
    key("files_per_directory", "how many files are in one directory, from 1 on", "32");
const LEVELS: Key = key("levels", "how many directories are above each file, from 0 to 8", "2");
const DUPLICATES: Key =
    key("duplicate_files", "the share of files that hold the same as an earlier one", "\"10%\"");
const COPIES: Key =
    key("copies", "the number of similar trees, including the first, from 2 to 1000", "8");
const CHANGED_BLOCKS: Key = key(
    "changed_blocks",
    "the share of blocks of 4 KiB in which each copy differs from the first",
    "\"5%\"",
);
const GENERATIONS: Key = key(
    "generations",
    "the number of successive states of the tree, from 2 to 1000; unchanged files are hard links",
    "7",
);
const CHANGED_FILES: Key =
    key("changed_files", "the share of files that change from one state to the next", "\"3%\"");
const SEED: Key = key("seed", "a whole number: another one gives other files", "1");

/// The keys of a corpus that is made.
pub(super) const KEYS: [&str; 11] = [
    SIZE.name,
    FILE_SIZE.name,
    PER_DIRECTORY.name,
    LEVELS.name,
    DUPLICATES.name,
    COPIES.name,
    CHANGED_BLOCKS.name,
    GENERATIONS.name,
    CHANGED_FILES.name,
    SEED.name,
    "content",
];

/// Default sizes of files.
const USUAL_FILE: FileSizes = FileSizes { least: Bytes(4 << 10), most: Bytes(1 << 20) };
/// Default number of files in a directory.
const USUAL_PER_DIRECTORY: u64 = 32;
/// Most levels of directories.
const MOST_LEVELS: u32 = 8;
/// Most trees.
const MOST_TREES: u32 = 1000;

/// Reads the keys of a corpus that is made, which are all that are left. A profile is not read yet.
pub(super) fn read(mut table: Table) -> Result<CorpusSpec, Diagnostic> {
    let places = table.places();
    let size = table.need::<Bytes>(&SIZE)?;
    let file_size = table.take::<FileSizes>(&FILE_SIZE)?;
    let per_directory = table.take::<u64>(&PER_DIRECTORY)?;
    let levels = table.take::<u32>(&LEVELS)?;
    let duplicates = table.take::<Percent>(&DUPLICATES)?;
    let seed = table.take::<u64>(&SEED)?;
    let alike = alike(&mut table)?;
    refuse(per_directory.as_ref(), |n| *n > 0, &PER_DIRECTORY)?;
    refuse(levels.as_ref(), |n| *n <= MOST_LEVELS, &LEVELS)?;
    let mut load: LoadSpec = table.only(&["content"])?.read(LoadSpec::key)?;
    // A dummy load: only its content is used.
    (load.ops, load.passes) = (Ops::only(OpName::Write), Some(1));
    let profile = load.content.profile.is_some();
    let content = if profile { load.content } else { load::checked(load, &places, "")?.content };
    let spec = CorpusSpec {
        size: *size.get_ref(),
        file_size: file_size.as_ref().map_or(USUAL_FILE, |sizes| *sizes.get_ref()),
        files_per_directory: per_directory.map_or(USUAL_PER_DIRECTORY, Spanned::into_inner),
        levels: levels.map_or(1, Spanned::into_inner),
        duplicate_files: duplicates.map_or(Percent(0.0), Spanned::into_inner),
        content,
        alike,
        seed: Seed(seed.map_or(0, Spanned::into_inner)),
    };
    match spec.check() {
        Err(error) if !profile => Err(mistake(&error, &places, size.span())),
        _ => Ok(spec),
    }
}

/// Returns the corpus with its profile, whose path is relative to the experiment's file.
pub(super) fn look(
    spec: &CorpusSpec,
    file: &str,
    at: &Range<usize>,
) -> Result<CorpusSpec, Diagnostic> {
    let mut spec = spec.clone();
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    spec.content
        .load_profile(folder)
        .map_err(|error| Diagnostic::at(at.clone(), error.to_string(), error.help()))?;
    spec.check()
        .map_err(|error| Diagnostic::at(at.clone(), error.to_string(), "change the corpus"))?;
    Ok(spec)
}

fn refuse<T: Copy + std::fmt::Display>(
    value: Option<&Spanned<T>>,
    fits: impl Fn(&T) -> bool,
    key: &Key,
) -> Result<(), Diagnostic> {
    match value.filter(|value| !fits(value.get_ref())) {
        None => Ok(()),
        Some(value) => {
            let message = format!("{} cannot be {}", key.name, value.get_ref());
            Err(Diagnostic::of_key(value.span(), message, key))
        }
    }
}

/// Reads the number of trees, and how they differ.
fn alike(table: &mut Table) -> Result<Alike, Diagnostic> {
    let copies = table.take::<u32>(&COPIES)?;
    let blocks = table.take::<Percent>(&CHANGED_BLOCKS)?;
    let generations = table.take::<u32>(&GENERATIONS)?;
    let files = table.take::<Percent>(&CHANGED_FILES)?;
    for (trees, key) in [(&copies, &COPIES), (&generations, &GENERATIONS)] {
        refuse(trees.as_ref(), |n| (2..=MOST_TREES).contains(n), key)?;
    }
    let alone = |share: &Option<Spanned<Percent>>, key: &Key, of: &Key| match share {
        None => Ok(()),
        Some(share) => {
            let message = format!("{} is for a corpus with {}", key.name, of.name);
            Err(Diagnostic::at(
                share.span(),
                message,
                format!("add {}: {}", of.name, of.help(of.name)),
            ))
        }
    };
    let share = |share: Option<Spanned<Percent>>| share.map_or(Percent(0.0), Spanned::into_inner);
    match (copies, generations) {
        (Some(_), Some(both)) => {
            let message = "A corpus has either copies or generations".to_owned();
            let help = "leave one of them out; two corpora can have one each";
            Err(Diagnostic::at(both.span(), message, help).fix_by_removing())
        }
        (Some(trees), None) => {
            alone(&files, &CHANGED_FILES, &GENERATIONS)?;
            Ok(Alike::Copies { trees: trees.into_inner(), changed_blocks: share(blocks) })
        }
        (None, Some(trees)) => {
            alone(&blocks, &CHANGED_BLOCKS, &COPIES)?;
            Ok(Alike::Generations { trees: trees.into_inner(), changed_files: share(files) })
        }
        (None, None) => {
            alone(&blocks, &CHANGED_BLOCKS, &COPIES)?;
            alone(&files, &CHANGED_FILES, &GENERATIONS)?;
            Ok(Alike::Alone)
        }
    }
}

fn mistake(error: &CorpusError, places: &Places, size: Range<usize>) -> Diagnostic {
    let (at, help) = match error {
        CorpusError::TooMany => {
            (places.at(FILE_SIZE.name), "choose larger files, or fewer bytes in all")
        }
        _ => (size, "choose a smaller size, or fewer copies or generations; from 1 byte to 4G"),
    };
    Diagnostic::at(at, error.to_string(), help)
}
