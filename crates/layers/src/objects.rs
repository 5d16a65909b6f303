//! Objects that layers' tools make and that outlive a killed run, and facts of a machine that matter to layers.

use crate::step::Action;

/// A sort of objects that a layer makes. Those of a run carry its tag: see [`crate::is_of_run`].
#[derive(Debug, Clone, Copy)]
pub struct Objects {
    /// The word for one of them (`volume group`). No two sorts share it.
    pub called: &'static str,
    /// The place where they are listed.
    pub listed: Listing,
    /// Returns the actions that remove the object of this name, with all that is in it.
    pub remove: fn(&str) -> Vec<Action>,
}

/// A place that lists objects, and the part of them that carries the tag of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// A tool lists them, and their names carry the tag.
    Tool {
        /// The command that lists their names, one on a line.
        names: &'static [&'static str],
        /// The command that lists the devices under them, one on a line: the device, a comma, the name.
        devices: &'static [&'static str],
    },
    /// The kernel lists them in a directory.
    Directory {
        /// The directory.
        path: &'static str,
        /// The file in each object's directory that carries the tag, where the name does not because the kernel chose it.
        identity: Option<&'static str>,
    },
}

impl Eq for Objects {}

impl PartialEq for Objects {
    fn eq(&self, other: &Self) -> bool {
        self.called == other.called
    }
}

/// A fact of a machine that figures of a layer depend on, a version as a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// Its name in results.
    pub name: &'static str,
    /// The source that it is read from.
    pub from: FactSource,
}

/// A source that a fact is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactSource {
    /// The first line of a file.
    File(&'static str),
    /// Output of a command: the rest of the line that begins with the words `after`.
    Command {
        /// The command.
        argv: &'static [&'static str],
        /// The words at the beginning of the line.
        after: &'static str,
        /// A file without which the command has nothing to say.
        needs: &'static str,
    },
}
