//! Packages through apt, in separate directories: no root rights, no change to this machine, no maintainer script.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::manifest::Package;
use crate::{Error, Result};

/// A package and where its archive is.
#[derive(Debug)]
pub(super) struct Archived {
    /// Its name and version.
    pub(super) package: Package,
    /// Its archive.
    pub(super) path: PathBuf,
}

/// apt with its own state. The host's `apt.conf.d` stays in force (proxies, credentials), our file is read last.
#[derive(Debug)]
pub(super) struct Apt {
    config: PathBuf,
    archives: PathBuf,
}

impl Apt {
    /// Sets up the directories below `dir` for one suite of `mirror`, verified with `keyring`.
    pub(super) fn new(dir: &Path, suite: &str, mirror: &str, keyring: &Path) -> Result<Self> {
        for name in ["state/lists/partial", "cache/archives/partial", "etc/sources", "etc/empty"] {
            let made = dir.join(name);
            fs::create_dir_all(&made).map_err(Error::io("cannot make", &made))?;
        }
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            fs::write(&path, text).map_err(Error::io("cannot write", &path))
        };
        write("state/status", "")?;
        write("etc/sources/debian.sources", &source(suite, mirror, keyring))?;
        write("apt.conf", &config(dir))?;
        Ok(Self { config: dir.join("apt.conf"), archives: dir.join("cache/archives") })
    }

    /// Fetches the package lists.
    pub(super) fn update(&self) -> Result<()> {
        self.run("apt-get", &["update", "--error-on=any"]).map(drop)
    }

    /// Returns the package with a version in its name (`linux-image-6.12.1-amd64`) that `name`, one without (`linux-image-amd64`), stands for: its
    /// dependency that begins with `stem`.
    pub(super) fn versioned(&self, name: &str, stem: &str) -> Result<String> {
        let output = self.run("apt-cache", &["depends", "--important", name])?;
        output
            .lines()
            .find_map(|line| line.trim().strip_prefix("Depends: ")?.strip_prefix(stem))
            .map(|rest| format!("{stem}{rest}"))
            .ok_or_else(|| Error::Command { what: format!("apt-cache depends {name}"), output })
    }

    /// Returns the names of all packages that begin with `stem`.
    pub(super) fn names(&self, stem: &str) -> Result<Vec<String>> {
        let output = self.run("apt-cache", &["pkgnames", stem])?;
        Ok(output.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// Returns the descriptions of packages as the lists have them, separated by empty lines; a name that only other packages mention has none.
    pub(super) fn descriptions(&self, names: &[String]) -> Result<String> {
        if names.is_empty() {
            return Ok(String::new());
        }
        let mut arguments = vec!["show"];
        arguments.extend(names.iter().map(String::as_str));
        self.run("apt-cache", &arguments)
    }

    /// Returns the packages that installing these would bring, dependencies included, each with the place of its archive.
    pub(super) fn plan(&self, packages: &[String]) -> Result<Vec<Archived>> {
        let mut arguments = vec!["install", "--no-install-recommends", "--simulate"];
        arguments.extend(packages.iter().map(String::as_str));
        let output = self.run("apt-get", &arguments)?;
        Ok(output
            .lines()
            .filter_map(planned)
            .map(|(package, file)| self.archived(package, &file))
            .collect())
    }

    /// Downloads what [`Apt::plan`] lists, except what is in the cache already.
    pub(super) fn fetch(&self, packages: &[String]) -> Result<()> {
        let mut arguments = vec!["install", "--no-install-recommends", "--yes", "--download-only"];
        arguments.extend(packages.iter().map(String::as_str));
        self.run("apt-get", &arguments).map(drop)
    }

    /// Returns one package without its dependencies, downloaded unless it is in the cache already.
    pub(super) fn alone(&self, package: &str) -> Result<Archived> {
        let output = self.run("apt-cache", &["show", "--no-all-versions", package])?;
        let field = |name: &str| {
            output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let (Some(version), Some(arch)) = (field("Version"), field("Architecture")) else {
            return Err(Error::Command { what: format!("apt-cache show {package}"), output });
        };
        let named = Package { name: package.to_owned(), version: version.to_owned() };
        let archived = self.archived(named, &archive_name(package, version, arch));
        if !archived.path.is_file() {
            self.run("apt-get", &["download", package])?;
        }
        Ok(archived)
    }

    fn archived(&self, package: Package, file: &str) -> Archived {
        Archived { package, path: self.archives.join(file) }
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(program);
        command
            .arg("-c")
            .arg(&self.config)
            .arg("-q")
            .args(arguments)
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .current_dir(&self.archives);
        output_of(command, "apt")
    }
}

/// Runs a command to its end; returns its output, or its last lines as an error.
pub(super) fn output_of(mut command: Command, package: &str) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => {
            Error::MissingProgram { program: program.clone(), package: package.to_owned() }
        }
        _ => Error::System { what: "cannot start a command of the image build".into(), source },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    let complaint = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<_> = complaint.lines().rev().take(5).collect();
    Err(Error::Command {
        what: format!("{program} {}", words.join(" ")),
        output: tail.into_iter().rev().collect::<Vec<_>>().join("; "),
    })
}

/// A package and its archive's file name from a line `Inst NAME (VERSION ORIGIN [ARCH])` of a simulated installation.
fn planned(line: &str) -> Option<(Package, String)> {
    let (name, rest) = line.strip_prefix("Inst ")?.split_once(" (")?;
    // What follows the bracket names packages that would be broken for a moment.
    let rest = rest.split(')').next()?;
    let version = rest.split_whitespace().next()?;
    let arch = rest.rsplit_once('[')?.1.split(']').next()?;
    let package = Package { name: name.to_owned(), version: version.to_owned() };
    let file = archive_name(name, version, arch);
    Some((package, file))
}

/// The name apt gives an archive in its cache: an epoch's colon is written as `%3a`.
fn archive_name(name: &str, version: &str, arch: &str) -> String {
    format!("{name}_{}_{arch}.deb", version.replace(':', "%3a"))
}

fn source(suite: &str, mirror: &str, keyring: &Path) -> String {
    format!(
        "Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: main\nArchitectures: amd64\nSigned-By: {}\n",
        keyring.display()
    )
}

fn config(dir: &Path) -> String {
    let mut text = String::new();
    for (name, value) in [
        ("Dir::State", "state/"),
        ("Dir::State::status", "state/status"),
        ("Dir::Cache", "cache/"),
        ("Dir::Etc::sourceparts", "etc/sources/"),
        ("Dir::Etc::preferencesparts", "etc/empty/"),
        ("Dir::Etc::trustedparts", "etc/empty/"),
    ] {
        text += &format!("{name} \"{}\";\n", dir.join(value).display());
    }
    // Hooks of the host (clean its own cache, refresh its own catalogues) must not run here.
    for hook in [
        "APT::Update::Pre-Invoke",
        "APT::Update::Post-Invoke",
        "APT::Update::Post-Invoke-Success",
        "DPkg::Pre-Install-Pkgs",
        "DPkg::Post-Invoke",
    ] {
        text += &format!("#clear {hook};\n");
    }
    text += "Dir::Etc::sourcelist \"/dev/null\";\n\
             Dir::Etc::preferences \"/dev/null\";\n\
             Dir::Etc::trusted \"/dev/null\";\n\
             APT::Architecture \"amd64\";\n\
             #clear APT::Architectures;\n\
             APT::Architectures { \"amd64\"; };\n\
             APT::Sandbox::User \"root\";\n\
             APT::Keep-Downloaded-Packages \"true\";\n\
             Binary::apt-get::APT::Keep-Downloaded-Packages \"true\";\n\
             Acquire::Languages \"none\";\n\
             Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled \"false\";\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_installation_names_packages_and_archives() {
        let (package, file) =
            planned("Inst libaudit1 (1:4.0.2-2+deb13u1 Debian:13.6/stable [amd64]) []").unwrap();
        assert_eq!(package.version, "1:4.0.2-2+deb13u1");
        assert_eq!(file, "libaudit1_1%3a4.0.2-2+deb13u1_amd64.deb");
        assert!(planned("Conf libaudit1 (1:4.0.2-2 Debian:13.6/stable [amd64])").is_none());
        assert!(planned("NOTE: This is only a simulation!").is_none());
    }

    #[test]
    fn nothing_of_the_host_but_its_proxies_reaches_apt() {
        let text = config(Path::new("/cache"));
        for setting in [
            "Dir::State \"/cache/state/\"",
            "Dir::Etc::sourcelist \"/dev/null\"",
            "#clear APT::Update::Post-Invoke;",
        ] {
            assert!(text.contains(setting), "{setting} in\n{text}");
        }
    }
}
