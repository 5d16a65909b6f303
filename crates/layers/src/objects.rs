//! Objects that layers' tools make and that outlive a killed run, and facts of a machine that matter to layers.

/// A sort of named objects that a layer's tools make. Those of a run carry its tag in their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Objects {
    /// The word for one of them (`volume group`).
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
