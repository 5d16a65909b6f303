//! Errors of the lab, each with the object it is about and, in [`Error::help`], what to do about it.

use std::borrow::Cow;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use units::Bytes;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason of an error, with its causes.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Reason why the lab could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program that the lab starts is not installed.
    #[error("{program} is not installed, or not on the PATH")]
    MissingProgram {
        /// The program's name.
        program: String,
        /// The distribution's package that brings it.
        package: String,
    },
    /// There is nowhere to keep images.
    #[error("no cache directory: neither FATHOM_CACHE, nor XDG_CACHE_HOME, nor HOME is set")]
    NoCache,
    /// The directory that is to be the cache belongs to somebody else.
    #[error(
        "{} is not a cache of Fathom's: it holds {holds:?}; nothing was written or removed there",
        dir.display()
    )]
    ForeignCache {
        /// The directory.
        dir: PathBuf,
        /// Something in it that does not belong to a cache.
        holds: String,
    },
    /// No Debian mirror could be found in this machine's apt configuration.
    #[error("no Debian mirror found: this machine's apt sources name none")]
    NoMirror,
    /// The keys that verify Debian's packages are not on this machine.
    #[error("no Debian archive keyring in {}", dir.display())]
    NoKeyring {
        /// The directory that was searched.
        dir: PathBuf,
    },
    /// A step of the image build that runs a command failed.
    #[error("{what} failed: {output}")]
    Command {
        /// The command and its purpose.
        what: String,
        /// Its last lines.
        output: String,
    },
    /// A tool that the guest needs is in none of the packages.
    #[error("the guest needs {tool}, which is in none of the packages {packages}")]
    MissingTool {
        /// The tool's name.
        tool: String,
        /// The packages that were asked for.
        packages: String,
    },
    /// A kernel module that the guest needs does not exist.
    #[error("kernel {kernel} has no module {module}")]
    MissingModule {
        /// The module's name.
        module: String,
        /// The kernel's release.
        kernel: String,
    },
    /// No suite has a kernel of this name.
    #[error("there is no kernel {name}{}", not_read(unread))]
    UnknownKernel {
        /// Its name.
        name: String,
        /// Kernels near it.
        near: Vec<String>,
        /// Suites that were not looked at.
        unread: Vec<String>,
    },
    /// A suite lists a kernel but no longer has all its packages.
    #[error("{suite} lists the kernel {release} but cannot provide it: {} gone", gone.join(", ") + if gone.len() == 1 { " is" } else { " are" })]
    KernelGone {
        /// Its release.
        release: String,
        /// The suite.
        suite: String,
        /// The packages that are gone.
        gone: Vec<String>,
        /// Kernels near it.
        near: Vec<String>,
    },
    /// A file of a package is not what it should be.
    #[error("{}: {why}", path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        #[source]
        why: Cause,
    },
    /// There is too little space on the host for the files to be written.
    #[error("{} has {free} free, and {what} may need {needed}", dir.display())]
    DiskSpace {
        /// The use of the space, in words (`building the guest image`).
        what: &'static str,
        /// The directory it would be in.
        dir: PathBuf,
        /// The free space there.
        free: Bytes,
        /// The space that the files may need, with a margin.
        needed: Bytes,
    },
    /// A disk that was to be kept is there already.
    #[error("{} exists already", path.display())]
    DiskExists {
        /// The disk's file.
        path: PathBuf,
    },
    /// The machine's description makes no sense.
    #[error("{what}")]
    BadSpec {
        /// The problem, with the value.
        what: String,
        /// The advice: how to put it right.
        help: String,
    },
    /// The memory that the user gives is too little for the guest and its layers.
    #[error(
        "{given} of memory are too little: a guest takes {}{}",
        crate::LEAST_MEMORY,
        if layers.0 > 0 { format!(", and its layers {layers}") } else { String::new() }
    )]
    LittleMemory {
        /// The memory that the user gives.
        given: Bytes,
        /// The memory that the layers take.
        layers: Bytes,
        /// The least that will do.
        least: Bytes,
    },
    /// The accelerator that was insisted on does not work here.
    #[error("KVM was asked for and does not work: {why}")]
    NoKvm {
        /// The reason why it does not work.
        why: String,
    },
    /// QEMU went off before the guest came up.
    #[error("QEMU did not start: {why}")]
    Qemu {
        /// The output of QEMU.
        why: String,
    },
    /// The link to the other side is gone.
    #[error("the link between host and guest is gone while {doing}")]
    Link {
        /// The operation that failed.
        doing: &'static str,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// The link carried bytes that are not a frame.
    #[error("the link between host and guest carried something that is not a frame: {why}")]
    BadFrame {
        /// The problem.
        why: String,
    },
    /// The session was killed, or could not tell the host how it ended.
    #[error("the session {}", match status.signal() {
        Some(signal) => format!("was killed by signal {signal}"),
        None => format!("ended with {status}"),
    })]
    Session {
        /// Its end.
        status: ExitStatus,
    },
    /// A file operation failed.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        what: Cow<'static, str>,
        /// The file or directory.
        path: PathBuf,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// A request to the kernel that concerns no file failed.
    #[error("{what}: {source}")]
    System {
        /// The operation that failed.
        what: Cow<'static, str>,
        /// The kernel's error.
        source: std::io::Error,
    },
}

impl Error {
    /// Returns what to do about it, when there is something to do.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::MissingProgram { package, .. } => {
                format!(
                    "install it: apt-get install --no-install-recommends {package}; on Fedora: dnf install {package}"
                )
            }
            Self::NoCache => "set FATHOM_CACHE to a directory with some gigabytes free".into(),
            Self::ForeignCache { dir, .. } => {
                format!("set FATHOM_CACHE to a new directory, such as {}", dir.join("fathom").display())
            }
            Self::NoMirror => "name one: --mirror URL, the directory above dists/ of a Debian archive".into(),
            Self::NoKeyring { .. } => "install it: apt-get install debian-archive-keyring".into(),
            Self::DiskSpace { .. } => {
                "free some space, or set FATHOM_CACHE to (or keep the disks in) a directory on a larger file system".into()
            }
            Self::DiskExists { .. } => "keep the disks in another directory, or remove that file".into(),
            Self::BadSpec { help, .. } => help.clone(),
            Self::LittleMemory { least, .. } => {
                format!("give it at least --memory {}M, or leave --memory out", least.0 / Bytes::MIB)
            }
            Self::UnknownKernel { near, .. } | Self::KernelGone { near, .. } => {
                let near = match near.is_empty() {
                    true => String::new(),
                    false => format!("near it are {}; ", near.join(", ")),
                };
                format!("{near}fathom lab kernels lists those that can be had")
            }
            Self::NoKvm { .. } => "leave the choice to the lab: it falls back to emulation".into(),
            Self::Command { output, .. }
                if ["Unable to locate package", "No packages found", "no installation candidate"]
                    .iter()
                    .any(|phrase| output.contains(phrase)) =>
            {
                "name packages as apt does, of those that Debian's main archive has for the guest's suite".into()
            }
            Self::Command { what, .. } if what.starts_with("apt-get") => {
                "the first build of a guest image needs the Debian mirror; try again when it can be reached, or name another: --mirror URL".into()
            }
            _ => return None,
        })
    }

    /// An error of a file operation, for use in `map_err`.
    pub(crate) fn io<E: Into<std::io::Error>>(
        what: impl Into<Cow<'static, str>>,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(E) -> Self {
        let (what, path) = (what.into(), path.as_ref().to_owned());
        move |error| Self::Io { what, path, source: error.into() }
    }

    /// An error of the kernel, for use in `map_err`.
    pub(crate) fn system<E: Into<std::io::Error>>(
        what: impl Into<Cow<'static, str>>,
    ) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| Self::System { what, source: error.into() }
    }

    /// An error of a file's content, for use in `map_err`.
    pub(crate) fn bad_file<E: Into<Cause>>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |why| Self::BadFile { path, why: why.into() }
    }
}

/// Says which suites were not looked at.
fn not_read(suites: &[String]) -> String {
    match suites.is_empty() {
        true => String::new(),
        false => format!(" (not looked at: {}, whose lists cannot be had)", suites.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_stands_in_the_line_once_whether_its_error_names_it_or_not() {
        let gone = || std::io::Error::other("gone");
        let named = Error::io("cannot read", "/x")(gone());
        assert_eq!(sys::causes::chain(&named), "cannot read /x: gone");
        let unnamed = Error::Link { doing: "a frame was sent", source: gone() };
        assert!(sys::causes::chain(&unnamed).ends_with("is gone while a frame was sent: gone"));
    }
}
