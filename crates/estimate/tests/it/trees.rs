//! The reach of a tree: to the end of its file system, and never into what the kernel makes as it is read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use estimate::{Error, Request};

use super::mounted::Mounted;
use super::{block, estimate, of, request};

/// A file system that is mounted in a directory of another, and unmounted again.
struct Inner(PathBuf);

impl Inner {
    fn new(kind: &str, at: &Path) -> Self {
        fs::create_dir(at).unwrap();
        let mounted = Command::new("mount").args(["-t", kind, kind]).arg(at).status().unwrap();
        assert!(mounted.success(), "{kind}");
        Self(at.to_owned())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_tree_ends_where_another_file_system_begins_unless_that_is_asked_for() {
    let tree = match Mounted::new("tmpfs", &[], "") {
        Ok(tree) => tree,
        Err(why) => return println!("SKIP a_tree_ends_where_another_file_system_begins: {why}"),
    };
    fs::create_dir(tree.at.join("own")).unwrap();
    fs::write(tree.at.join("own/data"), block(1, 4096)).unwrap();
    let other = tree.at.join("own/other");
    let _inner = Inner::new("tmpfs", &other);
    fs::write(other.join("data"), block(2, 4096)).unwrap();
    let kernel = tree.at.join("kernel");
    let _proc = Inner::new("proc", &kernel);
    let got = of(&tree.at);
    assert!(got.complete);
    assert_eq!((got.blocks.total, got.sources.files, got.sources.left_out), (1, 1, 2));
    let named = |path: &Path| {
        let mut all = got.sources.left_out_named.iter();
        all.find(|one| Path::new(&one.path).ends_with(path)).unwrap().what.clone()
    };
    assert!(named(Path::new("own/other")).starts_with("another file system (tmpfs)"));
    assert!(named(Path::new("kernel")).contains("proc"));
    // What is named is read, whatever it is on.
    assert_eq!(of(&other).blocks.total, 1);
    assert_eq!(estimate(&request(&[&tree.at, &other])).unwrap().blocks.total, 2);
    let all = Request { other_file_systems: true, ..request(&[&tree.at]) };
    let got = estimate(&all).unwrap();
    assert_eq!((got.blocks.total, got.sources.files, got.sources.left_out), (2, 2, 1));
}

#[test]
fn what_the_kernel_makes_up_is_refused_when_it_is_named() {
    for path in ["/proc", "/proc/self", "/proc/meminfo", "/sys", "/sys/kernel"] {
        let refused = estimate(&request(&[Path::new(path)])).unwrap_err();
        assert!(matches!(refused, Error::Kernel { .. }) && refused.is_usage(), "{path}");
        assert!(refused.to_string().contains(path) && !refused.help().is_empty());
    }
}
