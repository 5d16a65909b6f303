//! The machine that steps are done to: the real one, or a simulated one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use layers::Writes;
use layers::probe::Source;
use layers::step::{Condition, Mark};
use results::model::AskedContent;
use rustix::fs::FlockOperation;
use sys::block::{Number, sysfs};
use sys::dm::Dm;
use sys::identity::Identity;
use sys::interrupt::Interrupt;
use sys::kernel_log::{KernelLog, Record};
use sys::meant::Meant;
use units::Nanos;

use crate::child::{self, CommandOutput};
use crate::held::HeldDevices;
use crate::leftovers::{self, Removal};
use crate::lines::Listener;
use crate::measured::{self, CommandOutcome, MeasuredCommand};
use crate::mounts::HeldMount;
use crate::node::ClaimedDevice;
use crate::process::Process;
use crate::sources::{Reader, SourceReader};
use crate::trace;

/// The machine that steps are done to. All names in the arguments are resolved.
pub trait Machine: Send {
    /// Runs a command; fails when it cannot be started.
    fn command(
        &mut self,
        argv: &[String],
        deadline: Nanos,
        interrupt: &Interrupt,
    ) -> io::Result<CommandOutput>;

    /// Runs a command of a stage and measures it; `listener` gets every line that it prints. Fails when it cannot be started.
    fn measured(
        &mut self,
        work: &MeasuredCommand,
        interrupt: &Interrupt,
        listener: &mut Listener,
    ) -> io::Result<CommandOutcome>;

    /// Empties a device; returns a note for the user where it could not be emptied wholly by a discard.
    fn discard(&mut self, device: &str) -> io::Result<Option<String>>;

    /// Zeroes the first and the last MiB of a device; fine where it does not exist. After another process has worked on the machine, and with a mark
    /// given, only a device that has this mark is wiped.
    fn wipe(&mut self, device: &str, mark: Option<&Mark>) -> io::Result<()>;

    /// Tells whether a device has this mark.
    fn carries(&mut self, _device: &str, _mark: &Mark) -> bool {
        false
    }

    /// Returns the identity of a block device, to tell it from another one under its name; `None` where the machine has no real devices.
    ///
    /// # Errors
    /// When it is not there, or cannot be examined.
    fn identity(&self, _device: &str) -> io::Result<Option<Identity>> {
        Ok(None)
    }

    /// Tells whether another run, or a load, has claimed a device.
    fn is_claimed(&self, _device: &str) -> bool {
        false
    }

    /// Notes that a device belongs to the run; its mounts then belong to the run, too.
    fn owns(&mut self, _device: &str) {}

    /// Writes to stable storage what the device holds in caches.
    fn flush(&mut self, device: &str) -> io::Result<()>;

    /// The text of a source.
    fn read(&mut self, source: &Source) -> io::Result<String>;

    /// Removes those device-mapper nodes that exist; returns the ones that it removed.
    fn remove_nodes(&mut self, nodes: &[String]) -> io::Result<Vec<String>>;

    /// Writes out what the kernel holds of files in memory.
    fn sync(&mut self) -> io::Result<()>;

    /// Writes a value to an attribute of the kernel.
    fn write(&mut self, path: &str, value: &str) -> io::Result<()>;

    /// Sets a value of the environment and reads it back; `device` is the device that the setting belongs to, if any.
    ///
    /// # Errors
    /// When the kernel does not accept it; the error names the file and the values that it accepts.
    fn set(&mut self, setting: &str, _device: Option<&str>, _value: &str) -> io::Result<()> {
        Err(io::Error::other(format!("this machine has no {setting}")))
    }

    /// Makes a directory and mounts a file system there.
    fn mount(
        &mut self,
        device: &str,
        directory: &str,
        filesystem: &str,
        options: &str,
    ) -> io::Result<()>;

    /// Unmounts and removes a directory; fine where it does not exist. With `device`, nothing else than that is unmounted.
    fn unmount(&mut self, directory: &str, device: Option<&str>) -> io::Result<()>;

    /// Starts a process that keeps running.
    fn start(&mut self, name: &str, argv: &[String]) -> io::Result<()>;

    /// Ends the process that was started under this name, and waits for it; fine when there is none.
    fn stop(&mut self, name: &str) -> io::Result<()>;

    /// Records an event of the kernel in a trace instance, limited to writes to `device` if one is given; returns the reason if it cannot be
    /// recorded.
    fn trace(
        &mut self,
        _instance: &str,
        _event: &str,
        _device: Option<&str>,
    ) -> io::Result<Option<String>> {
        Ok(Some("a simulated machine has no tracefs".to_owned()))
    }

    /// Removes a trace instance; fine where it is not there.
    fn untrace(&mut self, _instance: &str) -> io::Result<()> {
        Ok(())
    }

    /// Reboots the machine.
    ///
    /// # Errors
    /// On a machine that cannot be rebooted, such as the one that this program runs on.
    fn reboot(&mut self) -> io::Result<()> {
        Err(io::Error::other("only the lab boots a machine anew"))
    }

    /// Holds those of `names` that lead to block devices, and no others: from now on each has to lead to the same one.
    ///
    /// # Errors
    /// When the name of a released device now leads to another one, or one of `needed` does not exist.
    fn hold(&mut self, _names: &[String], _needed: &[String]) -> io::Result<()> {
        Ok(())
    }

    /// Releases the held devices, which their layers are about to change.
    fn release(&mut self) {}

    /// Checks that every claimed or held device and every mounted file system is still the one that steps mean; with `words`, only the devices that
    /// they name.
    ///
    /// # Errors
    /// When one of them is gone, or something else stands in its place.
    fn intact(&mut self, _words: Option<&str>) -> io::Result<()> {
        Ok(())
    }

    /// Returns the path by which to open `path`, and what has to be opened, where that is known. For a path on a file system that was mounted here,
    /// it is one that does not depend on the mount directory. It is good until the next step.
    fn way(&self, path: &Path) -> (PathBuf, Option<Meant>) {
        (path.to_owned(), None)
    }

    /// Returns what is still there of the run with this tag.
    fn leftovers(&mut self, tag: &str) -> Vec<String>;

    /// Returns the removals of all that, in the order in which to do them.
    fn removals(&mut self, _tag: &str) -> Vec<Removal> {
        Vec::new()
    }

    /// Returns files that keep directories of that run from being removed.
    fn in_directories(&mut self, _tag: &str) -> Vec<String> {
        Vec::new()
    }

    /// Tells whether something of the run with this tag stands on a device.
    fn bears(&mut self, _device: &str, _tag: &str) -> bool {
        false
    }

    /// Returns the block devices that carry something of the run with this tag; none where the machine has no real devices.
    fn bearers(&mut self, _tag: &str) -> Vec<String> {
        Vec::new()
    }

    /// Tells a simulated machine what a load wrote to the layer called `target`; a real machine needs no telling.
    fn wrote(&mut self, _target: &str, _writes: &Writes, _content: &AskedContent) {}

    /// Tells a simulated machine that something wrote to it, and that it is unknown what.
    fn lost_track(&mut self) {}

    /// Tells whether a wait counts as over though its condition does not hold: on a simulated machine, where nothing would ever bring it about.
    fn grants(&mut self, _source: &Source, _until: &Condition) -> bool {
        false
    }
}

/// This machine.
#[derive(Default)]
pub struct RealMachine {
    reader: Reader,
    /// Programs that were run: only these are asked for their leftovers.
    ran: BTreeSet<String>,
    /// Tells whether another process may have run any program.
    after_another: bool,
    /// Processes that were started and not stopped.
    processes: BTreeMap<String, Process>,
    /// Devices that are written to.
    devices: Vec<ClaimedDevice>,
    /// Devices that the stack of the cell consists of.
    held: HeldDevices,
    /// File systems that were mounted, by directory.
    mounts: BTreeMap<String, HeldMount>,
    /// Devices of the run on which another process may have made something.
    owned: BTreeSet<String>,
    /// Devices that could not be wiped.
    unwiped: BTreeSet<String>,
}

impl RealMachine {
    /// This machine.
    pub fn new() -> Self {
        Self::default()
    }

    /// This machine, with the devices that are written to: each step first checks that they still are those that were claimed.
    pub fn with_devices(devices: Vec<ClaimedDevice>) -> Self {
        Self { devices, ..Self::default() }
    }

    /// This machine, on which another process may have run any program.
    pub fn after_another() -> Self {
        Self { after_another: true, ..Self::default() }
    }
}

impl Machine for RealMachine {
    fn command(
        &mut self,
        argv: &[String],
        deadline: Nanos,
        interrupt: &Interrupt,
    ) -> io::Result<CommandOutput> {
        let program = argv.first().map(|program| program.rsplit('/').next().unwrap_or(program));
        self.ran.extend(program.map(str::to_owned));
        let log = KernelLog::from_now_on();
        let mut output = child::run(argv, Duration::from(deadline), interrupt)?;
        if output.code != Some(0) {
            output.kernel = log.ok().and_then(|mut log| refusal(log.records().flatten()));
        }
        Ok(output)
    }

    fn measured(
        &mut self,
        work: &MeasuredCommand,
        interrupt: &Interrupt,
        listener: &mut Listener,
    ) -> io::Result<CommandOutcome> {
        measured::run(work, interrupt, listener)
    }

    fn discard(&mut self, device: &str) -> io::Result<Option<String>> {
        let mut file = OpenOptions::new().read(true).write(true).open(device)?;
        self.check_opened(device, &file)?;
        let refused = match sys::block::discard_whole(&file) {
            Ok(()) => None,
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Some(error),
            Err(error) => return Err(error),
        };
        let wiped = wipe_ends(&mut file)?;
        Ok(match (refused, wiped) {
            (Some(_), _) => Some(format!(
                "{device} cannot discard: only its first and last MiB were zeroed, and cells do not start from an equally empty device"
            )),
            (None, true) => Some(format!(
                "{device} keeps data after a discard; its first and last MiB were zeroed"
            )),
            (None, false) => None,
        })
    }

    fn wipe(&mut self, device: &str, mark: Option<&Mark>) -> io::Result<()> {
        let wiped = self.wiped(device, mark);
        match &wiped {
            Ok(()) => self.unwiped.remove(device),
            Err(_) => self.unwiped.insert(device.to_owned()),
        };
        wiped
    }

    fn carries(&mut self, device: &str, mark: &Mark) -> bool {
        File::open(device).is_ok_and(|file| has(&file, mark))
    }

    fn identity(&self, device: &str) -> io::Result<Option<Identity>> {
        // Opening must not block, whatever the path leads to now, such as a drive without a medium or a FIFO.
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(device)?;
        Identity::of(&opened).map(Some)
    }

    fn is_claimed(&self, device: &str) -> bool {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(device);
        opened.is_ok_and(|file| {
            let lock = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
            lock.is_err_and(|error| error == rustix::io::Errno::WOULDBLOCK)
        })
    }

    fn owns(&mut self, device: &str) {
        self.owned.insert(device.to_owned());
    }

    fn flush(&mut self, device: &str) -> io::Result<()> {
        // Read-only on purpose: closing a writer makes udev read the device again.
        let file = File::open(device)?;
        self.check_opened(device, &file)?;
        // fsync of a directory writes out only its names, not the data below it.
        if file.metadata()?.is_dir() {
            return Ok(rustix::fs::syncfs(&file)?);
        }
        sys::block::flush(&file)
    }

    fn read(&mut self, source: &Source) -> io::Result<String> {
        self.reader.read(source)
    }

    fn remove_nodes(&mut self, nodes: &[String]) -> io::Result<Vec<String>> {
        if !Path::new("/dev/mapper/control").exists() {
            return Ok(Vec::new());
        }
        let dm = Dm::open()?;
        let there = dm.names()?;
        let mut removed = Vec::new();
        let mut failed = None;
        for node in nodes.iter().filter(|node| there.contains(node)) {
            if let Err(error) = self.held.check_named(&format!("/dev/mapper/{node}")) {
                failed = Some(error);
                continue;
            }
            match dm.remove(node) {
                Ok(()) => {
                    // Without udev the node in /dev would stay; with udev this finds nothing.
                    let _ = std::fs::remove_file(format!("/dev/mapper/{node}"));
                    removed.push(node.clone());
                }
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(removed), Err)
    }

    fn sync(&mut self) -> io::Result<()> {
        rustix::fs::sync();
        Ok(())
    }

    fn write(&mut self, path: &str, value: &str) -> io::Result<()> {
        // One write call, as sysfs wants it; the file is neither created nor truncated.
        OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
    }

    fn set(&mut self, setting: &str, device: Option<&str>, value: &str) -> io::Result<()> {
        let Some(device) = device else { return crate::environment::set(setting, None, value) };
        // The name is followed without opening the device.
        let path = libc::O_PATH;
        let opened = OpenOptions::new().read(true).custom_flags(path).open(device)?;
        self.check_opened(device, &opened)?;
        let number = Number::from_dev(opened.metadata()?.rdev());
        crate::environment::set(setting, Some(&sysfs(number)), value)
    }

    fn mount(
        &mut self,
        device: &str,
        directory: &str,
        filesystem: &str,
        options: &str,
    ) -> io::Result<()> {
        crate::mounts::mount(device, directory, filesystem, options)?;
        let held = HeldMount::of(directory)?;
        self.mounts.insert(directory.to_owned(), held);
        Ok(())
    }

    fn unmount(&mut self, directory: &str, device: Option<&str>) -> io::Result<()> {
        match self.mounts.get(directory) {
            Some(held) => held.check_uncovered()?,
            None if self.after_another || device.is_some() => {
                crate::mounts::check_top(directory, device)?;
            }
            None => {}
        }
        // Our own open descriptor would keep it mounted.
        self.mounts.remove(directory);
        crate::mounts::unmount(directory)
    }

    fn intact(&mut self, words: Option<&str>) -> io::Result<()> {
        let meant = |device: &&ClaimedDevice| words.is_none_or(|words| device.is_named_in(words));
        self.devices.iter().filter(meant).try_for_each(ClaimedDevice::check)?;
        words.map_or_else(|| self.held.check(), |words| self.held.check_named(words))?;
        let mounts = self.mounts.values().filter(|_| words.is_none());
        mounts.into_iter().try_for_each(HeldMount::check)
    }

    fn hold(&mut self, names: &[String], needed: &[String]) -> io::Result<()> {
        self.held.hold(names, needed)
    }

    fn release(&mut self) {
        self.held.release();
    }

    fn way(&self, path: &Path) -> (PathBuf, Option<Meant>) {
        let on = |mount: &HeldMount| mount.number().map(Meant::FileOn);
        let ways = self.mounts.values().filter_map(|mount| Some((mount.way(path)?, on(mount))));
        // Of nested mounts, the innermost leaves the shortest rest of the path.
        let nearest = ways.min_by_key(|(way, _)| way.components().count());
        nearest.unwrap_or_else(|| (path.to_owned(), self.held.number(path).map(Meant::Device)))
    }

    fn start(&mut self, name: &str, argv: &[String]) -> io::Result<()> {
        let process = Process::start(argv)?;
        self.processes.insert(name.to_owned(), process);
        Ok(())
    }

    fn stop(&mut self, name: &str) -> io::Result<()> {
        self.processes.remove(name).map_or(Ok(()), Process::stop)
    }

    fn trace(
        &mut self,
        instance: &str,
        event: &str,
        device: Option<&str>,
    ) -> io::Result<Option<String>> {
        Ok(trace::begin(instance, event, device)?.map(|why| why.to_string()))
    }

    fn untrace(&mut self, instance: &str) -> io::Result<()> {
        trace::end(instance)
    }

    fn leftovers(&mut self, tag: &str) -> Vec<String> {
        let ran = |program: &str| self.after_another || self.ran.contains(program);
        let left = leftovers::of(tag, ran);
        let unwiped = self.unwiped.iter().map(|device| format!("what was made on {device}"));
        left.iter().map(ToString::to_string).chain(trace::left(tag)).chain(unwiped).collect()
    }

    fn removals(&mut self, tag: &str) -> Vec<Removal> {
        let mut all = leftovers::removals(tag, &self.owned);
        all.extend(trace::removals(tag));
        all
    }

    fn in_directories(&mut self, tag: &str) -> Vec<String> {
        leftovers::in_directories(tag)
    }

    fn bears(&mut self, device: &str, tag: &str) -> bool {
        leftovers::bears(device, tag)
    }

    fn bearers(&mut self, tag: &str) -> Vec<String> {
        leftovers::bearers(tag)
    }
}

impl RealMachine {
    /// Checks that what was opened is the device of this name, where that is one of the run's.
    fn check_opened(&self, device: &str, opened: &File) -> io::Result<()> {
        self.devices.iter().try_for_each(|known| known.check_opened(Path::new(device), opened))?;
        self.held.check_opened(device, opened)
    }

    fn wiped(&self, device: &str, mark: Option<&Mark>) -> io::Result<()> {
        // O_EXCL refuses a device that is mounted or has something on top of it.
        let exclusive = libc::O_EXCL;
        let mut options = OpenOptions::new();
        let mut file = match options.read(true).write(true).custom_flags(exclusive).open(device) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        self.check_opened(device, &file)?;
        if let Some(mark) = mark.filter(|_| self.after_another) {
            // The run that is gone no longer holds a claim; another run may have claimed the device since.
            let lock = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
            lock.map_err(|error| {
                io::Error::new(error.kind(), format!("{device} is claimed by another run"))
            })?;
            if !has(&file, mark) {
                return Ok(());
            }
            if let Some(used) = crate::usage::beside(&file)? {
                let message = format!("{device} is in use: {used}; free it, and clean again");
                return Err(io::Error::other(message));
            }
        }
        wipe_ends(&mut file).map(drop)
    }
}

/// Tells whether the device has the mark.
fn has(device: &File, mark: &Mark) -> bool {
    let mut there = vec![0; mark.bytes.len()];
    device.read_exact_at(&mut there, mark.at).is_ok_and(|()| there == mark.bytes)
}

/// The last record in which device-mapper says why it refuses a table, or anything else.
fn refusal(records: impl Iterator<Item = Record>) -> Option<String> {
    let lines: Vec<_> = records.filter(|r| r.text.starts_with("device-mapper: ")).collect();
    let table = lines.iter().rfind(|record| record.text.starts_with("device-mapper: table: "));
    table.or(lines.last()).map(|record| record.text.clone())
}

/// Zeroes the first and the last MiB of a device unless they are zero; tells whether it had to.
fn wipe_ends(file: &mut File) -> io::Result<bool> {
    const END: u64 = 1 << 20;
    let size = sys::block::size_bytes(file)?.0;
    let length = END.min(size);
    let mut wiped = false;
    for start in [0, size - length] {
        let mut buffer = vec![0u8; length as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut buffer)?;
        if buffer.iter().any(|&byte| byte != 0) {
            buffer.fill(0);
            file.seek(SeekFrom::Start(start))?;
            file.write_all(&buffer)?;
            wiped = true;
        }
    }
    if wiped {
        file.sync_all()?;
    }
    Ok(wiped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_reason_is_that_of_the_table_before_what_follows_from_it() {
        let record = |text: &str| Record { at_us: 0, text: text.into() };
        let log = [
            "vdo3:dmsetup: parsing failed",
            "device-mapper: table: 253:6: vdo: Block map cache size cannot change (-EINVAL)",
            "device-mapper: ioctl: error adding target to table",
        ];
        let reason = refusal(log.into_iter().map(record)).unwrap();
        assert!(reason.ends_with("Block map cache size cannot change (-EINVAL)"), "{reason}");
        assert_eq!(refusal(log[..1].iter().map(|text| record(text))), None);
    }

    #[test]
    fn what_is_not_there_is_not_wiped() {
        RealMachine::new().wipe("/dev/mapper/fathom-no-such-node", None).unwrap();
    }

    #[test]
    fn both_ends_are_zeroed_only_where_something_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(4 << 20).unwrap();
        assert!(!wipe_ends(&mut file).unwrap());
        for at in [512u64, (4 << 20) - 10] {
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(b"data").unwrap();
            assert!(wipe_ends(&mut file).unwrap());
            assert!(!wipe_ends(&mut file).unwrap());
        }
    }
}
