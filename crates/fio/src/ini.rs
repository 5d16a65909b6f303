//! The sections of a job file, with the options of `[global]` in each that follows it.

use crate::Problem;

/// An option in a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name as written.
    pub name: String,
    /// Its value; `None` where it stands alone (`time_based`).
    pub value: Option<String>,
    /// Its line, from 1.
    pub line: usize,
}

/// A job of a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The name in brackets.
    pub name: String,
    /// The line of the name, from 1.
    pub line: usize,
    /// Its options, behind those of `[global]`; of several with the same name the last counts.
    pub entries: Vec<Entry>,
}

impl Section {
    /// Returns the option that counts among those with one of these names: the last.
    pub fn last(&self, names: &[&str]) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| names.contains(&entry.name.as_str()))
    }
}

/// A job file as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFile {
    /// Its jobs in order.
    pub sections: Vec<Section>,
}

/// Reads a job file. `variable` gives the value of a variable of the environment, for `${NAME}`. A section `[global]` holds for the jobs after
/// it; comments begin with `;` or `#`, anywhere in a line.
///
/// # Errors
/// Every line that does not belong in a job file, and a file without a job.
pub fn read(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<JobFile, Vec<Problem>> {
    let (mut problems, mut sections) = (Vec::new(), Vec::<Section>::new());
    let (mut global, mut in_global, mut begun) = (Vec::<Entry>::new(), false, false);
    for (place, raw) in text.lines().enumerate() {
        let line = place + 1;
        let words = raw.split([';', '#']).next().unwrap_or_default().trim();
        if words.is_empty() {
            continue;
        }
        if let Some(rest) = words.strip_prefix('[') {
            begun = true;
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let Some(name) = name else {
                problems.push(Problem::new(line, "a job's name stands in brackets: [name]"));
                continue;
            };
            in_global = name == "global";
            if !in_global {
                let entries = global.clone();
                sections.push(Section { name: name.to_owned(), line, entries });
            }
            continue;
        }
        if let Some(path) = words.strip_prefix("include ") {
            let what = format!("include {} is not followed: put its lines here", path.trim());
            problems.push(Problem::new(line, what));
            continue;
        }
        if !begun {
            let what = "an option stands before the first job: write [global] or [name] above it";
            problems.push(Problem::new(line, what));
            begun = true;
            continue;
        }
        let (name, value) = match words.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (words, None),
        };
        let value = value.map(|value| filled_in(value, line, &variable)).transpose();
        match value {
            Ok(value) => {
                let entry = Entry { name: name.to_owned(), value, line };
                match sections.last_mut().filter(|_| !in_global) {
                    Some(section) => section.entries.push(entry),
                    None => global.push(entry),
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    if sections.is_empty() && problems.is_empty() {
        problems.push(Problem::new(1, "there is no job: a job begins with its name in brackets"));
    }
    if problems.is_empty() { Ok(JobFile { sections }) } else { Err(problems) }
}

/// A value with its variables filled in.
fn filled_in(
    value: &str,
    line: usize,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<String, Problem> {
    let mut left = value;
    let mut whole = String::new();
    while let Some(at) = left.find("${") {
        let Some(end) = left[at..].find('}') else { break };
        let name = &left[at + 2..at + end];
        let Some(found) = variable(name) else {
            let what = format!("the environment has no variable {name}: set it, or write a value");
            return Err(Problem::new(line, what));
        };
        whole.push_str(&left[..at]);
        whole.push_str(&found);
        left = &left[at + end + 1..];
    }
    whole.push_str(left);
    for word in ["$pagesize", "$mb_memory", "$ncpus"] {
        if whole.contains(word) {
            let what = format!("{word} is not known here: write the number");
            return Err(Problem::new(line, what));
        }
    }
    Ok(whole)
}
