//! What layers' tools make that outlives a run which was killed, and which facts of a machine matter to layers.

/// A sort of named objects that a layer's tools make. Those of a run carry its tag in their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Objects {
    /// What one is called (`volume group`).
    pub called: &'static str,
    /// The command that lists their names, one on a line.
    pub list: &'static [&'static str],
    /// The command that removes the one whose name follows, with all that is in it.
    pub remove: &'static [&'static str],
    /// The command that lists the devices under them, one on a line: the device, a comma, the name.
    pub devices: &'static [&'static str],
}

impl Objects {
    /// The program that all these commands start: where nobody has run it there is nothing to list.
    pub fn program(&self) -> &'static str {
        self.list.first().copied().unwrap_or_default()
    }
}

/// A fact of a machine that figures of a layer depend on, a version as a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// What results call it.
    pub name: &'static str,
    /// Where it is read.
    pub from: FactSource,
}

/// Where a fact is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactSource {
    /// The first line of a file.
    File(&'static str),
    /// What follows these words in what a command prints.
    Command {
        /// The command.
        argv: &'static [&'static str],
        /// The words at the beginning of the line.
        after: &'static str,
        /// A file without which the command has nothing to say.
        needs: &'static str,
    },
}
