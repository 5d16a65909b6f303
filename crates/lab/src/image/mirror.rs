//! The choice of the Debian mirror to take packages from: the one that this machine's apt already uses. No host name is written here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result};

/// Suites that only Debian has, to tell its sources from others' before their lists are fetched.
const SUITES: [&str; 9] = [
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "sid",
    "stable",
    "oldstable",
    "testing",
    "unstable",
];
/// The directory of Debian's keys, on Debian and on Ubuntu.
const KEYRINGS: &str = "/usr/share/keyrings";
/// The file in which debootstrap names Debian's default mirror, for machines whose apt has none.
const DEBOOTSTRAP: &str = "/usr/share/debootstrap/scripts/sid";

/// The archive's address: the directory above `dists/`.
pub(super) fn find() -> Result<String> {
    let targets = said_by_apt(&["indextargets", "--format", "$(ORIGIN)|$(COMPONENT)|$(REPO_URI)"]);
    let updates = || said_by_apt(&["update", "--print-uris"]);
    let script = || fs::read_to_string(DEBOOTSTRAP).unwrap_or_default();
    from_targets(&targets)
        .or_else(|| from_updates(&updates()))
        .or_else(|| from_debootstrap(&script()))
        .ok_or(Error::NoMirror)
}

/// The file with the keys that verify Debian's packages.
pub(super) fn keyring() -> Result<PathBuf> {
    ["debian-archive-keyring.gpg", "debian-archive-keyring.pgp"]
        .iter()
        .map(|name| Path::new(KEYRINGS).join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| Error::NoKeyring { dir: KEYRINGS.into() })
}

fn said_by_apt(arguments: &[&str]) -> String {
    Command::new("apt-get")
        .args(arguments)
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}

/// Returns the address from lines `ORIGIN|COMPONENT|URI`: that of Debian's main archive, not that of security updates.
fn from_targets(lines: &str) -> Option<String> {
    lines.lines().find_map(|line| {
        let mut fields = line.split('|');
        let (origin, component, uri) = (fields.next()?, fields.next()?, fields.next()?);
        (origin == "Debian" && component == "main" && usable(uri)).then(|| uri.to_owned())
    })
}

/// Returns the address from lines `'URI/dists/SUITE/InRelease' ...`, which apt prints even when it has no lists yet.
fn from_updates(lines: &str) -> Option<String> {
    lines.lines().find_map(|line| {
        let address = line.strip_prefix('\'')?.split('\'').next()?;
        let (uri, rest) = address.split_once("dists/")?;
        let suite = rest.split('/').next()?;
        let plain = suite.split('-').next()?;
        (SUITES.contains(&plain) && usable(uri)).then(|| uri.to_owned())
    })
}

/// Returns the address from the line `default_mirror URL` of debootstrap's script.
fn from_debootstrap(script: &str) -> Option<String> {
    script
        .lines()
        .find_map(|line| line.trim().strip_prefix("default_mirror "))
        .map(|uri| uri.trim().to_owned())
}

fn usable(uri: &str) -> bool {
    uri.contains("://") && !uri.contains("security")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_debians_main_archive() {
        let lines = "Other|main|http://other.example/repo/\n\
                     Debian|main|http://mirror.example/debian-security/\n\
                     Debian|contrib|http://contrib.example/debian/\n\
                     Debian|main|http://mirror.example/debian/\n";
        assert_eq!(from_targets(lines).unwrap(), "http://mirror.example/debian/");
        assert_eq!(from_targets("||http://mirror.example/debian/\n"), None);
    }

    #[test]
    fn without_lists_the_suite_tells_whose_archive_it_is() {
        let lines = "'http://archive.example/ubuntu/dists/noble/InRelease' archive 0\n\
                     'http://mirror.example/debian-security/dists/bookworm-security/InRelease' m 0\n\
                     'http://mirror.example/debian/dists/bookworm-updates/InRelease' m 0\n";
        assert_eq!(from_updates(lines).unwrap(), "http://mirror.example/debian/");
        assert_eq!(from_updates("'http://a.example/ubuntu/dists/noble/InRelease' a 0\n"), None);
    }

    #[test]
    fn debootstrap_names_a_mirror_where_apt_has_none() {
        let script = "case $ARCH in\n  *) default_mirror http://mirror.example/debian ;;\nesac\n  default_mirror http://mirror.example/debian\n";
        assert_eq!(from_debootstrap(script).unwrap(), "http://mirror.example/debian");
    }
}
