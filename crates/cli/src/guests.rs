//! The lab's machines as the run's guests: the one place where the crates `lab` and `run` meet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::Qemu;
use lab::{
    Accelerator, Cache, DiskHome, Disks, Ending, Frame, FrameKind, Image, ImageSpec, Received,
    Supply, SupplySpec, Vm, VmSpec,
};
use plan::{Corpus, Machine, Needs, Plan};
use run::remote::{Farewell, Guest, GuestDisks, GuestMessage, GuestNumber, Guests};
use run::{CutLoss, RunError};
use sys::interrupt::{Interrupt, Level};
use units::{Bytes, Seed};

use crate::args::GuestArgs;
use crate::corpora::{self, HeldCorpora};
use crate::failure::Failure;
use crate::kernels;

/// Images by the names of kernels.
pub type Images = BTreeMap<Option<String>, Image>;

/// The image and accelerator that guests are started with.
pub struct Prepared {
    /// Directory in which images are kept.
    pub cache: Cache,
    /// The image that guests boot from; of a plan with several kernels that of the first.
    pub image: Image,
    /// The image of each kernel that the plan names.
    pub images: Images,
    /// The accelerator that executes the guest's instructions.
    pub accelerator: Accelerator,
    /// Supplies that commands need in addition to the image.
    pub supplies: Vec<Supply>,
    /// The QEMU that the user named.
    qemu: Option<Qemu>,
    /// Memory of each guest.
    memory: Bytes,
}

/// Finds or builds the image with the usual kernel, and finds the best accelerator.
pub fn prepare(
    needs: &Needs,
    args: &GuestArgs,
    interrupt: &Interrupt,
    events: &mut dyn FnMut(lab::Event),
) -> Result<Prepared, Failure> {
    prepare_with(needs, args, interrupt, events, |cache, events| {
        let image = Image::ready(cache, &image_spec(needs, args), events)?;
        Ok(BTreeMap::from([(None, image)]))
    })
}

/// Finds or builds the image of each kernel that `plan` names, replaces the names by exact ones, and finds the best accelerator.
pub fn prepare_plan(
    plan: &mut Plan,
    args: &GuestArgs,
    interrupt: &Interrupt,
    events: &mut dyn FnMut(lab::Event),
) -> Result<Prepared, Failure> {
    run::check_guest_environment(plan).map_err(|error| {
        let help = error.help("");
        Failure::environment(error).with_help(help)
    })?;
    let needs = plan.needs.clone();
    prepare_with(&needs, args, interrupt, events, |cache, events| {
        let found = kernels::find(plan, cache, args.mirror.as_deref(), events)?;
        kernels::images(plan, found, (cache, &|needs: &Needs| image_spec(needs, args)), events)
    })
}

fn prepare_with(
    needs: &Needs,
    args: &GuestArgs,
    interrupt: &Interrupt,
    events: &mut dyn FnMut(lab::Event),
    images: impl FnOnce(&Cache, &mut dyn FnMut(lab::Event)) -> Result<Images, Failure>,
) -> Result<Prepared, Failure> {
    // Before anything is built or written.
    let memory = lab::memory(needs.memory, args.memory)?;
    let cache = Cache::open()?;
    let images = images(&cache, events)?;
    let Some(image) = images.values().next().cloned() else {
        return Err(Failure::usage("there is nothing to run"));
    };
    let spec = image_spec(needs, args);
    let origin = (spec.suite.as_str(), spec.mirror.as_deref());
    let made = corpora::ready(&cache, needs, interrupt)?;
    let supplies = Supply::ready(&cache, &supplies(needs, &made), origin, events)?;
    let qemu = |suite: &String| Qemu::of_suite(&cache, suite, args.mirror.as_deref(), events);
    let qemu = args.qemu.as_ref().map(qemu).transpose()?;
    let accelerator = Accelerator::choose(&cache, &image, accelerator_choice(args), events)?;
    Ok(Prepared { cache, image, images, accelerator, supplies, qemu, memory })
}

/// Returns the spec of the guest's image.
pub fn image_spec(needs: &Needs, args: &GuestArgs) -> ImageSpec {
    let mut lists = lab::ImageNeeds {
        packages: needs.packages.clone(),
        modules: needs.modules.clone(),
        faster: needs.faster.clone(),
        tools: needs.tools.clone(),
        files: needs.guest_files.clone(),
    };
    lists.merge(&supplies(needs, &BTreeMap::new()).needs());
    ImageSpec { mirror: args.mirror.clone(), ..ImageSpec::new(lists) }
}

/// Returns what commands need in addition to the image; `made` has the directories of generated corpora.
fn supplies(needs: &Needs, made: &HeldCorpora) -> SupplySpec {
    let mut spec = SupplySpec { packages: needs.command_packages.clone(), ..Default::default() };
    for (name, corpus) in &needs.corpora {
        match corpus {
            Corpus::Package(package) => spec.package_corpora.push(package.clone()),
            Corpus::Directory { path, .. } => spec.directories.push((name.clone(), path.clone())),
            Corpus::Made(_) => {
                let path = made.get(name).map_or_else(PathBuf::new, |held| held.path.clone());
                spec.directories.push((name.clone(), path));
            }
        }
    }
    spec
}

/// Returns the accelerator that the user asked for.
pub fn accelerator_choice(args: &GuestArgs) -> lab::AcceleratorChoice {
    if args.tcg { lab::AcceleratorChoice::Tcg } else { lab::AcceleratorChoice::Best }
}

impl Prepared {
    /// A machine without disks.
    pub fn bare_machine(&self, args: &GuestArgs) -> VmSpec {
        let mut spec = VmSpec::new(&self.cache, self.image.clone(), self.accelerator.clone());
        spec.memory = self.memory;
        spec.qemu.clone_from(&self.qemu);
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
        let mut spec = self.bare_machine(args);
        let stages = plan.cells.iter().flat_map(|cell| &cell.stages);
        spec.keeps_contents = stages.into_iter().any(plan::StagePlan::reboots);
        for (role, device) in &plan.devices {
            let modelled = device.model.as_ref().map(|model| lab::ModelledDisk {
                like: model.like.clone(),
                faults: model.faults.clone(),
                seed: plan.seed.derive(role),
                stored: device.stored,
            });
            // The contents of a modelled disk are in memory; they are in a file only if they must outlive the machine.
            if modelled.is_none() || spec.keeps_contents {
                spec.will_write = Bytes(spec.will_write.0 + device.stored.0);
            }
            spec.disks.push(lab::Disk {
                image: device.file.clone(),
                model: modelled,
                attributes: device.attributes.clone(),
                ..lab::Disk::plain(role, device.size)
            });
        }
        spec
    }
}

/// Starts the lab's machines as guests of a run.
pub struct LabGuests {
    spec: VmSpec,
    images: Images,
    /// Disks of the guest that ended last.
    disks: Option<Disks>,
}

impl LabGuests {
    /// Creates guests like `spec`, each with the image of its kernel.
    pub fn new(spec: VmSpec, images: Images) -> Self {
        Self { spec, images, disks: None }
    }
}

/// One machine as a guest.
pub struct LabGuest {
    vm: Vm,
    disks: Disks,
    turn: GuestNumber,
    ended: Option<lab::End>,
}

impl Guests for LabGuests {
    type Guest = LabGuest;

    fn start(
        &mut self,
        (machine, disks): (Machine, GuestDisks),
        mission: &[u8],
        turn: GuestNumber,
        console: &Path,
    ) -> Result<LabGuest, RunError> {
        // Disks that the next guest does not take over are removed first, which frees their space.
        let kept = self.disks.take().filter(|_| disks == GuestDisks::OfTheLast);
        let mut spec = self.spec.clone();
        spec.memory = machine.memory.unwrap_or(spec.memory);
        spec.cpus = machine.cpus.unwrap_or(spec.cpus);
        if let Some(image) = self.images.get(&machine.kernel) {
            spec.image = image.clone();
        }
        spec.mission = mission.to_vec();
        if let (DiskHome::Kept(dir), false) = (&mut spec.disk_home, turn.is_first()) {
            // Each guest has a directory of its own, so that the files of the previous one are kept.
            dir.push(turn.name("guest"));
        }
        spec.console = Some(console.to_owned());
        let failed = |error: lab::Error| RunError::Guest(with_help(&error).into());
        let disks = kept.map_or_else(|| Disks::make(&spec), Ok).map_err(failed)?;
        let vm = Vm::start_on(&spec, &disks).map_err(failed)?;
        Ok(LabGuest { vm, disks, turn, ended: None })
    }

    fn cut_power(&mut self, seed: Seed) -> Result<BTreeMap<String, CutLoss>, RunError> {
        let Some(disks) = &mut self.disks else { return Ok(BTreeMap::new()) };
        let cut =
            disks.cut_power(seed).map_err(|error| RunError::Guest(with_help(&error).into()))?;
        let loss = |(role, stats): (String, disk::CutStats)| {
            let disk::CutStats { at_risk, lost, torn } = stats;
            (role, CutLoss { at_risk, lost, torn })
        };
        Ok(cut.into_iter().map(loss).collect())
    }

    fn known(&self, machine: &Machine) -> BTreeMap<String, String> {
        self.images.get(&machine.kernel).map(kernels::facts).unwrap_or_default()
    }

    fn facts(&self, guest: &LabGuest) -> serde_json::Value {
        serde_json::to_value(guest.vm.facts()).unwrap_or_default()
    }

    fn end(&mut self, mut guest: LabGuest) -> Farewell {
        let facts = self.facts(&guest);
        let mut files = Vec::new();
        if let Some(log) = guest.vm.kernel_log() {
            files.push((guest.turn.file("kernel"), log.into_bytes()));
        }
        for trace in guest.vm.take_traces() {
            let name = format!("lab/{}.trace", guest.turn.name(&trace.role));
            files.push((name, trace.bytes));
        }
        let qemu_output = guest.ended.map(|end| end.qemu_said).unwrap_or_default();
        if !qemu_output.trim().is_empty() {
            files.push((guest.turn.file("qemu"), qemu_output.into_bytes()));
        }
        self.disks = Some(guest.disks);
        Farewell { facts, files }
    }
}

fn with_help(error: &lab::Error) -> String {
    let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
    format!("{error}{help}")
}

impl Guest for LabGuest {
    fn receive(&mut self, patience: Duration) -> GuestMessage {
        match self.vm.recv(patience) {
            Received::Frame(Frame { kind: FrameKind::Payload, payload }) => {
                GuestMessage::Payload(payload)
            }
            Received::Frame(_) | Received::Nothing => GuestMessage::Silence,
            Received::Ended(end) => {
                let heard = match &end.ending {
                    Ending::Done => GuestMessage::Done,
                    ending @ lab::Ending::Deadline { .. } => {
                        GuestMessage::Gone(format!("{ending}; --deadline gives it more"))
                    }
                    ending => GuestMessage::Gone(ending.to_string()),
                };
                self.ended = Some(end);
                heard
            }
        }
    }

    fn kill(&mut self) {
        self.vm.kill();
    }

    fn answer(&mut self, bytes: &[u8]) {
        // As in `interrupt` below: a guest that is gone is noticed by `receive`.
        let _ = self.vm.send(bytes);
    }

    fn interrupt(&mut self, level: Level) {
        match level {
            Level::None => {}
            // A guest that is gone needs no interrupt; `receive` notices that it is gone.
            Level::Finish => {
                let _ = self.vm.interrupt();
            }
            Level::Now => self.vm.kill(),
        }
    }
}
