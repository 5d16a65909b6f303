//! The meaning of a job's options, part by part.

use crate::Problem;
use crate::content;
use crate::extent::{ends, places};
use crate::ini::{Entry, Section};
use crate::job::{Job, Shape};
use crate::options;
use crate::value;

/// Engines of fio, with the backend that replaces each here.
const ENGINES: [(&str, &str); 8] = [
    ("io_uring", "io_uring"),
    ("libaio", "libaio"),
    ("null", "null"),
    ("psync", "sync"),
    ("pvsync", "sync"),
    ("pvsync2", "sync"),
    ("sync", "sync"),
    ("vsync", "sync"),
];

type Part = fn(&Section, &mut Job) -> Result<(), Problem>;

/// The parts of a translation; each reads some options.
const PARTS: [Part; 9] =
    [engine, operations, block_sizes, places, ends, pace, durable, verified, content::content];

/// Reads a job.
///
/// # Errors
/// Every option that cannot be translated, with its line.
pub(crate) fn job(section: &Section) -> Result<Job, Vec<Problem>> {
    let mut job = Job { jobs: 1, ..Job::default() };
    let mut problems = Vec::new();
    match options::known(section) {
        Ok(notes) => job.notes = notes,
        Err(all) => problems = all,
    }
    problems.extend(PARTS.iter().filter_map(|part| part(section, &mut job).err()));
    problems.sort();
    problems.dedup();
    if problems.is_empty() { Ok(job) } else { Err(problems) }
}

fn engine(section: &Section, job: &mut Job) -> Result<(), Problem> {
    let name = section.last(&["ioengine"]);
    let word = name.map_or("psync", Entry::text);
    let Some((_, backend)) = ENGINES.iter().find(|(engine, _)| *engine == word) else {
        let line = name.map_or(section.line, |entry| entry.line);
        let known: Vec<_> = ENGINES.iter().map(|(engine, _)| *engine).collect();
        let what = format!("ioengine={word} has no counterpart: take one of {}", known.join(", "));
        return Err(Problem::new(line, what));
    };
    job.jobs = section.last(&["numjobs"]).map_or(Ok(1), Entry::number)?.max(1);
    let depth = section.last(&["iodepth"]).map_or(Ok(1), Entry::number)?;
    job.null = *backend == "null";
    let depth = match *backend {
        "sync" if depth > 1 => {
            job.notes.push(format!("iodepth: {word} has one I/O in flight, as in fio"));
            1
        }
        _ => depth.max(1),
    };
    if !job.null {
        job.text("backend", *backend);
    }
    job.set("depth", depth.to_string(), Shape::Number);
    if let Some(batch) = section.last(&["iodepth_batch", "iodepth_batch_submit"]) {
        job.set("batch", batch.number()?.clamp(1, depth).to_string(), Shape::Number);
    }
    let last = section.last(&["direct", "buffered"]);
    let direct = match last {
        Some(entry) => entry.truth()? == (entry.name == "direct"),
        None => false,
    };
    if !direct && !job.null {
        job.set("direct", "false", Shape::Buffered);
    }
    if let Some(cpus) = section.last(&["cpus_allowed"]) {
        job.text("cpus", cpus.text());
    }
    Ok(())
}

/// Translates `rw` into operations: reads, writes or discards, at random or sequential places.
fn operations(section: &Section, job: &mut Job) -> Result<(), Problem> {
    let entry = section.last(&["rw", "readwrite"]);
    let word = entry.map_or("read", Entry::text);
    let wrong = |what: String| {
        Problem::new(entry.map_or(section.line, |entry| entry.line), format!("rw={word}: {what}"))
    };
    let kinds: &[&str] = match word.strip_prefix("rand").unwrap_or(word) {
        "read" => &["read"],
        "write" => &["write"],
        "trim" => &["discard"],
        "rw" | "readwrite" => &["read", "write"],
        "trimwrite" => return Err(wrong(
            "fio writes each block right after it has trimmed it, which no load does: run a job with rw=trim, and one with rw=write behind a stonewall".to_owned(),
        )),
        _ => {
            let takes = "read, write, randread, randwrite, rw, randrw, trim or randtrim";
            return Err(wrong(format!("rw is here one of {takes}")));
        }
    };
    let mut first = 50;
    if let Some(mix) = section.last(&["rwmixread", "rwmixwrite"]) {
        first = if mix.name == "rwmixread" { mix.percent()? } else { 100 - mix.percent()? };
    }
    let random = match section.last(&["percentage_random"]) {
        Some(entry) if !word.starts_with("rand") => {
            let what = format!(
                "percentage_random changes nothing in fio with rw={word}: take it out, or write rw=rand{word}"
            );
            return Err(Problem::new(entry.line, what));
        }
        Some(entry) => entry.percent()?,
        None if word.starts_with("rand") => 100,
        None => 0,
    };
    let mix = if kinds.len() == 1 { vec![100] } else { vec![first, 100 - first] };
    let mut ops = Vec::new();
    for (kind, share) in kinds.iter().zip(mix) {
        let parts = [(format!("rand{kind}"), random), ((*kind).to_owned(), 100 - random)];
        let parts = parts.into_iter().map(|(op, part)| (op, share as f64 * part as f64 / 100.0));
        ops.extend(parts.filter(|(_, share)| *share > 0.0));
    }
    let has = |kind: &str| ops.iter().any(|(op, _)| op.ends_with(kind));
    (job.reads, job.writes) = (has("read"), has("write"));
    let ordered = ops.iter().filter(|(op, _)| !op.starts_with("rand")).count();
    if ordered > 1 && random == 0 {
        job.in_fio.push(format!("rw={word} has a place for its reads and one for its writes, both from the start on, so that both visit the same blocks, and with size only the first of them; here each block in turn is read or written"));
    }
    if ordered > 0 && random > 0 {
        job.in_fio.push("with percentage_random a sequential I/O of fio follows the random one before it; here sequential I/Os follow each other".to_owned());
    }
    let text: Vec<_> = ops.iter().map(|(op, share)| format!("{op}={share}")).collect();
    job.set("ops", text.join(","), Shape::Ops);
    let random: Vec<_> =
        ops.iter().map(|(op, _)| op.as_str()).filter(|op| op.starts_with("rand")).collect();
    if random.is_empty() {
        return Ok(());
    }
    let pattern = pattern(section, job)?;
    if random.len() == ops.len() {
        job.text("pattern", pattern);
    } else {
        let each: Vec<_> = random.iter().map(|op| format!("{op}.pattern={pattern}")).collect();
        job.set("each", each.join(";"), Shape::Each);
    }
    Ok(())
}

/// The pattern of random places.
fn pattern(section: &Section, job: &mut Job) -> Result<String, Problem> {
    let Some(entry) = section.last(&["random_distribution"]) else {
        let varied = section.last(&["bsrange", "blocksize_range", "bssplit"]).is_some();
        let again = section.truth("norandommap")? || section.truth("softrandommap")?;
        return Ok(if varied || again { "random" } else { "permutation" }.to_owned());
    };
    let takes = "random, zipf:THETA, pareto:H, normal:DEVIATION or zoned:SHARE/SIZE:...";
    let (word, rest) = entry.text().split_once(':').unwrap_or((entry.text(), ""));
    let number = |what: &str| {
        let found = rest.parse::<f64>().ok().filter(|number| number.is_finite());
        found.map(|_| format!("{what}:{rest}")).ok_or_else(|| entry.wrong(takes))
    };
    match word {
        "random" if rest.is_empty() => return Ok("random".to_owned()),
        "zipf" | "pareto" | "normal" => {}
        "zoned" => {
            let takes = "zoned:SHARE/SIZE:..., whole percentages, the shares 100 together and the sizes as well; where a size is missing it gets what the others leave";
            return zones(rest).ok_or_else(|| entry.wrong(takes));
        }
        _ => return Err(entry.wrong(takes)),
    }
    job.in_fio.push(match word {
        "normal" => "fio's normal distribution is scattered by a hash: every part of the target is visited alike".to_owned(),
        _ => format!("fio scatters {word} by a remainder: where the number of blocks is not a power of two, 7 to 57 % of them can never be visited; here every block can"),
    });
    let name = if word == "normal" { format!("{}%", number(word)?) } else { number(word)? };
    Ok(name)
}

/// Reads zones. Those without a size divide among themselves what the others leave.
fn zones(text: &str) -> Option<String> {
    let one = |zone: &str| {
        let (share, size) = zone.split_once('/').unwrap_or((zone, ""));
        let size = if size.is_empty() { None } else { Some(size.parse::<u8>().ok()?) };
        Some((share.parse::<u8>().ok()?, size))
    };
    let zones: Vec<_> = text.split(':').map(one).collect::<Option<_>>()?;
    let shares: u32 = zones.iter().map(|(share, _)| u32::from(*share)).sum();
    let given: u32 = zones.iter().filter_map(|(_, size)| size.map(u32::from)).sum();
    let open = zones.iter().filter(|(_, size)| size.is_none()).count();
    let left = 100_u32.checked_sub(given)?;
    if shares != 100 || (left == 0) != (open == 0) || zones.iter().any(|(_, size)| *size == Some(0))
    {
        return None;
    }
    let rest = f64::from(left) / open.max(1) as f64;
    let zones = zones.iter().map(|(share, size)| {
        let size = size.map_or(rest, f64::from);
        format!("{share}%/{size}%")
    });
    Some(format!("zones:{}", zones.collect::<Vec<_>>().join(",")))
}

/// The sizes of reads, of writes, of discards.
fn block_sizes(section: &Section, job: &mut Job) -> Result<(), Problem> {
    let names = ["bs", "blocksize", "bsrange", "blocksize_range", "bssplit"];
    let last = section.last(&names);
    let stronger = [&names[4..], &names[2..4]].into_iter().find_map(|names| section.last(names));
    if let (Some(last), Some(stronger)) = (last, stronger)
        && last != stronger
    {
        let (name, first) = (&last.name, &stronger.name);
        let what = format!("{name} changes nothing in fio with {first}: take one of them out");
        return Err(Problem::new(last.line, what));
    }
    let sizes = match last {
        None => vec!["4k".to_owned()],
        Some(entry) => {
            let one = |text: &str| {
                block_size(text, &entry.name).ok_or_else(|| {
                    entry.wrong("sizes (4k), ranges (4k-64k) or shares (4k/70:64k/30)")
                })
            };
            entry.text().split(',').map(one).collect::<Result<Vec<_>, _>>()?
        }
    };
    let size = |place: usize| sizes.get(place).or(sizes.last()).cloned().unwrap_or_default();
    if sizes.iter().all(|one| *one == sizes[0]) {
        job.text("block_size", size(0));
    } else {
        let ops = job.settings.iter().find(|one| one.key == "ops").map(|one| one.value.clone());
        let ops = ops.unwrap_or_default();
        let mut each = Vec::new();
        for (op, _) in ops.split(',').filter_map(|op| op.split_once('=')) {
            let place = ["read", "write", "discard"].iter().position(|kind| op.ends_with(kind));
            each.push(format!("{op}.block_size={}", size(place.unwrap_or(0))));
        }
        match job.settings.iter_mut().find(|one| one.key == "each") {
            Some(known) => known.value = format!("{};{}", known.value, each.join(";")),
            None => job.set("each", each.join(";"), Shape::Each),
        }
    }
    if let Some(align) = section.last(&["ba", "blockalign"]) {
        job.text("align", value::bytes(align.bytes()?));
    }
    Ok(())
}

fn block_size(text: &str, name: &str) -> Option<String> {
    let plain = |text: &str| value::size(text).filter(|size| *size > 0).map(value::bytes);
    if name.ends_with("range") {
        let (from, to) = text.split_once('-')?;
        return Some(format!("{}..{}", plain(from)?, plain(to)?));
    }
    if name != "bssplit" {
        return plain(text);
    }
    let parts: Vec<_> =
        text.split(':').map(|part| part.split_once('/').unwrap_or((part, ""))).collect();
    let given: Option<Vec<f64>> = parts
        .iter()
        .filter(|(_, share)| !share.is_empty())
        .map(|(_, share)| share.parse().ok())
        .collect();
    let given = given?;
    let open = parts.len() - given.len();
    let rest = (100.0 - given.iter().sum::<f64>()) / open.max(1) as f64;
    let one = |(size, share): &(&str, &str)| {
        let share = if share.is_empty() { rest } else { share.parse().ok()? };
        Some(format!("{}={share}", plain(size)?))
    };
    parts.iter().map(one).collect::<Option<Vec<_>>>().map(|all| all.join(","))
}

/// Translates limits and open loops. In fio each direction has a separate rate, which overrules the mix.
fn rate(section: &Section, job: &mut Job) -> Result<(), Problem> {
    let mut limit = None;
    for entry in ["rate", "rate_iops"].iter().filter_map(|name| section.last(&[name])) {
        match value::size(entry.text()).ok_or_else(|| entry.wrong("one rate here"))? {
            0 => {}
            _ if limit.is_some() => {
                let what = "both rate and rate_iops are set: fio uses only one; take the other out";
                return Err(Problem::new(entry.line, what));
            }
            number => limit = Some((entry, number)),
        }
    }
    let process = section.last(&["rate_process"]);
    let open = match process.map(|entry| (entry, entry.text())) {
        None | Some((_, "linear")) => false,
        Some((_, "poisson")) => true,
        Some((entry, _)) => return Err(entry.wrong("linear or poisson")),
    };
    let Some((entry, number)) = limit else { return Ok(()) };
    let setting = |key: &str| job.settings.iter().find(|one| one.key == key);
    let value = |key: &str| setting(key).map_or("", |one| one.value.as_str());
    let is_bytes = entry.name == "rate";
    let one_size = setting("block_size").is_some_and(|size| !size.value.contains([',', '.']));
    let no = |why: &str| Err(Problem::new(entry.line, format!("{}: {why}", entry.name)));
    let mixed = job.reads && job.writes;
    if (mixed || open || !is_bytes) && !one_size {
        return no(
            "fio counts it in I/Os of the smallest block size: write one bs, or rate for one direction",
        );
    }
    let part = |kind: &str| -> f64 {
        let ops = value("ops").split(',').filter_map(|op| op.split_once('='));
        let of_kind = ops.filter(|(op, _)| op.ends_with(kind));
        of_kind.filter_map(|(_, share)| share.parse::<f64>().ok()).sum()
    };
    if mixed && (open || part("read") != part("write")) {
        return no(
            "each direction of fio has this rate by itself, whatever the mix is: take it out, or write rwmixread=50 without rate_process",
        );
    }
    let number = if mixed { number.saturating_mul(2) } else { number };
    if mixed {
        job.in_fio.push(format!("{} holds for reads and for writes separately; here both together have twice that rate, half of it each", entry.name));
    }
    if open {
        job.in_fio.push("with rate_process=poisson fio's latencies begin when an I/O is sent, however late that is; here they begin when it should have been".to_owned());
    }
    (job.rate, job.open) = (Some((number, is_bytes)), open);
    Ok(())
}

fn pace(section: &Section, job: &mut Job) -> Result<(), Problem> {
    rate(section, job)?;
    if let Some(entry) = section.last(&["thinktime"]) {
        let pause = entry.nanos(1_000)?;
        let every = section.last(&["thinktime_blocks"]).map_or(Ok(1), Entry::number)?.max(1);
        if pause > 0 {
            let every = if every == 1 { String::new() } else { format!(":{every}") };
            job.text("think", format!("{}{every}", value::nanos(pause)));
        }
    }
    Ok(())
}

fn durable(section: &Section, job: &mut Job) -> Result<(), Problem> {
    if !job.writes {
        return Ok(());
    }
    let mut syncs = Vec::new();
    for entry in ["fsync", "fdatasync", "sync"].iter().filter_map(|name| section.last(&[name])) {
        syncs.extend(cadence(entry)?.map(|how| (entry.line, &entry.name, how)));
    }
    syncs.sort();
    match &syncs[..] {
        [] => {}
        [(.., how)] => {
            if job.reads && how.contains(':') {
                job.in_fio.push(format!("with reads in the mix fio does {how} once the writes are there, and again after each read until the next write, several times as many; here it is done once for these writes"));
            }
            job.text("sync", how);
        }
        [(_, first, _), .., (line, last, _)] => {
            let what = format!(
                "{last} beside {first}: fio does both, a load can do only one; take one out, or switch it off with 0"
            );
            return Err(Problem::new(*line, what));
        }
    }
    Ok(())
}

/// Returns how one option makes writes durable; `None` where it is switched off.
fn cadence(entry: &Entry) -> Result<Option<String>, Problem> {
    Ok(match (entry.name.as_str(), entry.text()) {
        ("sync", "0" | "none") => None,
        ("sync", "1" | "" | "sync" | "dsync") => Some("dsync".to_owned()),
        ("sync", _) => return Err(entry.wrong("none, sync or dsync")),
        (name, _) => match entry.number()? {
            0 => None,
            every => Some(format!("{name}:{every}")),
        },
    })
}

fn verified(section: &Section, job: &mut Job) -> Result<(), Problem> {
    let Some(entry) = section.last(&["verify"]).filter(|entry| entry.text() != "0") else {
        return Ok(());
    };
    if !job.writes {
        let what = format!(
            "verify in [{}], which writes nothing: fio looks for headers that only its own jobs write, and here no block has one; put verify into the job that writes, or keep what a load wrote with fathom load --verify-state FILE and check it with --verify read and the same FILE",
            section.name
        );
        return Err(Problem::new(entry.line, what));
    }
    if section.last(&["do_verify"]).map_or(Ok(true), Entry::truth)? {
        job.text("verify", if job.reads { "both" } else { "after" });
        job.in_fio.push("fio's verify puts a header of its own into every block, so that no block is a duplicate of another; here content stays as asked".to_owned());
    }
    Ok(())
}
