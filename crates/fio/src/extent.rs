//! The part of each target that a job works on, and the end of the job.

use crate::Problem;
use crate::ini::{Entry, Section};
use crate::job::{Job, Shape};
use crate::value::{self, Size};

/// Files, devices, the part of each that is used.
pub(crate) fn places(section: &Section, job: &mut Job) -> Result<(), Problem> {
    if let Some(files) = section.last(&["nrfiles"])
        && files.number()? > 1
    {
        return Err(Problem::new(
            files.line,
            "nrfiles has no counterpart: name the files with filename=A:B",
        ));
    }
    let folder = section.last(&["directory"]).map(|entry| match &names(entry)?[..] {
        [folder] => Ok(folder.clone()),
        _ => Err(entry.wrong("one directory here: fio gives each job the next of several; write a job for each (\\: is a colon in a name)")),
    });
    let folder = folder.transpose()?;
    if let Some(entry) = section.last(&["filename"]) {
        let named = names(entry)?.into_iter().map(|name| match (&folder, name.as_str()) {
            (Some(folder), _) => Ok(format!("{}/{name}", folder.trim_end_matches('/'))),
            (None, "-") => Err(entry
                .wrong("names of files here; - is standard input and output in fio, ./- a file")),
            // A file of that name, and not Fathom's target `null`.
            (None, "null") => Ok("./null".to_owned()),
            (None, _) => Ok(name),
        });
        job.named = named.collect::<Result<_, _>>()?;
    } else if section.name.contains('=') && !job.null {
        return Err(Problem::new(section.line, format!("[{}]: {EQUALS}", section.name)));
    }
    job.folder = folder;
    extent(section, job)
}

const EQUALS: &str = "its files have a = in their names, and a load would take the text behind it for a share of the I/Os: name files without it";

/// The names in a value, separated by colons; a colon with a backslash before it is a part of a name.
fn names(entry: &Entry) -> Result<Vec<String>, Problem> {
    let text = entry.text().replace("\\:", "\0");
    let names: Vec<_> = text.split(':').map(|name| name.replace('\0', ":")).collect();
    if names.iter().any(String::is_empty) {
        return Err(entry.wrong("names, separated by colons"));
    }
    if text.contains('=') {
        return Err(Problem::new(entry.line, format!("{}={}: {EQUALS}", entry.name, entry.text())));
    }
    Ok(names)
}

/// Finds the part of each file that is used, and the length of the file. With `filesize` that part is the file from `offset` on; a smaller
/// `size` is then the amount that the job moves in it.
fn extent(section: &Section, job: &mut Job) -> Result<(), Problem> {
    let files = job.named.len().max(1) as u64;
    let offset = section.last(&["offset"]);
    let start = offset.map_or(Ok(Size::Bytes(0)), Entry::size)?;
    if offset.is_some() {
        job.text("offset", start.text());
    }
    let size_given = section.last(&["size"]).map(Entry::size).transpose()?;
    let whole = section.last(&["filesize"]).map(|entry| entry.bytes().map(|bytes| (entry, bytes)));
    let Some((entry, whole)) = whole.transpose()?.filter(|(_, bytes)| *bytes > 0) else {
        job.size = size_given.map(|size| match size {
            Size::Bytes(bytes) => Size::Bytes(bytes / files),
            percent @ Size::Percent(_) => percent,
        });
        if let (Size::Bytes(start), Some(Size::Bytes(size))) = (start, job.size) {
            job.file = Some(start.saturating_add(size));
        }
        return Ok(());
    };
    let (Size::Bytes(start), None | Some(Size::Bytes(_))) = (start, size_given) else {
        let what = "filesize together with a percentage: write offset and size in bytes";
        return Err(Problem::new(entry.line, what));
    };
    let Some(room) = whole.checked_sub(start).filter(|room| *room > 0) else {
        let what = "filesize leaves nothing behind offset: make it larger";
        return Err(Problem::new(entry.line, what));
    };
    job.file = Some(whole);
    job.size = Some(Size::Bytes(room));
    if let Some(Size::Bytes(size)) = size_given
        && size > 0
        && size < room.saturating_mul(files)
    {
        job.part = Some(size);
        let ops = job.settings.iter().find(|one| one.key == "ops");
        if ops.is_some_and(|ops| ops.value.contains("rand")) {
            job.in_fio.push("with loops or time_based fio begins a new random order after each size, which may visit the same places again; here after the whole of filesize".to_owned());
        }
    }
    Ok(())
}

/// Finds the time, the amount or the passes that end a job.
pub(crate) fn ends(section: &Section, job: &mut Job) -> Result<(), Problem> {
    const SECOND: u64 = 1_000_000_000;
    let runtime = section.last(&["runtime", "timeout"]);
    let ramp = section.last(&["ramp_time"]).map(|entry| entry.nanos(SECOND)).transpose()?;
    let based = section.truth("time_based")?;
    let time = runtime.map(|entry| entry.nanos(SECOND)).transpose()?.filter(|time| *time > 0);
    if based && time.is_none() {
        let line = section.last(&["time_based"]).map_or(section.line, |entry| entry.line);
        return Err(Problem::new(line, "time_based needs a runtime: write runtime=60"));
    }
    if let Some(time) = time {
        job.text("duration", value::nanos(time + ramp.unwrap_or(0)));
    }
    if let Some(ramp) = ramp.filter(|ramp| *ramp > 0) {
        job.text("ramp", value::nanos(ramp));
    }
    let logs = ["log_avg_msec", "log_hist_msec"].iter().filter_map(|name| section.last(&[name]));
    let logs = logs.map(|entry| entry.nanos(1_000_000)).collect::<Result<Vec<_>, _>>()?;
    if let Some(shortest) = logs.into_iter().filter(|length| *length > 0).min() {
        job.text("interval", value::nanos(shortest));
    }
    let loops = section.last(&["loops"]).map_or(Ok(1), Entry::number)?.max(1);
    let ios = section.last(&["number_ios"]);
    job.ios = ios.map(Entry::number).transpose()?.filter(|ios| *ios > 0);
    job.ios = job.ios.map(|ios| ios.saturating_mul(loops));
    if based {
        return match ios.filter(|_| job.ios.is_some()) {
            Some(entry) => Err(Problem::new(
                entry.line,
                "number_ios changes nothing in fio with time_based: take one of them out",
            )),
            None => Ok(()),
        };
    }
    match (section.last(&["io_size", "io_limit"]), job.size) {
        (Some(entry), _) => job.bytes = Some(entry.bytes()?.saturating_mul(loops)),
        (None, _) if job.part.is_some() => {
            job.bytes = job.part.map(|part| part.saturating_mul(loops));
        }
        (None, _) if job.makes_passes() => job.set("passes", loops.to_string(), Shape::Number),
        (None, Some(Size::Bytes(bytes))) => {
            let files = job.named.len().max(1) as u64;
            job.bytes = Some(bytes.saturating_mul(files).saturating_mul(loops));
        }
        (None, _) if time.is_some() || job.ios.is_some() => {}
        (None, _) => {
            let what = "it has no end: random places come again and again; write runtime=60, or size in bytes";
            return Err(Problem::new(section.line, what));
        }
    }
    Ok(())
}
