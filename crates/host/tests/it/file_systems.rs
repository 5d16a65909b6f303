//! Every layer that is a file system, on a real loop device: made, mounted, read, trimmed, taken down; also after a step that failed.

use std::path::Path;
use std::process::Command;

use host::{Executor, RealMachine};
use layers::step::Action;
use layers::{ActionRequest, Kind, Place, RaisePlan, kinds, on_device};
use sys::clock::Clock;
use sys::interrupt::Interrupt;

use crate::loop_device::Loop;

const SIZE: u64 = 512 << 20;

/// Kinds that are file systems, as far as this machine has them.
fn file_systems(test: &str) -> Vec<&'static Kind> {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let there = |kind: &&Kind| {
        let has = |tool: &&str| {
            ["/usr/sbin", "/usr/bin"].iter().any(|dir| Path::new(dir).join(tool).exists())
        };
        known.contains(&format!("\t{}\n", kind.name)) && kind.needs.tools.iter().all(has)
    };
    let all = kinds().iter().filter(|kind| kind.offers_files);
    let (there, missing): (Vec<&Kind>, Vec<&Kind>) = all.partition(there);
    missing.iter().for_each(|kind| println!("SKIP {test} of {}: not on this machine", kind.name));
    there
}

/// A stack of one layer on a loop device.
struct Stack {
    device: Loop,
    tag: &'static str,
    executor: Executor,
    raised: RaisePlan,
}

fn stack(test: &str, tag: &'static str, kind: &Kind, settings: &str) -> Option<Stack> {
    let device = Loop::of(test, SIZE)?;
    let inputs = on_device("{device.data}", SIZE);
    let at = Place { name: "fs", run_tag: tag, inputs: &inputs };
    let raised = (kind.parse)(&settings.parse().unwrap()).unwrap().raise(&at).unwrap();
    let mut executor = Executor::new(RealMachine::new(), &Clock::real(), &Interrupt::new());
    let path = device.device.to_str().unwrap();
    executor.bind("device.data", path);
    executor.owns(path);
    Some(Stack { device, tag, executor, raised })
}

impl Stack {
    fn mount(&self) -> &Path {
        Path::new(self.raised.offer.path())
    }

    /// Reads a probe, and gives one of its fields.
    fn figure(&mut self, probe: &str, field: &str) -> f64 {
        let probe =
            self.raised.probes.iter().find(|known| known.id == format!("fs.{probe}")).unwrap();
        let source = self.executor.resolve_source(&probe.source).unwrap();
        let text = self.executor.read(&source).unwrap();
        layers::parse(&probe.parser, &text).unwrap().numbers[field].unwrap()
    }

    /// Takes all down; nothing of it is left.
    fn take_down(mut self) {
        let mount = self.mount().to_owned();
        for record in self.executor.undo_all() {
            assert_eq!(record.error, None, "{}", record.about);
        }
        assert_eq!(self.executor.leftovers(self.tag), Vec::<String>::new());
        assert!(!mount.exists());
        let blkid = Command::new("blkid").arg("--probe").arg(&self.device.device).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&blkid.stdout), "");
    }
}

#[test]
fn a_file_system_of_a_run_that_was_killed_is_taken_down_by_another_process() {
    let (test, tag) = ("a_file_system_of_a_run_that_was_killed", "0f5f5f52");
    for kind in file_systems(test) {
        let Some(mut stack) = stack(test, tag, kind, "") else { return };
        for step in stack.raised.up.clone() {
            stack.executor.step(&step).1.unwrap();
        }
        let path = stack.device.device.to_str().unwrap();
        let mut cleaner = Executor::new(RealMachine::new(), &Clock::real(), &Interrupt::new());
        cleaner.bind("device.data", path);
        cleaner.owns(path);
        for step in &stack.raised.up {
            cleaner.take_over_undo(host::Owed::all_of(None, step));
        }
        assert!(
            sys::block::mount_points(sys::block::number(path.as_ref()).unwrap().unwrap())
                .unwrap()
                .contains(&stack.mount().to_owned())
        );
        // It ends without a word, as a process that is killed.
        stack.executor = cleaner;
        stack.take_down();
    }
}

#[test]
fn every_file_system_is_made_mounted_read_trimmed_and_taken_down() {
    let (test, tag) = ("every_file_system_is_made", "0f5f5f50");
    for kind in file_systems(test) {
        let settings = match kind.name {
            "btrfs" => "compression = \"zstd\"\nmount_options = \"noatime\"",
            "ext4" => {
                "mkfs_options = \"-m 0\"\ndiscard = true\nmount_options = \"noatime,data=writeback\""
            }
            _ => "mkfs_options = \"-d agcount=2\"\nmount_options = \"lazytime,allocsize=64k\"",
        };
        let Some(mut stack) = stack(test, tag, kind, settings) else { return };
        for step in stack.raised.up.clone() {
            stack.executor.step(&step).1.unwrap();
        }
        let figure = match kind.name {
            "btrfs" => ("data", "disk_used"),
            "ext4" => ("writes", "session_write_kbytes"),
            _ => ("stats", "blocks_allocated"),
        };
        let before = (stack.figure("statfs", "used_bytes"), stack.figure(figure.0, figure.1));
        std::fs::write(stack.mount().join("file"), vec![7; 32 << 20]).unwrap();
        for step in stack.raised.settle.clone() {
            stack.executor.step(&step).1.unwrap();
        }
        let after = (stack.figure("statfs", "used_bytes"), stack.figure(figure.0, figure.1));
        let grew = after.0 - before.0;
        // What is all alike compresses to nearly nothing.
        let compressed = kind.name == "btrfs";
        assert_eq!(grew > f64::from(30 << 20), !compressed, "{}: {grew}", kind.name);
        assert!(after.1 > before.1, "{}: {before:?} and {after:?}", kind.name);
        let inputs = on_device("{device.data}", SIZE);
        let at = Place { name: "fs", run_tag: tag, inputs: &inputs };
        let none = "".parse().unwrap();
        let request = ActionRequest { action: "trim", keys: &none, before: &none };
        let trim = (kind.parse)(&none).unwrap().act(&at, &request).unwrap();
        for step in trim.steps {
            stack.executor.step(&step).1.unwrap();
        }
        stack.take_down();
    }
}

#[test]
fn nothing_is_left_of_a_file_system_whose_mount_failed() {
    let (test, tag) = ("nothing_is_left_of_a_file_system", "0f5f5f51");
    for kind in file_systems(test) {
        let Some(mut stack) = stack(test, tag, kind, "") else { return };
        let mut up = stack.raised.up.clone();
        if let Action::Mount { options, .. } = &mut up[1].action {
            *options = "no_such_option_at_all".into();
        }
        stack.executor.step(&up[0]).1.unwrap();
        assert!(stack.executor.step(&up[1]).1.is_err(), "{}", kind.name);
        stack.take_down();
    }
}
