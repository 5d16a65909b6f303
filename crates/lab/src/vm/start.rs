//! Starting a machine: disks, initial memory, console, sockets, QEMU.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use super::Vm;
use super::handle::Handle;
use super::link::{State, listen};
use crate::accel::AcceleratorKind;
use crate::disk::{self, Disks, Drive};
use crate::facts::{LabFacts, Timings};
use crate::files::{inherited_name, nameless_file};
use crate::guest::GuestConfig;
use crate::modelled::{self, Server};
use crate::qemu::{Machine, Qemu, command_line};
use crate::spec::{CommandLine, Purpose, VmSpec};
use crate::supply::{self, Supply};
use crate::watchdog::Watchdog;
use crate::{Error, Result, cache, initrd, shell};
use sys::ticks::ClockPair;

/// A socket: the host's end, and QEMU's, which it inherits.
struct Pair {
    ours: UnixStream,
    theirs: OwnedFd,
}

fn pair() -> Result<Pair> {
    let (ours, theirs) =
        UnixStream::pair().map_err(Error::system("cannot make a pair of sockets"))?;
    Ok(Pair { ours, theirs: theirs.into() })
}

impl Vm {
    /// Starts the machine that `spec` describes, on empty disks. Returns as soon as QEMU runs, while the guest is still booting.
    pub fn start(spec: &VmSpec) -> Result<Self> {
        spec.check()?;
        Self::start_on(spec, &Disks::make(spec)?)
    }

    /// Starts the machine that `spec` describes, on the disks of a machine like it that has ended. Modelled disks are empty, unless they keep what
    /// they hold.
    pub fn start_on(spec: &VmSpec, disks: &Disks) -> Result<Self> {
        let began = Instant::now();
        let moment = ClockPair::now();
        let prepared_ms = since_process_start_ms();
        spec.check()?;
        let image = cache::hold(&spec.image)?;
        let qemu = spec.qemu.clone().map_or_else(|| Qemu::find(&spec.cache), Ok)?;
        let drives = disks.drives()?;
        let servers = modelled::start(spec, &|role| disks.contents(role), began)?;
        let supplies = supply_drives(spec)?;
        let memory = initrd::make(&spec.image, &spec.program, &config(spec), &spec.mission)?;
        let (console, console_end) = console(spec)?;
        let (qemu_said, qemu_end) = twice(nameless_file(spec.cache.dir())?)?;
        let link = pair()?;
        let shell = (spec.purpose == Purpose::Shell).then(pair).transpose()?;

        let mut machine = machine(
            spec,
            moment,
            [&drives, &supplies],
            &memory,
            &console_end,
            &link,
            shell.as_ref(),
        );
        machine.modelled = servers.iter().map(Server::name).collect();
        let arguments = [qemu.leading.clone(), machine.arguments()].concat();
        let mut facts = facts(spec, &qemu, &machine, &arguments, &drives);
        facts.timings.prepared_ms = prepared_ms;
        facts.disks.extend(servers.iter().map(Server::facts));

        let mut inherited: Vec<OwnedFd> =
            drives.into_iter().chain(supplies).filter_map(|drive| drive.inherited).collect();
        inherited.extend([memory.into(), console_end.into(), link.theirs]);
        let (shell_ours, shell_theirs) = shell.map(|pair| (pair.ours, pair.theirs)).unzip();
        inherited.extend(shell_theirs);
        let mut command = Command::new(&qemu.path);
        let qemu_out = qemu_end.try_clone().map_err(cannot_share)?;
        command.args(&arguments).stdin(Stdio::null()).stdout(qemu_out).stderr(qemu_end);
        sys::lifeline::tie(&mut command, inherited);

        tracing::debug!(program = %qemu.path.display(), ?arguments, "start QEMU");
        let watchdog = Watchdog::start(command, began + spec.deadline)?;
        let state = Arc::new(State::new(began, facts));
        state.mark(|timings| &mut timings.qemu_started_ms);
        let handle = Handle::new(link.ours.try_clone().map_err(cannot_share)?, watchdog.killer());
        // When QEMU is dead already, the end of the link says so.
        let _ = handle.greet();
        let frames = listen(link.ours, handle.clone(), Arc::clone(&state))?;
        Ok(Self {
            watchdog,
            servers,
            lost: None,
            traces: Vec::new(),
            handle,
            frames,
            state,
            shell: shell_ours,
            console,
            qemu_said,
            deadline: spec.deadline,
            end: None,
            _image: image,
        })
    }
}

/// The disks of all supplies, for QEMU.
fn supply_drives(spec: &VmSpec) -> Result<Vec<Drive>> {
    let drive = |(position, supply): (usize, &Supply)| {
        let image: &Path = &supply.image;
        disk::image(&supply::serial(position), supply.size, image, spec.aio)
    };
    spec.supplies.iter().enumerate().map(drive).collect()
}

fn config(spec: &VmSpec) -> GuestConfig {
    GuestConfig {
        purpose: spec.purpose,
        roles: spec.disks.iter().map(|disk| disk.role.clone()).collect(),
        rotational: spec
            .disks
            .iter()
            .filter_map(|d| Some((d.role.clone(), d.rotational()?)))
            .collect(),
        supplies: supply::mounts(&spec.supplies),
        terminal: shell::terminal_size().unwrap_or_default(),
    }
}

/// The console's file, to read here and for QEMU to write.
fn console(spec: &VmSpec) -> Result<(File, File)> {
    match &spec.console {
        None => twice(nameless_file(spec.cache.dir())?),
        Some(path) => twice(
            File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(path)
                .map_err(Error::io("cannot make the console's log", path))?,
        ),
    }
}

fn twice(file: File) -> Result<(File, File)> {
    let other = file.try_clone().map_err(cannot_share)?;
    Ok((file, other))
}

fn cannot_share(source: std::io::Error) -> Error {
    Error::System { what: "cannot duplicate a descriptor".into(), source }
}

fn machine(
    spec: &VmSpec,
    moment: ClockPair,
    drives: [&[Drive]; 2],
    memory: &File,
    console: &File,
    link: &Pair,
    shell: Option<&Pair>,
) -> Machine {
    let kvm = spec.accelerator.kind == AcceleratorKind::Kvm;
    let tsc_khz = if kvm { None } else { moment.rate_khz() };
    Machine {
        owner: std::process::id(),
        kvm,
        memory: spec.memory,
        cpus: spec.cpus,
        kernel: spec.image.kernel().display().to_string(),
        initrd: inherited_name(memory),
        command_line: command_line(spec.command_line, kvm, tsc_khz),
        disks: drives.iter().flat_map(|d| d.iter()).map(|drive| drive.argument.clone()).collect(),
        link: link.theirs.as_raw_fd(),
        shell: shell.map(|pair| pair.theirs.as_raw_fd()),
        console: inherited_name(console),
        modelled: Vec::new(),
    }
}

fn facts(
    spec: &VmSpec,
    qemu: &Qemu,
    machine: &Machine,
    arguments: &[String],
    drives: &[Drive],
) -> LabFacts {
    let program = qemu.path.display().to_string();
    let manifest = &spec.image.manifest;
    let packages =
        manifest.packages.iter().map(|package| format!("{} {}", package.name, package.version));
    LabFacts {
        accelerator: spec.accelerator.kind.name().to_owned(),
        accelerator_reason: spec.accelerator.reason.clone(),
        qemu_version: qemu.version.clone(),
        qemu_argv: std::iter::once(program).chain(arguments.iter().cloned()).collect(),
        kernel: String::new(),
        command_line: machine.command_line.clone(),
        tuned_command_line: spec.command_line == CommandLine::Tuned,
        disks: drives.iter().map(|drive| drive.facts.clone()).collect(),
        memory: spec.memory,
        cpus: spec.cpus,
        image: spec.image.id.clone(),
        guest_clock_rate: None,
        packages: packages.collect(),
        supplies: spec.supplies.iter().map(Supply::facts).collect(),
        timings: Timings::default(),
    }
}

/// Milliseconds since this process was started, as the kernel counts (in steps of 10 ms).
fn since_process_start_ms() -> Option<f64> {
    let stat = std::fs::read_to_string(Path::new("/proc/self/stat")).ok()?;
    // The name in brackets may hold anything; the start is the 22nd field, the 20th after the name.
    let ticks: f64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let now_ms = now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6;
    // Linux counts these in hundredths of a second on every architecture that is supported here.
    Some((now_ms - ticks * 10.0).max(0.0))
}
