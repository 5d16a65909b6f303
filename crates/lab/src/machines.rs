//! Machines of the lab that run on this host: found among the processes, so no record can be left behind or go stale.

use std::fs;
use std::path::Path;

use crate::qemu::{NAME, PROGRAM};

/// A machine that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningMachine {
    /// QEMU's process id.
    pub pid: u32,
    /// The process id of the program that started it.
    pub owner: u32,
    /// Its memory as given to QEMU.
    pub memory: String,
    /// Roles of its disks.
    pub disks: Vec<String>,
}

/// Returns all running machines that this user may see.
pub fn running() -> Vec<RunningMachine> {
    let list = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut machines: Vec<_> = list
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            parse(pid, &line)
        })
        .collect();
    machines.sort_by_key(|machine| machine.pid);
    machines
}

fn parse(pid: u32, line: &[u8]) -> Option<RunningMachine> {
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    // Where it is the QEMU of another suite, that suite's linker comes before the program.
    let mut starters = words.iter().take_while(|word| *word != "-name");
    if !starters.any(|word| Path::new(word.as_ref()).file_name().is_some_and(|n| n == PROGRAM)) {
        return None;
    }
    let after = |name: &str| words.iter().skip_while(|word| *word != name).nth(1).cloned();
    let serials = words.iter().filter_map(|word| word.split_once("serial="));
    Some(RunningMachine {
        pid,
        owner: after("-name")?.strip_prefix(NAME)?.parse().ok()?,
        memory: after("-m").unwrap_or_default().into_owned(),
        disks: serials.map(|(_, role)| role.to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_the_lab_is_told_from_others() {
        let words = [
            "/usr/bin/qemu-system-x86_64",
            "-name",
            "fathom-lab-42",
            "-m",
            "1024M",
            "-device",
            "virtio-blk-pci,drive=disk0,serial=data",
        ];
        let line = words.join("\0");
        let machine = parse(7, line.as_bytes()).unwrap();
        assert_eq!((machine.owner, machine.memory.as_str()), (42, "1024M"));
        assert_eq!(machine.disks, ["data"]);
        assert_eq!(parse(7, b"/usr/bin/qemu-system-x86_64\0-name\0other\0"), None);
        assert_eq!(parse(7, b"grep\0-name\0fathom-lab-42\0"), None);
    }
}
