//! Facts of the machine, for the result.

use std::path::Path;
use std::time::Duration;

use layers::environment::SETTINGS;
use layers::{Fact, FactSource};
use results::model::MachineFacts;
use sys::dm::Dm;
use sys::interrupt::Interrupt;
use units::Bytes;

/// Returns the facts of this machine that can be found out.
pub fn facts() -> MachineFacts {
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let facts = [
        ("kernel", Some(format!("{} {}", text(uname.sysname()), text(uname.release())))),
        ("kernel_build", Some(text(uname.version()))),
        ("architecture", Some(text(uname.machine()))),
        ("os", os()),
        ("cpu", from_cpuinfo("model name")),
        ("cpu_features", Some(sys::cpu::features())),
        ("cpus", std::thread::available_parallelism().ok().map(|n| n.to_string())),
        ("memory", memory().map(|bytes| bytes.to_string())),
        ("virtualisation", Some(virtualisation())),
        ("clock_source", file("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("mitigations", mitigations()),
        ("device_mapper_targets", targets()),
    ];
    let of_layers = layers::facts().into_iter().map(|fact| (fact.name, of_layer(fact)));
    let settings = SETTINGS.iter().filter(|setting| !setting.is_of_device());
    let settings = settings.map(|setting| {
        let value = crate::environment::read(setting.key.name, None).ok();
        (setting.key.name, value.filter(|value| !value.is_empty()))
    });
    let facts = facts.into_iter().chain(of_layers).chain(settings);
    let known = facts.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    MachineFacts(known.collect())
}

/// A file's first line; `None` when it is missing or empty.
pub(crate) fn file(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn os() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

fn from_cpuinfo(key: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Memory of the machine.
pub(crate) fn memory() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Bytes(kib * Bytes::KIB))
}

/// Returns the hypervisor that the CPU and the firmware report; `none` on bare metal.
fn virtualisation() -> String {
    let flags = from_cpuinfo("flags").unwrap_or_default();
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return "none".to_owned();
    }
    let maker = file("/sys/class/dmi/id/sys_vendor");
    let product = file("/sys/class/dmi/id/product_name");
    let names: Vec<_> = [maker, product].into_iter().flatten().collect();
    if names.is_empty() { "a virtual machine".to_owned() } else { names.join(" ") }
}

/// Value of `mitigations=` on the kernel's command line (`off` leaves out protections that cost speed); `None` where it is not given.
fn mitigations() -> Option<String> {
    let line = file("/proc/cmdline")?;
    let word = line.split_whitespace().find_map(|word| word.strip_prefix("mitigations="))?;
    Some(word.to_owned())
}

fn targets() -> Option<String> {
    let targets = Dm::open().and_then(|dm| dm.targets()).ok()?;
    let shown: Vec<_> =
        targets.iter().map(|(name, [a, b, c])| format!("{name} {a}.{b}.{c}")).collect();
    Some(shown.join(", "))
}

/// A fact that a layer names.
fn of_layer(fact: &Fact) -> Option<String> {
    match fact.from {
        FactSource::File(path) => file(path),
        FactSource::Command { argv, after, needs } => {
            if !Path::new(needs).exists() {
                return None;
            }
            let argv: Vec<_> = argv.iter().map(ToString::to_string).collect();
            let output = crate::child::run(&argv, Duration::from_secs(10), &Interrupt::new());
            let stdout = output.ok()?.stdout;
            let line = stdout.lines().find_map(|line| line.trim().strip_prefix(after))?;
            Some(line.trim().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described_as_the_kernel_describes_it() {
        let facts = facts().0;
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert!(facts["kernel"].contains(release.trim()), "{facts:?}");
        assert!(facts["cpus"].parse::<usize>().unwrap() > 0);
        for name in ["memory", "virtualisation", "architecture"] {
            assert!(facts.contains_key(name), "{name}");
        }
        assert!(facts.values().all(|value| !value.trim().is_empty()), "{facts:?}");
    }
}
