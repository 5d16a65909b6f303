//! Requirements of a plan on a machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use units::Bytes;

/// Requirements of a plan: everything that a machine must have to execute it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Needs {
    /// Debian packages.
    pub packages: Vec<String>,
    /// Kernel modules.
    pub modules: Vec<String>,
    /// Optional kernel modules, loaded where the kernel has them: faster code for certain processors, and I/O schedulers.
    #[serde(default)]
    pub faster: Vec<String>,
    /// Programs.
    pub tools: Vec<String>,
    /// Files that layers want in a guest: path below its root, and text.
    #[serde(default)]
    pub guest_files: BTreeMap<String, String>,
    /// Debian packages of commands; in a guest they take no memory.
    #[serde(default)]
    pub command_packages: Vec<String>,
    /// Programs that commands start.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Directories that commands read, by name.
    #[serde(default)]
    #[serde(alias = "trees")]
    pub corpora: BTreeMap<String, Corpus>,
    /// Memory for the layers themselves, bytes.
    pub memory: Bytes,
}

impl Needs {
    /// Returns the requirements of one layer.
    pub fn of(needs: &layers::LayerNeeds, memory_bytes: u64) -> Self {
        let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        Self {
            packages: owned(needs.packages),
            modules: owned(needs.modules),
            faster: owned(needs.faster),
            tools: owned(needs.tools),
            guest_files: needs
                .guest_files
                .iter()
                .map(|&(path, text)| (path.to_owned(), text.to_owned()))
                .collect(),
            memory: Bytes(memory_bytes),
            ..Self::default()
        }
    }

    /// Returns the requirements of all layers together: a guest that meets them can try each.
    pub fn of_every_layer() -> Self {
        let kinds = layers::kinds().iter();
        kinds.fold(Self::default(), |needs, kind| needs.joined(&Self::of(&kind.needs, 0)))
    }

    /// Returns the needs of people in a shell over layers of these kinds, which a run does not have.
    pub fn by_hand<'a>(kinds: impl IntoIterator<Item = &'a layers::Kind>) -> Self {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let all =
            Self { packages: owned(&["util-linux"]), tools: owned(&["lsblk"]), ..Self::default() };
        kinds.into_iter().filter(|kind| !kind.needs.by_hand.is_empty()).fold(all, |all, kind| {
            let (packages, tools) = (owned(kind.needs.packages), owned(kind.needs.by_hand));
            all.joined(&Self { packages, tools, ..Self::default() })
        })
    }

    /// Returns these needs plus `other`'s, for layers of one stack, which exist at the same time: memory adds up.
    pub fn with(self, other: &Self) -> Self {
        let memory = Bytes(self.memory.0 + other.memory.0);
        Self { memory, ..self.joined(other) }
    }

    /// Returns these needs joined with `other`'s, for stacks that never exist at the same time: the larger memory counts.
    pub fn joined(mut self, other: &Self) -> Self {
        let lists = [
            (&mut self.packages, &other.packages),
            (&mut self.modules, &other.modules),
            (&mut self.faster, &other.faster),
            (&mut self.tools, &other.tools),
            (&mut self.command_packages, &other.command_packages),
            (&mut self.programs, &other.programs),
        ];
        for (ours, others) in lists {
            for name in others {
                if !ours.contains(name) {
                    ours.push(name.clone());
                }
            }
        }
        self.guest_files.extend(other.guest_files.clone());
        self.corpora.extend(other.corpora.clone());
        self.memory = self.memory.max(other.memory);
        self
    }
}

/// A directory that commands read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Corpus {
    /// The files of a Debian package.
    Package(String),
    /// A directory of the host.
    Directory {
        /// Its path.
        path: PathBuf,
        /// Bytes of its files.
        bytes: Bytes,
    },
    /// Files that are made from a seed.
    Made(Box<corpus::CorpusSpec>),
}
