//! Three corpora of real data for the lab, made of a kernel's source as Debian packages it.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use walk::files;

/// Compressible, with mixed sizes.
const TREE: [&str; 3] = ["fs", "kernel", "lib"];
/// Trees that the corpus with duplicates repeats.
const REPEATED: [&str; 5] = ["net/core", "net/ipv4", "net/ipv6", "net/netfilter", "net/mac80211"];
/// A tree whose files come twice in a row each.
const TWICE: &str = "include/uapi";
/// Amid what is compressed already.
const AMID: &str = "Documentation/admin-guide";
const BLOCK: usize = 4096;
/// Bytes of the archive that count as incompressible, on either side of what is in between.
const PACKED: u64 = 32 << 20;

/// The corpora as images of whole blocks, and how much of the last is written with deduplication off.
pub struct Corpora {
    pub source: PathBuf,
    pub compressed: PathBuf,
    pub duplicates: PathBuf,
    pub forgotten: u64,
}

/// Finds them, or makes them of a package that comes from the lab's cache or the mirror; they stay with the build.
pub fn corpora() -> Corpora {
    let cache = lab::Cache::open().unwrap();
    let spec = lab::ImageSpec::new(lab::ImageNeeds::default());
    let archive = lab::Image::archive(&cache, &spec, "linux-source", "linux-source-").unwrap();
    let version = archive.file_stem().unwrap().to_str().unwrap().to_owned();
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("corpora-{version}"));
    if !dir.exists() {
        let aside = dir.with_extension("new");
        let _ = fs::remove_dir_all(&aside);
        fs::create_dir_all(&aside).unwrap();
        make(&archive, &aside);
        fs::rename(&aside, &dir).unwrap();
    }
    Corpora {
        source: dir.join("source.img"),
        compressed: dir.join("compressed.img"),
        duplicates: dir.join("duplicates.img"),
        forgotten: fs::metadata(dir.join("repeated.img")).unwrap().len(),
    }
}

fn make(archive: &Path, dir: &Path) {
    let unpacked = tempfile::tempdir_in(dir).unwrap();
    run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(unpacked.path()));
    let packages = unpacked.path().join("usr/src");
    let packed = files(&packages).into_iter().find(|p| p.extension().is_some_and(|e| e == "xz"));
    let packed = packed.expect("the package holds an archive");
    let wanted = TREE.iter().chain(&REPEATED).chain([&TWICE, &AMID]);
    let wanted = wanted.map(|part| format!("*/{part}/*"));
    run(Command::new("tar")
        .arg("-xJf")
        .arg(&packed)
        .arg("-C")
        .arg(unpacked.path())
        .arg("--wildcards")
        .args(wanted));
    let top = fs::read_dir(unpacked.path()).unwrap().map(|entry| entry.unwrap().path());
    let top = top.into_iter().find(|path| path.join(TREE[0]).is_dir()).unwrap();
    let image = |name: &str| BufWriter::new(File::create(dir.join(name)).unwrap());
    let trees = |parts: &[&str]| parts.iter().flat_map(|part| files(&top.join(part))).collect();

    let source: Vec<PathBuf> = trees(&TREE);
    put(&mut image("source.img"), &source, 1);

    let mut compressed = image("compressed.img");
    let mut bytes = File::open(&packed).unwrap().take(PACKED);
    std::io::copy(&mut bytes, &mut compressed).unwrap();
    put(&mut compressed, &files(&top.join(AMID)), 1);
    bytes.set_limit(PACKED);
    std::io::copy(&mut bytes, &mut compressed).unwrap();

    let repeated: Vec<PathBuf> = trees(&REPEATED);
    put(&mut image("repeated.img"), &repeated, 1);
    let tar = unpacked.path().join("repeated.tar");
    run(Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(&top).args(REPEATED));
    // Written with deduplication off; again, found by nobody; out of line with blocks; near; and again, found.
    let mut duplicates = image("duplicates.img");
    put(&mut duplicates, &repeated, 1);
    put(&mut duplicates, &repeated, 1);
    put(&mut duplicates, &[tar], 1);
    put(&mut duplicates, &files(&top.join(TWICE)), 2);
    put(&mut duplicates, &repeated, 1);
}

/// Appends files, each so many times in a row, filled up to whole blocks as a file system does.
fn put(image: &mut impl Write, paths: &[PathBuf], times: usize) {
    for path in paths {
        let mut bytes = fs::read(path).unwrap();
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        (0..times).for_each(|_| image.write_all(&bytes).unwrap());
    }
    image.flush().unwrap();
}

fn run(command: &mut Command) {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

mod walk {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Regular files below a directory, in the order of their names.
    pub fn files(dir: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(Result::unwrap).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                found.extend(files(&entry.path()));
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
        found
    }
}
