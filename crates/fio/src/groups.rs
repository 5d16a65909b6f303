//! The loads of a job file: jobs that run at once are one load, those behind a `stonewall` another.

use crate::Problem;
use crate::ini::{JobFile, Section};
use crate::job::{Job, Setting, Shape};
use crate::meaning::job;
use crate::value::{self, Size};

/// A file or device that a load works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name; `null` is none at all.
    pub name: String,
    /// Bytes that it must have, where it is a file.
    pub bytes: Option<u64>,
}

/// A load that does what jobs of fio's say.
#[derive(Debug, Clone, PartialEq)]
pub struct FioLoad {
    /// The names of its jobs.
    pub names: Vec<String>,
    /// The line of the first of them.
    pub line: usize,
    /// The targets.
    pub targets: Vec<Target>,
    /// The settings, in the order of `fathom load --help`.
    pub settings: Vec<Setting>,
    /// Tells whether it reads what must have been written before.
    pub reads: bool,
    /// Tells whether it writes.
    pub writes: bool,
    /// The content of files that it reads, and that are written first.
    pub laid_out: Vec<Setting>,
    /// Options that change nothing, and why.
    pub notes: Vec<String>,
    /// Sentences on what fio does differently from what its options say, or from what Fathom does.
    pub in_fio: Vec<String>,
}

/// Returns the loads of a job file in the order in which they run.
///
/// # Errors
/// Every option that cannot be done, and jobs that run at once with different options.
pub fn loads(file: &JobFile) -> Result<Vec<FioLoad>, Vec<Problem>> {
    let (mut problems, mut jobs) = (Vec::new(), Vec::new());
    for section in &file.sections {
        match job(section) {
            Ok(job) => jobs.push((section, job)),
            Err(all) => problems.extend(all),
        }
    }
    let mut groups: Vec<Vec<(&Section, Job)>> = Vec::new();
    for (section, job) in jobs {
        let walls = ["stonewall", "wait_for_previous"].map(|name| section.last(&[name]));
        let wall = walls.into_iter().flatten().any(|entry| entry.truth() != Ok(false));
        match groups.last_mut().filter(|_| !wall) {
            Some(group) => group.push((section, job)),
            None => groups.push(vec![(section, job)]),
        }
    }
    let mut loads = Vec::new();
    for group in &groups {
        match load(group) {
            Ok(load) => loads.push(load),
            Err(problem) => problems.push(problem),
        }
    }
    // A wrong option of [global] is reported once, however many jobs have it.
    problems.sort();
    problems.dedup();
    if problems.is_empty() { Ok(loads) } else { Err(problems) }
}

fn load(group: &[(&Section, Job)]) -> Result<FioLoad, Problem> {
    let Some(((first, one), others)) = group.split_first() else {
        return Err(Problem::new(1, "there is no job"));
    };
    for (section, job) in others {
        let alike = |job: &Job| Job { named: vec![], jobs: 0, notes: vec![], ..job.clone() };
        if alike(job) != alike(one) {
            let (name, other) = (&section.name, &first.name);
            let what = format!(
                "[{name}] runs at the same time as [{other}], with other options: a load has one mix for all its targets; add stonewall to [{name}], or run it by itself"
            );
            return Err(Problem::new(section.line, what));
        }
    }
    let jobs: u64 = group.iter().map(|(_, job)| job.jobs).sum();
    let mut targets: Vec<Target> = Vec::new();
    for target in group.iter().flat_map(|(section, job)| targets_of(section, job)) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let visits = visits(group, &targets)?;
    let mut settings = one.settings.clone();
    let mut set = |key, value: String, shape| settings.push(Setting { key, value, shape });
    if let Some(size) = one.size.filter(|_| !one.null || matches!(one.size, Some(Size::Bytes(_)))) {
        set("size", size.text(), Shape::Text);
    }
    if jobs > 1 {
        set("jobs", jobs.to_string(), Shape::Number);
        if visits == jobs {
            set("share", "own".to_owned(), Shape::Text);
        }
    }
    if let Some(bytes) = one.bytes {
        set("bytes", value::bytes(bytes * jobs), Shape::Text);
    }
    if let Some(ios) = one.ios {
        set("ios", (ios * jobs).to_string(), Shape::Number);
    }
    if let Some((rate, is_bytes)) = one.rate {
        let all = rate * jobs;
        let text = if is_bytes { value::bytes(all) } else { all.to_string() };
        // A plain number of bytes needs its unit, to differ from I/Os.
        let unit = if is_bytes && text.ends_with(|c: char| c.is_ascii_digit()) { "B" } else { "" };
        set(if one.open { "rate" } else { "limit" }, format!("{text}{unit}/s"), Shape::Text);
        if one.open {
            set("arrival", "poisson".to_owned(), Shape::Text);
        }
    }
    let mut notes = one.notes.clone();
    for note in others.iter().flat_map(|(_, job)| &job.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let mut in_fio = one.in_fio.clone();
    if jobs > visits {
        in_fio.push("in fio each of these jobs has separate targets, and goes as fast as they allow; here every job works on all targets in turn, so that all get equally many I/Os, at the pace of the slowest: for figures of each target run its job alone (stonewall)".into());
    }
    Ok(FioLoad {
        names: group.iter().map(|(section, _)| section.name.clone()).collect(),
        line: first.line,
        targets,
        settings,
        reads: one.reads,
        writes: one.writes,
        laid_out: one.laid_out.clone(),
        notes,
        in_fio,
    })
}

/// Returns how many of the jobs work on each target.
///
/// # Errors
/// Fails if targets have different numbers of jobs, or several jobs but not all: no load divides its jobs among targets like that.
fn visits(group: &[(&Section, Job)], targets: &[Target]) -> Result<u64, Problem> {
    let visits = |target: &Target| {
        let each = group.iter().map(|(section, job)| {
            let targets = targets_of(section, job);
            match targets.contains(target) {
                // If fio makes up the names, each job has a separate file.
                true => {
                    if job.named.is_empty() && !job.null {
                        1
                    } else {
                        job.jobs
                    }
                }
                false => 0,
            }
        });
        each.sum::<u64>()
    };
    let all: Vec<_> = targets.iter().map(visits).collect();
    let jobs: u64 = group.iter().map(|(_, job)| job.jobs).sum();
    match all.first() {
        Some(first) if all.iter().all(|one| one == first) && [1, jobs].contains(first) => {
            Ok(*first)
        }
        _ => {
            let line = group.first().map_or(1, |(section, _)| section.line);
            let what = "some of the jobs that run at once share targets that others do not have: in a load all jobs have all targets; add stonewall to separate them";
            Err(Problem::new(line, what))
        }
    }
}

fn targets_of(section: &Section, job: &Job) -> Vec<Target> {
    let target = |name: String| Target { name, bytes: job.file };
    if job.null {
        return vec![target("null".to_owned())];
    }
    if !job.named.is_empty() {
        return job.named.iter().cloned().map(target).collect();
    }
    let folder = job.folder.as_ref().map(|folder| format!("{}/", folder.trim_end_matches('/')));
    let folder = folder.unwrap_or_default();
    // fio makes up names of the job, its number and the file's number.
    (0..job.jobs).map(|job| target(format!("{folder}{}.{job}.0", section.name))).collect()
}

impl FioLoad {
    /// Returns the arguments of `fathom` that run this load, `load` first, without `--destroy-data`.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["load".to_owned()];
        words.extend(self.settings.iter().flat_map(Setting::words));
        words.push("--".to_owned());
        words.extend(self.targets.iter().map(|target| target.name.clone()));
        words
    }

    /// Returns the arguments for a load that first writes, with the same content, the whole of a file that is to be read. A length that is
    /// not a multiple of 4 KiB is rounded up to one.
    pub fn laying_out(&self, target: &Target) -> Vec<String> {
        const PAGE: u64 = 4096;
        let pages = target.bytes.map(|bytes| bytes.div_ceil(PAGE).max(1));
        let most = (1..=256).rev();
        let block =
            most.into_iter().find(|block| pages.is_none_or(|all| all.is_multiple_of(*block)));
        let block = value::bytes(block.unwrap_or(1) * PAGE);
        let mut words: Vec<_> =
            ["load", "--ops", "write=100", "--block-size"].map(str::to_owned).into();
        words.push(block);
        words.extend(["--depth", "8", "--passes", "1"].map(str::to_owned));
        let same = self.settings.iter().filter(|one| one.shape == Shape::Content);
        words.extend(same.chain(&self.laid_out).flat_map(Setting::words));
        if let Some(pages) = pages {
            words.extend(["--size".to_owned(), value::bytes(pages * PAGE)]);
        }
        words.extend(["--".to_owned(), target.name.clone()]);
        words
    }

    /// Replaces the load's own end by a time, in Fathom's notation.
    pub fn last_for(&mut self, time: &str) {
        let ends = ["duration", "ramp", "passes", "bytes", "ios"];
        self.settings.retain(|one| !ends.contains(&one.key));
        self.settings.push(Setting { key: "duration", value: time.to_owned(), shape: Shape::Text });
    }

    /// Returns it as a stage of an experiment, in TOML; its targets are the layer or device on top of a stack there.
    pub fn stage(&self) -> String {
        let mut lines = vec!["[[stage]]".to_owned(), "do = \"load\"".to_owned()];
        let name: String = (self.names.join("-").to_lowercase().chars())
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        lines.push(format!("name = \"{name}\""));
        lines.push("measure = true".to_owned());
        let (content, plain): (Vec<_>, Vec<_>) =
            self.settings.iter().partition(|one| one.shape == Shape::Content);
        lines.extend(plain.iter().map(|one| one.toml()));
        if !content.is_empty() {
            let keys: Vec<_> = content.iter().map(|one| one.toml()).collect();
            lines.push(format!("content = {{ {} }}", keys.join(", ")));
        }
        lines.join("\n") + "\n"
    }
}

impl Setting {
    /// Returns it as words of a command line.
    fn words(&self) -> Vec<String> {
        match self.shape {
            Shape::Buffered => vec!["--buffered".to_owned()],
            _ => vec![format!("--{}", self.key.replace('_', "-")), self.value.clone()],
        }
    }

    /// Returns it as a line of TOML.
    fn toml(&self) -> String {
        let Self { key, value, shape } = self;
        match shape {
            Shape::Text | Shape::Content => format!("{key} = \"{value}\""),
            Shape::Number | Shape::Buffered => format!("{key} = {value}"),
            Shape::Ops => format!("{key} = {{ {} }}", value.replace('=', " = ").replace(',', ", ")),
            Shape::Each => {
                let one = |part: &str| {
                    let (place, value) = part.split_once('=').unwrap_or((part, ""));
                    format!("{place} = \"{value}\"")
                };
                let parts: Vec<_> = value.split(';').map(one).collect();
                format!("{key} = {{ {} }}", parts.join(", "))
            }
        }
    }
}
