//! Conditions that must hold before a plan touches this machine: the user allows its commands, programs and modules are present, and every role
//! has a separate claimed device.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use layers::environment::AskedSetting;
use plan::{CellPlan, Corpus, Plan};
use results::model::DeviceFacts;
use sys::identity::Identity;
use units::Bytes;

/// A device that the user gives for a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceOffer {
    /// The role.
    pub role: String,
    /// The device.
    pub path: PathBuf,
    /// Tells whether what is on it may be lost.
    pub destroy: bool,
}

/// Devices for the roles of a plan. They stay claimed until this is dropped.
#[derive(Debug, Default)]
pub struct ClaimedDevices {
    claims: Vec<host::Claim>,
    /// Paths by role; for a role that is read from a file, the path of that file.
    pub devices: BTreeMap<String, String>,
    /// Sizes of the devices by role.
    pub sizes: BTreeMap<String, Bytes>,
    /// Their identities, by role.
    pub facts: BTreeMap<String, DeviceFacts>,
}

impl ClaimedDevices {
    /// Returns the claimed devices, which each step that changes a device checks first.
    pub fn claimed(&self) -> Vec<host::ClaimedDevice> {
        self.claims.iter().filter_map(host::Claim::device).collect()
    }
}

/// Why a plan does not run on this machine.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// Somebody else's experiment executes programs.
    #[error("Stage '{stage}' of {file} executes '{command}' on this machine")]
    Command {
        /// The stage.
        stage: String,
        /// The experiment's file.
        file: String,
        /// The command line.
        command: String,
    },
    /// A corpus is made of a package's files.
    #[error(
        "The corpus '{corpus}' is the files of the package {package}, which only the lab unpacks"
    )]
    PackageCorpus {
        /// The corpus.
        corpus: String,
        /// The package.
        package: String,
    },
    /// Programs or kernel modules are not there.
    #[error("This machine lacks {}", missing.join(", "))]
    Lacks {
        /// Descriptions of what is missing.
        missing: Vec<String>,
        /// Packages that bring the programs.
        packages: Vec<String>,
    },
    /// The experiment sets properties of the lab's machine.
    #[error(
        "The experiment asks for a machine of its own ({keys}), and this one cannot be changed"
    )]
    Machine {
        /// The keys that it sets, in words.
        keys: String,
    },
    /// The machine is to reboot in the middle of a cell.
    #[error("Stage '{stage}' reboots the machine, and rebooting this one would end the run")]
    Reboot {
        /// The stage.
        stage: String,
    },
    /// A device is given for a role that the experiment does not have.
    #[error("The experiment has no device '{role}' for {}", path.display())]
    NoRole {
        /// The role.
        role: String,
        /// The device.
        path: PathBuf,
        /// The roles there are.
        roles: Vec<String>,
    },
    /// A device is given for a role that is read from a file.
    #[error("'{role}' is read from {}", file.display())]
    FromFile {
        /// The role.
        role: String,
        /// The file.
        file: PathBuf,
    },
    /// A role has no device.
    #[error("No device is given for '{role}'")]
    NoDevice {
        /// The role.
        role: String,
        /// The size that it has to have.
        size: Bytes,
    },
    /// A role has several devices.
    #[error("Two devices are given for '{role}'")]
    TwoDevices {
        /// The role.
        role: String,
    },
    /// A device is too small.
    #[error("{} has {size}, and the experiment needs {needed} for '{role}'", path.display())]
    Small {
        /// The device.
        path: PathBuf,
        /// Its size.
        size: Bytes,
        /// The size that the experiment needs.
        needed: Bytes,
        /// The role that it was given for.
        role: String,
    },
    /// A device or file cannot be examined.
    #[error("{} cannot be examined", path.display())]
    Unseen {
        /// The device or file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Two devices are one, or share bytes.
    #[error(transparent)]
    Overlap(#[from] host::Overlap),
    /// A device may be needed by somebody.
    #[error(transparent)]
    Claim(#[from] host::ClaimError),
    /// Settings of the environment cannot be given.
    #[error("The environment that the experiment asks for cannot be had here: {}", refused.join("; "))]
    Environment {
        /// Every setting that is refused, with the reason.
        refused: Vec<String>,
    },
    /// Only root can make what the plan needs.
    #[error(
        "Only root can build the stack of the experiment, and empty the page cache before its stages"
    )]
    NotRoot,
}

impl AdmissionError {
    /// Returns what to do about it; `experiment` is what the user calls the experiment.
    pub fn help(&self, experiment: &str) -> String {
        match self {
            Self::Command { .. } => format!(
                "read the commands (fathom explain {experiment}), then add --allow-commands; or run it in the lab: fathom lab run {experiment}"
            ),
            Self::PackageCorpus { corpus, .. } => format!(
                "give [corpora.{corpus}] a path = \"...\" in a copy of the experiment, or run it in the lab: fathom lab run {experiment}"
            ),
            Self::Lacks { packages, .. } => format!(
                "{}, and a kernel that has the modules; or run it in the lab: fathom lab run {experiment}",
                host::install(packages)
            ),
            Self::Machine { .. } => format!(
                "run it in the lab: fathom lab run {experiment}; or move [machine], and what sets it, into the scale for the lab: [scale.lab]"
            ),
            Self::Reboot { .. } => format!(
                "run it in the lab: fathom lab run {experiment}; or write do = \"restart\", which takes the stack down and brings it up again"
            ),
            Self::NoRole { roles, .. } => format!("its roles are: {}", roles.join(", ")),
            Self::FromFile { .. } => {
                "leave --device out for it; only its file in the experiment counts".into()
            }
            Self::NoDevice { role, size } => format!(
                "add --device {role}=PATH with a scratch device of at least {size}, or run it in the lab: fathom lab run {experiment}"
            ),
            Self::TwoDevices { .. } => "name each role once".into(),
            Self::Small { .. } => {
                "give a larger device, or make [devices] and the stack in the file smaller".into()
            }
            Self::Unseen { .. } => format!("see the cause; {}", sys::denied::help()),
            Self::Overlap(overlap) => {
                overlap.help().unwrap_or("each role needs a device of its own").into()
            }
            Self::Claim(claim) => claim.help().into(),
            Self::Environment { .. } => {
                "give values that this machine takes, or leave the settings out; a scale can hold what only one machine takes: [scale.full]".into()
            }
            Self::NotRoot => format!(
                "run it with sudo; or in the lab, which needs no root: fathom lab run {experiment}"
            ),
        }
    }
}

/// Refuses commands of an experiment that is not one of Fathom's own, unless the user allowed them.
pub fn check_commands(plan: &Plan, file: &str, allowed: bool) -> Result<(), AdmissionError> {
    let command = plan.cells.iter().flat_map(|cell| &cell.stages).find_map(|stage| {
        let command = stage.command()?;
        Some((&stage.name, layers::step::show_argv(&command.argv)))
    });
    let Some((stage, command)) = command else { return Ok(()) };
    if !allowed {
        let (stage, file) = (stage.clone(), file.to_owned());
        return Err(AdmissionError::Command { stage, file, command });
    }
    let package = |(name, corpus): (&String, &Corpus)| match corpus {
        Corpus::Package(package) => Some((name.clone(), package.clone())),
        Corpus::Directory { .. } | Corpus::Made(_) => None,
    };
    match plan.needs.corpora.iter().find_map(package) {
        None => Ok(()),
        Some((corpus, package)) => Err(AdmissionError::PackageCorpus { corpus, package }),
    }
}

/// Refuses a plan whose programs or kernel modules are missing, before any device is looked at.
pub fn check_needs(plan: &Plan) -> Result<(), AdmissionError> {
    let needs = &plan.needs;
    let programs: Vec<_> = needs.tools.iter().chain(&needs.programs).cloned().collect();
    let missing = host::missing(&needs.modules, &programs);
    if missing.is_empty() {
        return Ok(());
    }
    let packages: BTreeSet<_> =
        needs.packages.iter().chain(&needs.command_packages).cloned().collect();
    Err(AdmissionError::Lacks { missing, packages: packages.into_iter().collect() })
}

/// Refuses an experiment that sets properties of the machine, or reboots it: only the lab can do that.
pub fn check_machine(plan: &Plan) -> Result<(), AdmissionError> {
    let machine = |cell: &plan::CellPlan| cell.machine.shown();
    let reboots = plan.cells.iter().flat_map(|cell| &cell.stages).find(|stage| stage.reboots());
    match plan.cells.iter().map(machine).find(|machine| !machine.is_empty()) {
        None => reboots
            .map_or(Ok(()), |stage| Err(AdmissionError::Reboot { stage: stage.name.clone() })),
        Some(machine) => {
            let keys = machine.iter().map(|(key, value)| format!("{key} = {value}"));
            Err(AdmissionError::Machine { keys: keys.collect::<Vec<_>>().join(", ") })
        }
    }
}

/// Refuses settings of the environment that this machine, or the device of the role, does not take; the error names all of them.
pub fn check_environment<'a>(
    cells: impl IntoIterator<Item = &'a CellPlan>,
    devices: &BTreeMap<String, String>,
) -> Result<(), AdmissionError> {
    let device = |wanted: &AskedSetting| wanted.role.as_ref().and_then(|role| devices.get(role));
    refuse(cells, |wanted| {
        let device = device(wanted).map(Path::new);
        host::environment_refused(&wanted.setting, device, &wanted.value)
    })
}

/// Refuses settings that no guest has.
pub fn check_guest_environment(plan: &Plan) -> Result<(), AdmissionError> {
    refuse(&plan.cells, |wanted| {
        let none = || format!("a guest of the lab has no {}", wanted.setting);
        wanted.role.is_none().then(none)
    })
}

fn refuse<'a>(
    cells: impl IntoIterator<Item = &'a CellPlan>,
    why: impl Fn(&AskedSetting) -> Option<String>,
) -> Result<(), AdmissionError> {
    let settings = cells.into_iter().flat_map(|cell| &cell.environment);
    let refused: BTreeSet<String> = settings.filter_map(why).collect();
    match refused.is_empty() {
        true => Ok(()),
        false => Err(AdmissionError::Environment { refused: refused.into_iter().collect() }),
    }
}

/// Refuses users other than root: every plan makes, mounts or maps something.
pub fn check_root() -> Result<(), AdmissionError> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(AdmissionError::NotRoot),
    }
}

/// Refuses devices that share bytes: what one role writes would change the other.
pub fn check_apart(plan: &Plan, offered: &[DeviceOffer]) -> Result<(), AdmissionError> {
    let paths = || offered.iter().map(|offered| offered.path.as_path());
    host::apart(paths())?;
    // Several roles may be read from one file; none may be written to it.
    let mut files = plan.devices.values().filter_map(|planned| planned.file.as_deref());
    Ok(files.try_for_each(|file| host::apart(paths().chain([file])))?)
}

/// Claims a device for every role; `report` is called with the identity of each.
pub fn claim(
    plan: &Plan,
    offered: &[DeviceOffer],
    report: &mut dyn FnMut(&str, &str),
) -> Result<ClaimedDevices, AdmissionError> {
    if let Some(lost) = offered.iter().find(|offered| !plan.devices.contains_key(&offered.role)) {
        let roles = plan.devices.keys().cloned().collect();
        return Err(AdmissionError::NoRole {
            role: lost.role.clone(),
            path: lost.path.clone(),
            roles,
        });
    }
    let mut claimed = ClaimedDevices::default();
    for (role, planned) in &plan.devices {
        let bound: Vec<_> = offered.iter().filter(|offered| offered.role == *role).collect();
        let device = match (&planned.file, bound.as_slice()) {
            (Some(file), []) => {
                report(role, &format!("{}, read only", file.display()));
                let unseen = |source| AdmissionError::Unseen { path: file.clone(), source };
                let opened = File::open(file).map_err(unseen)?;
                let bytes = sys::block::size_bytes(&opened).map_err(unseen)?;
                let identity = Identity::of(&opened).map_err(unseen)?;
                claimed.facts.insert(role.clone(), facts(bytes, &identity));
                claimed.devices.insert(role.clone(), file.display().to_string());
                continue;
            }
            (Some(file), _) => {
                return Err(AdmissionError::FromFile { role: role.clone(), file: file.clone() });
            }
            (None, []) => {
                return Err(AdmissionError::NoDevice { role: role.clone(), size: planned.size });
            }
            (None, [device]) => device,
            (None, _) => return Err(AdmissionError::TwoDevices { role: role.clone() }),
        };
        let claim = host::claim(Path::new(&device.path), device.destroy)?;
        if claim.bytes() < planned.size {
            return Err(AdmissionError::Small {
                path: device.path.clone(),
                size: claim.bytes(),
                needed: planned.size,
                role: role.clone(),
            });
        }
        report(role, claim.identity());
        claimed.devices.insert(role.clone(), claim.path().display().to_string());
        claimed.sizes.insert(role.clone(), claim.bytes());
        let identity = claim
            .lasting_identity()
            .map_err(|source| AdmissionError::Unseen { path: claim.path().to_owned(), source })?;
        claimed.facts.insert(role.clone(), facts(claim.bytes(), &identity));
        claimed.claims.push(claim);
    }
    Ok(claimed)
}

/// Returns the facts of a device that a result keeps.
fn facts(bytes: Bytes, identity: &Identity) -> DeviceFacts {
    let identity = serde_json::to_value(identity).unwrap_or_default();
    DeviceFacts { bytes: bytes.0, identity }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExperimentSource, FULL, RunRequest};

    fn plan(name: &str) -> Plan {
        RunRequest::once().plan(&ExperimentSource::find(name).unwrap(), FULL).unwrap()
    }

    fn offered(role: &str) -> DeviceOffer {
        DeviceOffer { role: role.into(), path: "/dev/null".into(), destroy: false }
    }

    fn refused(plan: &Plan, offered: &[DeviceOffer]) -> AdmissionError {
        claim(plan, offered, &mut |_, _| ()).unwrap_err()
    }

    #[test]
    fn every_role_needs_exactly_one_device() {
        let plan = plan("vdo-vs-plain");
        assert!(matches!(refused(&plan, &[]), AdmissionError::NoDevice { .. }));
        let twice = [offered("data"), offered("data")];
        assert!(matches!(refused(&plan, &twice), AdmissionError::TwoDevices { .. }));
        let other = refused(&plan, &[offered("dat")]);
        assert_eq!(other.to_string(), "The experiment has no device 'dat' for /dev/null");
        assert_eq!(other.help("x"), "its roles are: data");
        // The claim itself refuses a path that is not a block device.
        assert!(matches!(refused(&plan, &[offered("data")]), AdmissionError::Claim(_)));
    }

    #[test]
    fn a_machine_that_boots_anew_is_for_the_lab() {
        let mut plan = plan("vdo-vs-plain");
        assert!(check_machine(&plan).is_ok());
        let boot = layers::step::Step {
            about: "boot".into(),
            action: layers::step::Action::Reboot { after: layers::step::MachineEnd::Shutdown },
            undo: Vec::new(),
            deadline_s: 1,
        };
        let stage = &mut plan.cells[0].stages[0];
        stage.task = plan::Task::Steps(vec![boot]);
        let name = stage.name.clone();
        let error = check_machine(&plan).unwrap_err();
        assert!(error.to_string().contains(&format!("Stage '{name}' reboots the machine")));
        assert!(error.help("x").contains("fathom lab run x"), "{}", error.help("x"));
    }

    #[test]
    fn commands_need_the_word_of_the_user_and_a_packages_corpus_needs_the_lab() {
        let copy = plan("copy-on-vdo");
        let error = check_commands(&copy, "mine.toml", false).unwrap_err();
        assert!(matches!(error, AdmissionError::Command { .. }), "{error}");
        assert!(error.help("mine.toml").contains("--allow-commands"));
        let error = check_commands(&copy, "mine.toml", true).unwrap_err();
        assert!(matches!(error, AdmissionError::PackageCorpus { .. }), "{error}");
        assert!(check_commands(&plan("vdo-vs-plain"), "", false).is_ok());
    }
}
