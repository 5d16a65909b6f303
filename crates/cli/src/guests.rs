//! The lab's machines as the run's guests: the one place where the two meet.

use std::path::{Path, PathBuf};
use std::time::Duration;

use experiment::{Needs, Plan, Tree};
use lab::{
    Accelerator, Cache, DiskHome, Ending, Frame, FrameKind, Image, ImageSpec, Received, Supply,
    SupplySpec, Vm, VmSpec,
};
use run::RunError;
use run::remote::{Farewell, Guest, Guests, Heard};
use sys::interrupt::Level;
use units::Bytes;

use crate::args::GuestArgs;
use crate::failure::Failure;

/// Memory of a guest beside what its layers take: kernel, root, the program, its buffers.
const BASE_MEMORY: Bytes = Bytes(640 * Bytes::MIB);
/// The least memory a guest gets.
const LEAST_MEMORY: Bytes = Bytes(Bytes::GIB);
/// Memory grows in steps of this, so that small changes of a plan do not change the machine.
const MEMORY_STEP: u64 = 256 * Bytes::MIB;

/// The image and accelerator that guests are started with.
pub struct Prepared {
    pub cache: Cache,
    pub image: Image,
    pub accelerator: Accelerator,
    /// What commands need beside the image.
    pub supplies: Vec<Supply>,
}

/// Finds or builds the image, and finds the best accelerator.
pub fn prepare(
    needs: &Needs,
    args: &GuestArgs,
    events: &mut dyn FnMut(lab::Event),
) -> Result<Prepared, Failure> {
    check_memory(needs.memory, args.memory)?;
    let cache = Cache::open()?;
    let spec = image_spec(needs, args);
    let image = Image::ready(&cache, &spec, events)?;
    let origin = (spec.suite.as_str(), spec.mirror.as_deref());
    let supplies = Supply::ready(&cache, &supplies(needs), origin, events)?;
    let accelerator = Accelerator::choose(&cache, &image, wish(args), events)?;
    Ok(Prepared { cache, image, accelerator, supplies })
}

/// Refuses memory in which neither the guest nor its layers could start, before anything is built or written.
fn check_memory(layers: Bytes, given: Option<Bytes>) -> Result<(), Failure> {
    let least = Bytes((lab::LEAST_MEMORY.0 + layers.0).next_multiple_of(Bytes::MIB));
    let Some(given) = given.filter(|&given| given < least) else { return Ok(()) };
    let with = if layers.0 > 0 { format!(", and {layers} its layers") } else { String::new() };
    let message =
        format!("{given} of memory are too little: a guest takes {}{with}", lab::LEAST_MEMORY);
    let help = format!("give it at least --memory {}M, or leave --memory out", least.0 >> 20);
    Err(Failure::usage(message).with_help(help))
}

/// What the guest's image is made of.
pub fn image_spec(needs: &Needs, args: &GuestArgs) -> ImageSpec {
    let mut lists = lab::Needs {
        packages: needs.packages.clone(),
        modules: needs.modules.clone(),
        tools: needs.tools.clone(),
    };
    lists.merge(&supplies(needs).needs());
    ImageSpec { mirror: args.mirror.clone(), ..ImageSpec::new(lists) }
}

/// What commands need beside the image.
fn supplies(needs: &Needs) -> SupplySpec {
    let mut spec = SupplySpec { packages: needs.command_packages.clone(), ..Default::default() };
    for (name, tree) in &needs.trees {
        match tree {
            Tree::Package(package) => spec.package_trees.push(package.clone()),
            Tree::Directory { path, .. } => spec.directories.push((name.clone(), path.clone())),
        }
    }
    spec
}

/// What the user wants to execute the guest.
pub fn wish(args: &GuestArgs) -> lab::Wish {
    if args.tcg { lab::Wish::Tcg } else { lab::Wish::Best }
}

impl Prepared {
    /// A machine without disks.
    pub fn bare_machine(&self, needs: &Needs, args: &GuestArgs) -> VmSpec {
        let mut spec = VmSpec::new(&self.cache, self.image.clone(), self.accelerator.clone());
        spec.memory = args.memory.unwrap_or_else(|| memory(needs.memory));
        if let Some(cpus) = args.cpus {
            spec.cpus = cpus;
        }
        spec.supplies.clone_from(&self.supplies);
        if args.plain_command_line {
            spec.command_line = lab::CommandLine::Plain;
        }
        spec
    }

    /// The machine for a plan, without its mission.
    pub fn machine(&self, plan: &Plan, args: &GuestArgs) -> VmSpec {
        let mut spec = self.bare_machine(&plan.needs, args);
        for (role, device) in &plan.devices {
            spec = match &device.file {
                Some(file) => spec.with_image(role, device.size, file.clone()),
                None => spec.with_disk(role, device.size),
            };
            spec.will_write = Bytes(spec.will_write.0 + device.stored.0);
        }
        spec
    }
}

fn memory(layers: Bytes) -> Bytes {
    let wanted = (layers.0 + BASE_MEMORY.0).next_multiple_of(MEMORY_STEP);
    Bytes(wanted.max(LEAST_MEMORY.0))
}

/// Starts the lab's machines as guests of a run.
pub struct LabGuests {
    spec: VmSpec,
    /// Folder of the result for what the lab leaves: consoles grow there while guests run.
    folder: PathBuf,
    /// How many were started so far.
    started: usize,
}

impl LabGuests {
    /// Guests like `spec`, whose consoles go into `lab/` of the result at `out`.
    pub fn new(spec: VmSpec, out: &Path) -> Self {
        let folder = out.join("lab");
        // A run that goes on keeps what the guests before left.
        let before = (1..).take_while(|n| folder.join(console(*n)).exists()).count();
        Self { spec, folder, started: before }
    }
}

/// One machine as a guest.
pub struct LabGuest {
    vm: Vm,
    number: usize,
    ended: Option<lab::End>,
}

impl Guests for LabGuests {
    type Guest = LabGuest;

    fn start(&mut self, mission: &[u8]) -> Result<LabGuest, RunError> {
        let mut spec = self.spec.clone();
        spec.mission = mission.to_vec();
        self.started += 1;
        std::fs::create_dir_all(&self.folder).map_err(|source| {
            RunError::Sink(results::sink::SinkError::Write { path: self.folder.clone(), source })
        })?;
        if let (DiskHome::Kept(dir), 2..) = (&mut spec.disk_home, self.started) {
            // What the guest before left is kept too.
            dir.push(format!("guest{}", suffix(self.started)));
        }
        spec.console = Some(self.folder.join(console(self.started)));
        let vm = Vm::start(&spec).map_err(|error| RunError::Guest(with_help(&error)))?;
        Ok(LabGuest { vm, number: self.started, ended: None })
    }

    fn facts(&self, guest: &LabGuest) -> serde_json::Value {
        serde_json::to_value(guest.vm.facts()).unwrap_or_default()
    }

    fn end(&mut self, guest: LabGuest) -> Farewell {
        let facts = self.facts(&guest);
        let name = |what: &str| format!("lab/{what}{}.log", suffix(guest.number));
        let mut files = Vec::new();
        if let Some(log) = guest.vm.kernel_log() {
            files.push((name("kernel"), log.into_bytes()));
        }
        let said = guest.ended.map(|end| end.qemu_said).unwrap_or_default();
        if !said.trim().is_empty() {
            files.push((name("qemu"), said.into_bytes()));
        }
        Farewell { facts, files }
    }
}

/// Name of a guest's console.
fn console(number: usize) -> String {
    format!("console{}.log", suffix(number))
}

/// Tells the files of later guests from those of the first.
fn suffix(number: usize) -> String {
    if number > 1 { format!("-{number}") } else { String::new() }
}

fn with_help(error: &lab::Error) -> String {
    let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
    format!("{error}{help}")
}

impl Guest for LabGuest {
    fn receive(&mut self, patience: Duration) -> Heard {
        match self.vm.recv(patience) {
            Received::Frame(Frame { kind: FrameKind::Payload, payload }) => Heard::Payload(payload),
            Received::Frame(_) | Received::Nothing => Heard::Silence,
            Received::Ended(end) => {
                let heard = match &end.ending {
                    Ending::Done => Heard::Done,
                    ending => Heard::Gone(ending.to_string()),
                };
                self.ended = Some(end);
                heard
            }
        }
    }

    fn interrupt(&mut self, level: Level) {
        match level {
            Level::None => {}
            // A guest that is gone needs no interrupt; that it is gone is heard by receive.
            Level::Finish => {
                let _ = self.vm.interrupt();
            }
            Level::Now => self.vm.kill(),
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::check_memory;

    #[test]
    fn memory_is_refused_below_what_guest_and_layers_take_and_the_least_is_named() {
        let given = |mib: u64| Some(Bytes(mib << 20));
        assert!(check_memory(Bytes(446 << 20), given(10)).is_err());
        assert!(check_memory(Bytes(446 << 20), given(701)).is_err());
        assert!(check_memory(Bytes(446 << 20), given(702)).is_ok());
        assert!(check_memory(Bytes(0), given(256)).is_ok());
        assert!(check_memory(Bytes(1 << 40), None).is_ok());
    }
}
