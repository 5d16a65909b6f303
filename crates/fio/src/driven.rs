//! The options that fio reports for its jobs, in one notation, so that they can be compared.

use std::collections::{BTreeMap, BTreeSet};

use crate::value;

/// Options by their names.
pub type Options = BTreeMap<String, String>;

const ALIASES: [(&str, &str); 6] = [
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("io_limit", "io_size"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("readwrite", "rw"),
    ("timeout", "runtime"),
];
/// Options that change nothing in a load, whatever they are.
const IDLE: [&str; 4] = ["description", "group_reporting", "name", "randseed"];
const DEFAULTS: [(&str, &str); 6] = [
    ("bs", "4k"),
    ("direct", "0"),
    ("iodepth", "1"),
    ("ioengine", "psync"),
    ("numjobs", "1"),
    ("rw", "read"),
];
/// Separates the values of several jobs in one text.
const BESIDE: &str = " + ";

/// Returns the options that drive a load, each by one name and in one notation; with `defaults`, fio's defaults for those not given, too.
pub(crate) fn canonical(options: &Options, defaults: bool) -> Options {
    let one = |(name, value): (&String, &String)| {
        let alias = ALIASES.iter().find(|(alias, _)| alias == name);
        let name = alias.map_or(name.as_str(), |(_, name)| name);
        let log = name.starts_with("write_") && name.ends_with("_log");
        let each: Vec<_> = value.split(BESIDE).map(|value| noted(name, value)).collect();
        let value = each.join(BESIDE);
        (!log && !IDLE.contains(&name)).then(|| (name.to_owned(), value))
    };
    let mut all: Options = options.iter().filter_map(one).collect();
    for (name, value) in DEFAULTS.iter().filter(|_| defaults && !options.is_empty()) {
        all.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    all
}

fn noted(name: &str, value: &str) -> String {
    let noted = match name {
        "bs" | "size" | "filesize" | "io_size" | "offset" => value::size(value).map(value::bytes),
        "runtime" | "ramp_time" => value::time(value, 1_000_000_000).map(value::nanos),
        "rw" if value == "readwrite" => Some("rw".to_owned()),
        _ => None,
    };
    noted.unwrap_or_else(|| value.to_owned())
}

/// Returns the options in which two jobs or runs differ, with both values, except for the files that they work on.
pub(crate) fn differing(one: &Options, other: &Options) -> Vec<String> {
    let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let targets = ["directory", "filename"];
    let base_name = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let names = names.into_iter().filter(|name| !targets.contains(&base_name(name).as_str()));
    let names = names.filter(|name| one.get(*name) != other.get(*name));
    names.map(|name| format!("{name} {} and {}", shown(one, name), shown(other, name))).collect()
}

fn shown<'a>(of: &'a Options, name: &str) -> &'a str {
    let base_name = name.rsplit('.').next();
    let default = DEFAULTS.iter().find(|(known, _)| Some(*known) == base_name);
    of.get(name).map_or(default.map_or("not told", |(_, value)| *value), String::as_str)
}

/// Adds the options of a job that ran at the same time as others: where they differ, all values are kept.
pub(crate) fn add_concurrent(options: &mut Options, next: &Options) {
    let names: BTreeSet<String> = options.keys().chain(next.keys()).cloned().collect();
    for name in names {
        let (held, added) = (shown(options, &name).to_owned(), shown(next, &name));
        if !held.split(BESIDE).any(|one| noted(&name, one) == noted(&name, added)) {
            options.insert(name, format!("{held}{BESIDE}{added}"));
        } else {
            options.insert(name, held);
        }
    }
}

/// Returns the largest of the values that jobs have of an option.
pub(crate) fn largest(of: &Options, name: &str) -> Option<u32> {
    of.get(name)?.split(BESIDE).filter_map(|value| value.parse().ok()).max()
}
