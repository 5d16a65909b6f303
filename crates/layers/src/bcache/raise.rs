//! The steps that raise and change a cached device, and the probes that sample it.

use super::names::{BUCKETS, CACHE, DEVICE, LEGS, ORIGIN, STATS, VALUE, WHOLE, device, set};
use super::parsers::printed;
use super::setup::{KEYS, Setup};
use crate::key::Key;
use crate::layer::{Layer, Offer, Place, RaisePlan};
use crate::probe::{NamedDevice, Probe, Source};
use crate::read_back::read_back;
use crate::step::{Action, Condition, Mark, Step};

/// Places in the superblock, which begins at the second page: the UUID of the set, and the label of the cached device.
const SET_AT: u64 = 4096 + 56;
const LABEL_AT: u64 = 4096 + 72;
/// The longest label.
const LABEL: usize = 31;
/// Space of the origin before its data.
const HEADER: u64 = 8 << 10;

/// Everything about the cached device at its place.
pub(super) fn raise(setup: &Setup, at: &Place) -> RaisePlan {
    let mut up = made(setup, at);
    up.extend(named(at));
    // A device whose set was refused comes up all the same, without a cache.
    let attached = says("look whether the cache is in front of it", state(at), "clean");
    up.push(Step { deadline_s: 30, ..attached });
    up.extend(setup.formatted(at));
    up.extend(setup.attribute_steps(at));
    let path = node(at);
    RaisePlan {
        up,
        nodes: vec![NamedDevice { name: at.name.to_owned(), path: path.clone() }],
        probes: probes(at, &path),
        ready: Vec::new(),
        settle: vec![Step::flush(&path)],
        offer: Offer::Block { device: path, bytes: at.block(ORIGIN).1.saturating_sub(HEADER) },
        allocate: None,
        // A bucket's state, and its places in the heap and the lists of free ones (bcache.h).
        memory_bytes: setup.buckets(at) * 64,
        computed: Vec::new(),
    }
}

fn step(about: &str, action: Action, undo: Vec<Action>) -> Step {
    Step { about: about.to_owned(), action, undo, deadline_s: 120 }
}

/// Writes an attribute; `reads` is what it must read afterwards, if it can be read.
pub(super) fn write(path: String, value: &str, reads: Option<String>) -> Action {
    Action::Write { path, value: value.to_owned(), reads, may_be_gone: false }
}

/// The attribute that says whether the device has a cache.
pub(super) fn state(at: &Place) -> String {
    format!("{}/state", device(at))
}

/// The label by which the cached device is known as the run's, also without a cache.
fn label(at: &Place) -> String {
    at.tagged().chars().take(LABEL).collect()
}

/// Returns the steps that make the set and register it with the kernel, with the cached device as a part of it.
fn made(setup: &Setup, at: &Place) -> Vec<Step> {
    let ((origin, _), (cache, _), uuid) = (at.block(ORIGIN), at.block(CACHE), at.uuid_text());
    let [bucket, block] = [setup.bucket_size, setup.block_size].map(|bytes| bytes.to_string());
    let argv = [
        &["make-bcache", "--cset-uuid", &uuid, "--bucket", &bucket, "--block", &block][..],
        &["-C", cache, "-B", origin],
    ];
    let wipe = |device: &str, at, bytes| Action::Wipe {
        device: device.to_owned(),
        mark: Some(Mark { at, bytes }),
    };
    let id = at.uuid().to_vec();
    let make = step(
        "make the cache and the cached device",
        Action::Command {
            argv: argv.concat().into_iter().map(str::to_owned).collect(),
            removes: None,
        },
        // udev may have registered the set before the next step does.
        [
            stop_set(&uuid),
            vec![
                wipe(cache, SET_AT, id.clone()),
                wipe(origin, SET_AT, id),
                wipe(origin, LABEL_AT, label(at).into_bytes()),
            ],
        ]
        .concat(),
    );
    // Where udev has registered it already, that is fine.
    let register = |device: &str| write("/sys/fs/bcache/register_quiet".into(), device, None);
    vec![
        make,
        step("register the cache", register(cache), stop_set(&uuid)),
        // Stopping the set also stops what belongs to it.
        step("register the cached device", register(origin), Vec::new()),
    ]
}

/// Stops a set, by its UUID.
pub(super) fn stop_set(uuid: &str) -> Vec<Action> {
    stop(&format!("/sys/fs/bcache/{uuid}"), "block_size")
}

/// Stops a cached device, by its name.
pub(super) fn stop_device(node: &str) -> Vec<Action> {
    stop(&format!("/sys/block/{node}/bcache"), "running")
}

/// Stops the object whose attributes are at `path`, and waits until one of them is gone.
fn stop(path: &str, attribute: &str) -> Vec<Action> {
    vec![Action::let_go(format!("{path}/stop")), Action::await_gone(format!("{path}/{attribute}"))]
}

/// Steps that find the name that the kernel gave to the cached device, and label it as the run's.
fn named(at: &Place) -> [Step; 3] {
    let source = Source::Holders { device: at.block(ORIGIN).0.to_owned() };
    let until = Condition::AtLeast { field: "devices".into(), least: 1.0 };
    let (parser, every_ms) = (DEVICE.to_owned(), 100);
    let wait = Action::Wait { source: source.clone(), parser: parser.clone(), until, every_ms };
    let (device_path, label) = (device(at), label(at));
    [
        step("wait for the cached device", wait, Vec::new()),
        step(
            "note the name that the kernel gave it",
            Action::Bind { source, parser, prefix: at.name.to_owned() },
            Vec::new(),
        ),
        step(
            "label it",
            write(format!("{device_path}/label"), &label, Some(label.clone())),
            stop_device(&format!("{{{}.node}}", at.name)),
        ),
    ]
}

/// Returns steps that check that the attribute of a setting has this value.
fn looks(key: &str, path: String, says: String) -> Vec<Step> {
    let about = format!("look whether {key} is what was asked for");
    let look = read_back(&Source::File { path }, VALUE, vec![("value", says)]);
    look.into_iter().map(|step| Step { about: about.clone(), ..step }).collect()
}

/// Returns a wait until an attribute has this value.
pub(super) fn says(about: &str, path: String, is: &str) -> Step {
    let until = Condition::Text { field: "value".into(), is: is.to_owned() };
    let (source, parser) = (Source::File { path }, VALUE.to_owned());
    let wait = Action::Wait { source, parser, until, every_ms: 100 };
    Step { deadline_s: 1800, ..step(about, wait, Vec::new()) }
}

impl Setup {
    /// Returns steps that check that the set has the sizes asked for, where they are not the tool's defaults.
    fn formatted(&self, at: &Place) -> Vec<Step> {
        let settings = self.settings();
        let sizes = [("bucket_size", self.bucket_size), ("block_size", self.block_size)];
        let given = sizes.into_iter().filter(|(name, _)| {
            let key = KEYS.iter().find(|key| key.name == *name);
            key.is_some_and(|key| settings.get(*name).is_some_and(|value| *value != key.default()))
        });
        given
            .flat_map(|(name, bytes)| looks(name, format!("{}/{name}", set(at)), printed(bytes)))
            .collect()
    }

    /// Returns steps that set each setting that can change while it runs and is not the kernel's default.
    pub(super) fn attribute_steps(&self, at: &Place) -> Vec<Step> {
        let settings = self.settings();
        let is_given =
            |key: &&Key| settings.get(key.name).is_some_and(|value| *value != key.default());
        KEYS.iter()
            .filter(is_given)
            .filter_map(|key| self.attribute(at, key.name))
            .flatten()
            .collect()
    }

    /// Returns steps that set a setting that can change while it runs, and check that the kernel has it.
    pub(super) fn attribute(&self, at: &Place, key: &str) -> Option<Vec<Step>> {
        let value = self.settings().remove(key).filter(|_| CHANGEABLE.contains(&key))?;
        let path = match key {
            "mode" => format!("{}/cache_mode", device(at)),
            "sequential_cutoff" | "writeback_percent" => format!("{}/{key}", device(at)),
            _ => format!("{}/{key}", set(at)),
        };
        // The kernel refuses a size with a unit, but prints one.
        let (value, says) = match key {
            "sequential_cutoff" => {
                (self.sequential_cutoff.to_string(), printed(self.sequential_cutoff))
            }
            _ => (value.clone(), value),
        };
        let change = step(&format!("set {key}"), write(path.clone(), &value, None), Vec::new());
        Some([change].into_iter().chain(looks(key, path, says)).collect())
    }
}

/// Settings that can change while it runs.
pub(super) const CHANGEABLE: &[&str] = &[
    "mode",
    "sequential_cutoff",
    "congested_read_threshold_us",
    "congested_write_threshold_us",
    "writeback_percent",
];

/// The cached device as the kernel names it.
fn node(at: &Place) -> String {
    format!("/dev/{{{}.node}}", at.name)
}

fn probes(at: &Place, whole: &str) -> Vec<Probe> {
    let (device_path, set) = (device(at), set(at));
    let file = |path: String| Source::File { path };
    let devices = [(WHOLE, whole), (ORIGIN, at.block(ORIGIN).0), (CACHE, at.block(CACHE).0)];
    let devices =
        devices.map(|(name, path)| NamedDevice { name: name.to_owned(), path: path.to_owned() });
    let all = [
        ("stats", Source::Directory { path: format!("{device_path}/stats_total") }, STATS),
        ("dirty", file(format!("{device_path}/dirty_data")), VALUE),
        ("available", file(format!("{set}/cache_available_percent")), VALUE),
        ("legs", Source::Diskstats { devices: devices.into() }, LEGS),
    ];
    let all = all.map(|(what, source, parser)| Probe::each_second(at.name, what, source, parser));
    // It is slow to read: the kernel sorts all buckets for it.
    let path = format!("{set}/cache0/priority_stats");
    let buckets = Probe::each_second(at.name, "buckets", file(path), BUCKETS);
    all.into_iter().chain([Probe { every_ms: 5000, ..buckets }]).collect()
}
