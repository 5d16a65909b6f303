//! The nodes that threads of the kernel belong to, by the threads' names.

use layers::standing::{Node, StandingStack};

use crate::node::{form_of_device, form_of_target};
use crate::recorded::Recorded;

/// The words and beginnings by which threads of one node are known.
#[derive(Debug)]
pub(crate) struct Owner {
    /// The node.
    pub id: String,
    /// The device's name and number, which stand somewhere in the name of a thread.
    words: Vec<String>,
    /// Beginnings of names.
    begins: Vec<String>,
}

/// The nodes of a stack that may have threads.
pub(crate) fn owners(read: &Recorded, stack: &StandingStack) -> Vec<Owner> {
    let of = |node: &Node| {
        let block = read.blocks.iter().find(|block| block.name == node.id)?;
        let form = form_of_target(&node.target).or_else(|| form_of_device(&node.id));
        let begins = form.iter().flat_map(|(_, form)| form.threads);
        let begins = begins.filter_map(|begin| match node.number("instance") {
            Some(instance) => Some(begin.replace("{instance}", &instance.to_string())),
            None => (!begin.contains('{')).then(|| (*begin).to_owned()),
        });
        let words = vec![block.name.clone(), block.number.clone()];
        Some(Owner { id: node.id.clone(), words, begins: begins.collect() })
    };
    stack.nodes.iter().filter_map(of).collect()
}

/// The node that a thread belongs to; `None` where its name does not say.
pub(crate) fn owner_of<'a>(owners: &'a [Owner], thread: &str) -> Option<&'a str> {
    let work = work(thread)?;
    let by_word = |owner: &&Owner| owner.words.iter().any(|word| has_word(work, word));
    let by_begin = |owner: &&Owner| owner.begins.iter().any(|begin| work.starts_with(begin));
    let found = owners.iter().find(by_word).or_else(|| owners.iter().find(by_begin));
    found.map(|owner| owner.id.as_str())
}

/// The part of a thread's name that says what it does: of a worker the queue that it last worked for, if it names one.
fn work(thread: &str) -> Option<&str> {
    let Some(worker) = thread.strip_prefix("kworker/") else { return Some(thread) };
    worker.find(['-', '+']).map(|at| &worker[at + 1..])
}

/// Tells whether a word stands in a name, with neither a letter nor a digit beside it.
fn has_word(name: &str, word: &str) -> bool {
    let free = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
    !word.is_empty()
        && name.match_indices(word).any(|(at, _)| {
            free(name[..at].chars().next_back()) && free(name[at + word.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_apart_by_device_number_and_the_beginnings_of_their_layer() {
        let owner = |id: &str, words: [&str; 2], begins: &[&str]| Owner {
            id: id.to_owned(),
            words: words.map(str::to_owned).into(),
            begins: begins.iter().map(|begin| (*begin).to_owned()).collect(),
        };
        let all = [
            owner("dm-3", ["dm-3", "253:3"], &["vdo0:"]),
            owner("dm-31", ["dm-31", "253:31"], &["vdo1:", "dm-cache"]),
            owner("sda1", ["sda1", "8:1"], &[]),
            owner("loop7", ["loop7", "7:7"], &[]),
        ];
        for (thread, id) in [
            ("vdo0:journalQ0", Some("dm-3")),
            ("vdo1:reqQ", Some("dm-31")),
            ("vdo11:reqQ", None),
            ("xfsaild/dm-3", Some("dm-3")),
            ("jbd2/sda1-8", Some("sda1")),
            ("jbd2/sda11-8", None),
            ("dmcrypt_write/253:31", Some("dm-31")),
            ("kworker/u8:2-kcryptd-253:3-1", Some("dm-3")),
            ("kworker/u8:2+loop7", Some("loop7")),
            ("kworker/1:0-dm-cache", Some("dm-31")),
            ("kworker/7:7", None),
            ("kworker/u8:2-events", None),
        ] {
            assert_eq!(owner_of(&all, thread), id, "{thread}");
        }
    }
}
