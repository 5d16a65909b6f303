//! Kernel events: a separate trace instance, in which one event is switched on. Its ring buffers count the event, and hold its records where these
//! are read. That works on every kernel with tracefs; `hist` triggers, which would cost less, are often not built in.

mod runs;

pub(crate) use runs::WriteRuns;

use std::io;
use std::path::{Path, PathBuf};

use layers::step::Action;

use crate::dm_stats;
use crate::leftovers::Removal;

/// Directories in which tracefs may be mounted, those of newer kernels first.
const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Size of an instance's ring buffers that only count, KiB a CPU: nobody reads what is in them.
const BUFFER_KIB: &str = "16";
/// Size of the ring buffers where their events are read, KiB a CPU: room for some 10,000 writes.
const READ_KIB: &str = "1024";

/// Directory of trace instances.
pub(crate) fn instances() -> Option<PathBuf> {
    ROOTS.into_iter().map(|root| Path::new(root).join("instances")).find(|path| path.is_dir())
}

/// Reason why nothing can be recorded, or nothing is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Absent {
    #[error("tracefs is not mounted, or not for us, at {}", ROOTS.join(" or "))]
    Tracefs,
    #[error("this kernel has no event {0}")]
    Event(String),
    #[error("{0} is not a block device")]
    BlockDevice(String),
    #[error("{0} is a partition, and the kernel has events only of whole disks")]
    WholeDisk(String),
    #[error("{0} has no request queue, so the kernel has no events of it")]
    Queue(String),
    #[error("nothing records the writes to it")]
    Recorder,
}

/// Directory of an event, called `system:name`, below an instance.
fn directory(instance: &Path, event: &str) -> PathBuf {
    instance.join("events").join(event.replacen(':', "/", 1))
}

/// Returns the filter that lets only writes to a block device into an instance; the inner error says why its writes cannot be recorded.
fn writes_to(device: &str) -> io::Result<Result<String, Absent>> {
    let Some(number) = sys::block::number(Path::new(device))? else {
        return Ok(Err(Absent::BlockDevice(device.to_owned())));
    };
    let at = sys::block::sysfs(number);
    if at.join("partition").exists() {
        return Ok(Err(Absent::WholeDisk(device.to_owned())));
    }
    if !at.join("mq").exists() {
        return Ok(Err(Absent::Queue(device.to_owned())));
    }
    // The kernel's own form of a device number (MKDEV in linux/kdev_t.h).
    let kernel = number.major << 20 | number.minor;
    Ok(Ok(format!("dev == {kernel} && rwbs ~ \"*W*\"")))
}

/// Makes the instance and records the event in it from now on, limited to requests that write to `device` if one is given; returns the reason if it
/// cannot be recorded here.
///
/// # Errors
/// When the instance is there already, or the kernel refuses.
pub(crate) fn begin(
    instance: &str,
    event: &str,
    device: Option<&str>,
) -> io::Result<Option<Absent>> {
    let Some(instances) = instances() else { return Ok(Some(Absent::Tracefs)) };
    let filter = match device.map(writes_to).transpose()? {
        Some(Err(why)) => return Ok(Some(why)),
        filter => filter.and_then(Result::ok),
    };
    let instance = instances.join(instance);
    std::fs::create_dir(&instance)?;
    let event_at = directory(&instance, event);
    if !event_at.is_dir() {
        return Ok(Some(Absent::Event(event.to_owned())));
    }
    // If the size cannot be set, it counts with the default buffers as well.
    let buffers = if filter.is_some() { READ_KIB } else { BUFFER_KIB };
    let _ = std::fs::write(instance.join("buffer_size_kb"), buffers);
    if let Some(filter) = filter {
        std::fs::write(event_at.join("filter"), filter)?;
    }
    std::fs::write(event_at.join("enable"), "1").map(|()| None)
}

/// `events N`, or `absent: WHY`.
///
/// # Errors
/// When the instance cannot be read.
pub(crate) fn count(instance: &str, event: &str) -> io::Result<String> {
    let Some(instances) = instances() else { return Ok(format!("absent: {}\n", Absent::Tracefs)) };
    let instance = instances.join(instance);
    if instance.is_dir() && !directory(&instance, event).is_dir() {
        return Ok(format!("absent: {}\n", Absent::Event(event.to_owned())));
    }
    let mut events = 0;
    for cpu in std::fs::read_dir(instance.join("per_cpu"))? {
        let stats = std::fs::read_to_string(cpu?.path().join("stats"))?;
        events += written(&stats);
    }
    Ok(format!("events {events}\n"))
}

/// Opens the writes that an instance records; the inner error says why there are none.
///
/// # Errors
/// When the instance is there and cannot be read.
pub(crate) fn write_runs(instance: &str) -> io::Result<Result<WriteRuns, Absent>> {
    let Some(instances) = instances() else { return Ok(Err(Absent::Tracefs)) };
    match WriteRuns::of(&instances.join(instance)) {
        Ok(runs) => Ok(Ok(runs)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Err(Absent::Recorder)),
        Err(error) => Err(error),
    }
}

/// Events that went into a ring buffer: those that are in it, and those that were overwritten or read.
fn written(stats: &str) -> u64 {
    let counted = ["entries", "overrun", "read events"];
    let fields = stats.lines().filter_map(|line| line.split_once(':'));
    let counts = fields.filter(|(name, _)| counted.contains(name));
    counts.filter_map(|(_, number)| number.trim().parse::<u64>().ok()).sum()
}

/// Removes the instance, which stops counting, instances of its name followed by a number, and statistics of the device mapper under these names;
/// fine where there is none.
///
/// # Errors
/// `EBUSY` while somebody reads in one.
pub(crate) fn end(instance: &str) -> io::Result<()> {
    end_those(|name| {
        let rest = name.strip_prefix(instance);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Removes the trace instances and statistics of the device mapper whose names satisfy `are`.
///
/// # Errors
/// `EBUSY` while somebody reads in one.
pub(crate) fn end_those(are: impl Fn(&str) -> bool) -> io::Result<()> {
    dm_stats::regions(&are).iter().try_for_each(dm_stats::Found::delete)?;
    let Some(instances) = instances() else { return Ok(()) };
    for name in names(&instances).filter(|name| are(name)) {
        match std::fs::remove_dir(instances.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Names of trace instances.
fn names(instances: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = std::fs::read_dir(instances).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Trace instances, and statistics of the device mapper, of the run with this tag.
pub(crate) fn left(tag: &str) -> Vec<String> {
    removals(tag).into_iter().map(|removal| removal.what).collect()
}

/// Returns their removals.
pub(crate) fn removals(tag: &str) -> Vec<Removal> {
    let ours = format!("fathom_{tag}");
    let removal = |(what, name): (String, String)| {
        let actions = vec![Action::Untrace { instance: name.clone() }];
        Removal { what, name, actions, above: true }
    };
    left_of(|name| name.contains(&ours)).into_iter().map(removal).collect()
}

/// Returns the trace instances, and statistics of the device mapper, whose names satisfy `are`: a description and the name of each.
pub(crate) fn left_of(are: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let all = instances().into_iter().flat_map(|instances| names(&instances));
    let traces = all.filter(|name| are(name)).map(|name| (format!("trace instance {name}"), name));
    let regions = dm_stats::regions(&are).into_iter();
    let regions = regions.map(|found| {
        (format!("statistics {} of the mapped device {}", found.program, found.node), found.program)
    });
    traces.chain(regions).collect()
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn what_was_overwritten_or_read_counts_too() {
        let stats = "entries: 40\noverrun: 7\ncommit overrun: 100\nbytes: 900\nread events: 3\n";
        assert_eq!(written(stats), 50);
        assert_eq!(written(""), 0);
    }
}
