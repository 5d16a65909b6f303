//! `do = "command"`: a program, or a script, that works on what the target offers.

pub(crate) mod figure;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use layers::Offer;
use results::model::StageData;
use toml::Spanned;
use units::{Key, Nanos, key};

use crate::kinds::targets;
use crate::planned::graph::StackPlan;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::corpora::Corpora;
use crate::written::diagnostic::{Diagnostic, among, nearest};
use crate::written::document::Table;
use crate::written::names;
use plan::placeholder::{Part, parts};
use plan::{CommandPlan, FigurePlan, Needs, StagePlan, Target, Task};

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts::new("command", "A command", WorksOn::One, StageData::Unknown),
    read: |table, _| Ok(Box::new(Command::read(table)?)),
};

const ARGV: Key = key(
    "argv",
    "a program and its arguments, each a text",
    "[\"cp\", \"-r\", \"{corpus.files}\", \"{mount}/copy\"]",
);
const SHELL: Key = key("shell", "a script", "\"cd {mount} && tar cf all.tar copy && rm -r copy\"");
const INTERPRETER: Key =
    key("interpreter", "the path of a shell that takes -c", "\"/usr/bin/bash\"");
const PACKAGES: Key = key("packages", "names of Debian packages", "[\"coreutils\"]");
const TIME_LIMIT: Key = key("time_limit", "a time from 1s to 24h", "\"10m\"");
const SYNC: Key = key("sync", "true or false", "true");
const FIGURES: Key = key(
    "figures",
    "tables, each under the name of its figure",
    "{ files = { from = \"stdout\", pattern = '(\\d+) files' } }",
);

/// Default time limit of a command.
const USUAL_LIMIT: Nanos = Nanos::from_secs(600);
/// Longest time limit that a file can set.
const MAX_TIME_LIMIT: Nanos = Nanos::from_secs(24 * 3600);
/// Time of a command that an estimate assumes, since nobody knows it beforehand: the commands of the shipped experiments took 3 to 11 s in an
/// emulated guest.
const ASSUMED: Nanos = Nanos::from_secs(8);
/// The default interpreter of a script.
const SH: &str = "/bin/sh";
/// Package that gives `cp` and its like, in the lab, to a command that names no packages.
const USUAL_PACKAGE: &str = "coreutils";
/// The package of [`SH`]: the shell in the guest's own root would run its built-in tools instead of those of packages.
const SH_PACKAGE: &str = "dash";

/// A command as written.
#[derive(Clone)]
struct Command {
    argv: Vec<String>,
    /// Byte range of its words in the file.
    at: Range<usize>,
    packages: Vec<String>,
    time_limit: Nanos,
    sync: bool,
    figures: BTreeMap<String, FigurePlan>,
}

impl Command {
    /// Reads the keys that are left.
    fn read(mut table: Table) -> Result<Self, Diagnostic> {
        let place = table.at();
        let argv = table.take::<Vec<String>>(&ARGV)?;
        let shell = table.take::<String>(&SHELL)?;
        let interpreter = table.take::<String>(&INTERPRETER)?;
        let packages = table.take::<Vec<String>>(&PACKAGES)?;
        let time_limit = table.take::<Nanos>(&TIME_LIMIT)?;
        let sync = table.take::<bool>(&SYNC)?.is_none_or(Spanned::into_inner);
        let figures = table.table(&FIGURES, "A list of figures")?.map(figure::read).transpose()?;
        table.finish()?;
        let script = shell.is_some();
        let usual_shell = interpreter.is_none();
        let (argv, at) = words(place, argv, shell, interpreter)?;
        let mut packages = match packages {
            Some(written) => {
                written
                    .get_ref()
                    .iter()
                    .try_for_each(|name| names::check_package(name, written.span()))?;
                written.into_inner()
            }
            None => vec![USUAL_PACKAGE.to_owned()],
        };
        if script && usual_shell {
            packages.push(SH_PACKAGE.to_owned());
        }
        Ok(Self {
            argv,
            at,
            packages,
            time_limit: limit(time_limit)?,
            sync,
            figures: figures.unwrap_or_default(),
        })
    }

    /// Plans the command on this stack.
    fn on_stack(
        &self,
        stage: &StageHead,
        stack: &StackPlan,
        corpora: &Corpora,
    ) -> Result<(CommandPlan, Target), Diagnostic> {
        let target = targets::free(stage, stack)?;
        let refuse =
            |message: String, help: String| Err(Diagnostic::at(self.at.clone(), message, help));
        if let Some(strange) =
            self.corpora().into_iter().find(|name| corpora.planned(name).is_none())
        {
            let names: Vec<&str> = corpora.names().collect();
            let help = match nearest(strange, names.iter().copied()) {
                Some(near) => {
                    format!("did you mean '{{corpus.{near}}}'? There are: {}", names.join(", "))
                }
                None => format!(
                    "add [corpora.{strange}] with package = \"...\" or path = \"...\"; {}",
                    among("", names.iter().copied())
                ),
            };
            let mistake = refuse(format!("There is no corpus '{strange}'"), help);
            return mistake.map_err(|mistake| mistake.if_name_is_right(strange));
        }
        let mounts = self.argv.iter().any(|word| parts(word).any(|part| part == Part::Mount));
        if mounts && !matches!(target.offer, Offer::Directory { .. }) {
            let message =
                format!("'{}' is a block device, so there is no {{mount}} of it", target.name);
            let help =
                "write {target} for its path, or name a layer with a file system: target = \"...\"";
            return refuse(message, help.into());
        }
        let word = |word: &String| {
            let part = |part| match part {
                Part::Text(text) => text.to_owned(),
                Part::Mount => "{mount}".to_owned(),
                Part::Target => "{target}".to_owned(),
                Part::Corpus(name) => {
                    format!("{{corpus.{}}}", corpora.planned(name).unwrap_or(name))
                }
            };
            parts(word).map(part).collect()
        };
        let plan = CommandPlan {
            argv: self.argv.iter().map(word).collect(),
            time_limit: stage.deadline.map_or(self.time_limit, |d| d.min(self.time_limit)),
            sync: self.sync,
            figures: self.figures.clone(),
        };
        Ok((plan, target))
    }
}

impl StageTask for Command {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let (task, target) = self.on_stack(stage, &on.stack, on.corpora)?;
        let about = ASSUMED.min(task.time_limit);
        Ok(vec![StagePlan { about, ..stage.planned(Task::Command(task), target) }])
    }

    fn picked(&self) -> Option<Vec<&str>> {
        Some(self.figures.keys().map(String::as_str).collect())
    }

    fn corpora(&self) -> BTreeSet<&str> {
        self.argv.iter().flat_map(|word| parts(word).filter_map(Part::corpus)).collect()
    }

    fn needs(&self) -> Needs {
        let program = self.argv.first().filter(|word| parts(word).all(|part| part.is_text()));
        Needs {
            command_packages: self.packages.clone(),
            programs: program.cloned().into_iter().collect(),
            ..Needs::default()
        }
    }
}

/// The words of the command, and their place.
fn words(
    place: Range<usize>,
    argv: Option<Spanned<Vec<String>>>,
    shell: Option<Spanned<String>>,
    interpreter: Option<Spanned<String>>,
) -> Result<(Vec<String>, Range<usize>), Diagnostic> {
    let (words, at) = match (argv, shell) {
        (Some(_), Some(shell)) => {
            let help = "write argv for a program with its arguments, or shell for a script";
            return Err(Diagnostic::at(shell.span(), "A command has both argv and shell", help)
                .fix_by_removing());
        }
        (None, None) => {
            let help = format!("add one: {}; or {}", ARGV.help(ARGV.name), SHELL.help(SHELL.name));
            return Err(Diagnostic::at(place, "A command has neither argv nor shell", help));
        }
        (Some(argv), None) => {
            if let Some(interpreter) = interpreter {
                let help = "leave interpreter out: argv starts a program, not a script";
                return Err(Diagnostic::at(interpreter.span(), "argv has no interpreter", help)
                    .fix_by_removing());
            }
            let at = argv.span();
            let argv = argv.into_inner();
            mistyped(&argv, &at)?;
            (argv, at)
        }
        (None, Some(shell)) => {
            let interpreter = interpreter.map_or_else(|| SH.to_owned(), Spanned::into_inner);
            let at = shell.span();
            (vec![interpreter, "-c".to_owned(), shell.into_inner()], at)
        }
    };
    let empty = words.first().is_none_or(|program| program.trim().is_empty());
    if empty || words.last().is_some_and(|script| words.len() == 3 && script.trim().is_empty()) {
        let help = ARGV.help(ARGV.name);
        return Err(Diagnostic::at(at, "The command is empty", help));
    }
    if words.iter().any(|word| word.contains('\0')) {
        let help = "no program can be given one; leave it out";
        return Err(Diagnostic::at(at, "The command holds a zero byte", help));
    }
    Ok((words, at))
}

/// Refuses mistyped placeholders such as `{muont}`. Outside of scripts a lower-case word in braces can mean nothing else.
fn mistyped(argv: &[String], at: &Range<usize>) -> Result<(), Diagnostic> {
    for (i, all) in argv.iter().enumerate() {
        for word in plan::placeholder::others(all) {
            let Some(near) = nearest(word, ["mount", "target"]) else { continue };
            let message = format!("A command has no '{{{word}}}'");
            let help = format!(
                "did you mean '{{{near}}}'? There are: {{mount}}, {{target}}, {{corpus.NAME}}"
            );
            let mut right = argv.to_vec();
            right[i] = all.replace(&format!("{{{word}}}"), &format!("{{{near}}}"));
            let mistake = Diagnostic::at(at.clone(), message, help);
            return Err(mistake.with(toml::Value::from(right).to_string()));
        }
    }
    Ok(())
}

fn limit(written: Option<Spanned<Nanos>>) -> Result<Nanos, Diagnostic> {
    let Some(limit) = written else { return Ok(USUAL_LIMIT) };
    let value = *limit.get_ref();
    if value < Nanos::from_secs(1) || value > MAX_TIME_LIMIT {
        let message = format!("A command cannot have a time limit of {value}");
        return Err(Diagnostic::of_key(limit.span(), message, &TIME_LIMIT));
    }
    Ok(value)
}
