//! `fathom doctor DEVICE --watch 60s --latency`: the latency of each device of the stack while it is watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use analysis::Ladder;
use host::{DRAIN, LatencyWatch};
use layers::machine::{LATENCY, device_latencies};
use layers::probe::PlacedDevice;
use layers::standing::{Node, StandingStack};

use crate::failure::Failure;
use crate::terminal::{Style, Text, say};

/// A measurement under way, in a thread of its own, since the kernel's buffers must be emptied in time.
pub struct Measuring {
    devices: Vec<PlacedDevice>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<[String; 2]>,
}

/// Begins to measure the block devices of a stack, after what a killed measurement left was removed.
pub fn begin(stack: &StandingStack) -> Result<Measuring, Failure> {
    let left = host::abandoned();
    if !left.is_empty() {
        host::clear_abandoned().map_err(Failure::environment)?;
        say(&format!("removed what a killed measurement left: {}", left.join(", ")));
    }
    let devices = devices(stack);
    let (measured, stop) = (devices.clone(), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop);
    let (begun, begins) = channel();
    let thread = std::thread::spawn(move || {
        let mut watch = LatencyWatch::begin(&host::own_name(), &measured);
        let before = watch.read();
        // Sending fails only if the caller is gone.
        let _ = begun.send(());
        while !stopped.load(Ordering::Relaxed) {
            std::thread::sleep(DRAIN);
            watch.drain();
        }
        [before, watch.read()]
    });
    // The watch begins only after the measurement. If the thread ended too early, `end` reports it.
    let _ = begins.recv();
    Ok(Measuring { devices, stop, thread })
}

impl Measuring {
    /// Ends it.
    pub fn end(self) -> Result<Ladder, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let texts = self.thread.join();
        let texts = texts.map_err(|_| Failure::environment("Measuring latency ended too early"))?;
        let [before, after] = texts.map(|text| layers::parse(LATENCY, &text));
        let (before, after) =
            (before.map_err(Failure::environment)?, after.map_err(Failure::environment)?);
        let found = device_latencies(&before.numbers, &after.numbers, &self.devices);
        Ok(analysis::ladder(None, &found))
    }
}

/// The block devices of a stack, each with those that it stands on.
fn devices(stack: &StandingStack) -> Vec<PlacedDevice> {
    // In a reading a blank ends each name.
    let name = |node: &Node| node.name.replace(' ', "_");
    let placed = stack.nodes.iter().filter(is_block).map(|node| PlacedDevice {
        name: name(node),
        // The kernel writes a slash in a name as an exclamation mark.
        path: format!("/dev/{}", node.id.replace('!', "/")),
        on: devices_under(stack, node, stack.nodes.len()).into_iter().map(name).collect(),
    });
    placed.collect()
}

/// Tells whether a node is a block device: the id of a mounted file system is its directory.
fn is_block(node: &&Node) -> bool {
    !node.id.starts_with('/')
}

/// The devices directly under a node; for a device in a file, those of the file's file system. `depth` ends a circle.
fn devices_under<'a>(stack: &'a StandingStack, node: &Node, depth: usize) -> Vec<&'a Node> {
    let below = node.on.iter().filter_map(|(_, id)| stack.node(id));
    let each = below.flat_map(|node_below| match (is_block(&node_below), depth) {
        (true, _) => vec![node_below],
        (false, 0) => Vec::new(),
        (false, _) => devices_under(stack, node_below, depth - 1),
    });
    each.collect()
}

/// Returns the ladder for people.
pub fn text(ladder: &Ladder, style: Style) -> Text {
    let mut text = Text::new();
    text.line(style.dim("Latency by layer, each device before those under it:"));
    let lines = report::ladder::lines(ladder);
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    text.append(&Text::as_it_is(&lines));
    text.line(format!("  {}", ladder.says()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_no_devices_and_devices_stand_on_those_under_them() {
        let node = |id: &str, name: &str, on: &[&str]| Node {
            id: id.into(),
            name: name.into(),
            on: on.iter().map(|id| ("data".to_owned(), (*id).to_owned())).collect(),
            ..Node::default()
        };
        let stack = StandingStack {
            nodes: vec![
                node("/srv", "/srv", &["dm-0"]),
                node("dm-0", "a pool", &["cciss!c0d0"]),
                node("loop0", "loop0", &["/srv"]),
                node("cciss!c0d0", "cciss!c0d0", &["gone"]),
            ],
            ..StandingStack::default()
        };
        let placed = devices(&stack);
        let names: Vec<_> = placed.iter().map(|device| (&*device.name, &*device.path)).collect();
        let wanted = ["/dev/dm-0", "/dev/loop0", "/dev/cciss/c0d0"];
        assert_eq!(names, [("a_pool", wanted[0]), ("loop0", wanted[1]), ("cciss!c0d0", wanted[2])]);
        let on: Vec<_> = placed.iter().map(|device| device.on.join(" ")).collect();
        assert_eq!(
            on,
            ["cciss!c0d0", "a_pool", ""],
            "what lies in a file stands on its file system's device"
        );
    }
}
