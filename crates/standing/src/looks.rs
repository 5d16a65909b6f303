//! Looks at a stack, one after another: counters of its devices and layers, and the CPU time of the kernel's threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use layers::machine::{DISKSTATS, TICK_S};
use layers::standing::StandingStack;
use sys::dm::Dm;
use sys::task::Task;

use crate::live::{block, sysfs, text};
use crate::node::of_block;
use crate::recorded::Recorded;

/// Numbers by name; `None` where the source said that there is none.
pub(crate) type Numbers = BTreeMap<String, Option<f64>>;

/// One look.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// The time at which it began, seconds since the first look.
    pub at_s: f64,
    /// The devices by the kernel's names, or why one is gone.
    pub devices: BTreeMap<String, Result<DeviceLook, String>>,
    /// The kernel's threads by their numbers.
    pub threads: BTreeMap<String, ThreadLook>,
}

/// One device at one look.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceLook {
    /// The time at which it was read, seconds since the first look.
    pub at_s: f64,
    /// The counters of the block device, by the names of the parser of `/proc/diskstats`.
    pub io: Numbers,
    /// The layer's own numbers.
    pub own_numbers: Numbers,
}

/// One thread at one look.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadLook {
    /// Its name.
    pub name: String,
    /// Its CPU time since it began, seconds.
    pub cpu_s: f64,
}

/// Looks `count` times at the devices of a stack, in a thread of its own: a device that does not answer blocks that thread, not the caller.
pub(crate) fn looks(
    read: &Recorded,
    stack: &StandingStack,
    every: Duration,
    count: u32,
) -> Receiver<Look> {
    let known = |id: &str| read.blocks.iter().any(|block| block.name == id);
    let nodes = stack.nodes.iter().filter(|node| known(&node.id));
    let devices = nodes.map(|node| Device {
        id: node.id.clone(),
        identity: identity(&node.id),
        has_own: !node.counters.is_empty(),
    });
    let looker = Looker {
        devices: devices.collect(),
        others: BTreeSet::new(),
        all: read.clone(),
        dm: Dm::open(),
        since: Instant::now(),
    };
    let (sender, receiver) = channel();
    std::thread::spawn(move || looker.run(&sender, every, count));
    receiver
}

/// A device as it was at first.
struct Device {
    id: String,
    identity: Option<String>,
    has_own: bool,
}

struct Looker {
    devices: Vec<Device>,
    /// Numbers of tasks that are not threads of the kernel.
    others: BTreeSet<String>,
    all: Recorded,
    dm: io::Result<Dm>,
    since: Instant,
}

impl Looker {
    fn run(mut self, sender: &Sender<Look>, every: Duration, count: u32) {
        for number in 0..count {
            let due = self.since + every * number;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let look = self.look();
            self.devices.retain(|device| look.devices.get(&device.id).is_some_and(Result::is_ok));
            if sender.send(look).is_err() {
                return;
            }
        }
    }

    fn look(&mut self) -> Look {
        let at_s = self.since.elapsed().as_secs_f64();
        let devices = self.devices.iter().map(|device| (device.id.clone(), self.device(device)));
        let devices = devices.collect();
        Look { at_s, devices, threads: self.threads() }
    }

    fn device(&self, device: &Device) -> Result<DeviceLook, String> {
        let id = &device.id;
        let read = |name: &str| text(&sysfs(id).join(name)).map_err(|e| format!("it is gone: {e}"));
        let at_s = self.since.elapsed().as_secs_f64();
        let stat = read("stat")?;
        if read("size")?.trim_end() == "0" {
            return Err("there is nothing in it any more".to_owned());
        }
        if identity(id) != device.identity {
            return Err("another device has its name now".to_owned());
        }
        let parsed = layers::parse(DISKSTATS, &format!("{id} {stat}"));
        let parsed = parsed.map_err(|error| error.to_string())?;
        let io = parsed.numbers.into_iter().filter_map(|(name, value)| {
            Some((name.strip_prefix(id.as_str())?.strip_prefix('.')?.to_owned(), value))
        });
        let counters = device.has_own.then(|| block(id, self.dm.as_ref(), &[])).flatten();
        let counters =
            counters.map_or_else(Numbers::new, |block| of_block(&block, &self.all).0.counters);
        Ok(DeviceLook { at_s, io: io.collect(), own_numbers: counters })
    }

    fn threads(&mut self) -> BTreeMap<String, ThreadLook> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(id) = entry.file_name().into_string() else { continue };
            if !id.bytes().all(|byte| byte.is_ascii_digit()) || self.others.contains(&id) {
                continue;
            }
            let stat = fs::read(entry.path().join("stat"));
            let stat = stat.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let Some(task) = stat.ok().and_then(|stat| Task::of(&stat)) else { continue };
            if !task.of_kernel {
                self.others.insert(id);
                continue;
            }
            let cpu_s = task.user_ticks.saturating_add(task.system_ticks) as f64 * TICK_S;
            found.insert(id, ThreadLook { name: task.name, cpu_s });
        }
        found
    }
}

/// An identifier of a device that is unique as long as the machine is up; a partition's is its device number.
fn identity(id: &str) -> Option<String> {
    let at = sysfs(id);
    text(&at.join("diskseq")).or_else(|_| text(&at.join("dev"))).ok()
}
