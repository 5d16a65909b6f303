//! The guest kernel's command line.

use crate::spec::CommandLine;

/// Switches that the lab cannot do without: a console, an end on a crash instead of a hang, and the search path of programs.
const NEEDED: &str = "console=ttyS0 panic=-1 oops=panic PATH=/usr/bin:/bin";

/// Switches that make the boot fast, found by measuring. Some change measured performance too.
const TUNED: [&str; 20] = [
    "quiet",
    "mitigations=off",
    // Self-tests of ciphers that nothing here uses.
    "cryptomgr.notests",
    // Entropy from timing, certificates for signed modules, encrypted keys: half a second of emulated arithmetic.
    "initcall_blacklist=jent_mod_init,load_system_certificate_list,init_encrypted,crypto_kdf108_init",
    "apparmor=0",
    "audit=0",
    "lsm=none",
    "ipv6.disable=1",
    "tsc=reliable",
    "nowatchdog",
    "nokaslr",
    "rodata=off",
    "random.trust_cpu=on",
    "init_on_alloc=0",
    "randomize_kstack_offset=off",
    "loglevel=4",
    "i8042.noaux",
    "i8042.nokbd",
    "i8042.nopnp",
    "8250.nr_uarts=1",
];

/// Switches for an emulated processor. All processors but the first start late (process 1 starts them): a second one that runs while the first maps
/// devices can crash QEMU 10 (`iotlb_to_section: Assertion failed`, one start of sixty), and makes the boot slower. Their delay loops need no
/// measuring, which takes a second when the host is busy.
const EMULATED: &str = "maxcpus=1 lpj=8000000";

/// Returns the whole command line. `tsc_khz` is the rate of this machine's time-stamp counter, which an emulated guest sees unchanged. Without it the
/// guest measures the rate itself, and on a busy host its clock has then run at more than twice the speed.
pub(crate) fn command_line(which: CommandLine, kvm: bool, tsc_khz: Option<u64>) -> String {
    let mut words = vec![NEEDED.to_owned()];
    if which == CommandLine::Tuned {
        words.extend(TUNED.iter().map(ToString::to_string));
    }
    if !kvm {
        words.extend(tsc_khz.map(|khz| format!("tsc_early_khz={khz}")));
        // An emulated guest's timers fail the test that this switches off, and it then does not boot at all.
        words.push("no_timer_check".into());
        if which == CommandLine::Tuned {
            words.push(EMULATED.into());
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_ends_the_guest_with_either_command_line() {
        for which in [CommandLine::Tuned, CommandLine::Plain] {
            let line = command_line(which, false, None);
            assert!(line.contains("panic=-1") && line.contains("oops=panic"), "{line}");
        }
    }

    #[test]
    fn the_plain_one_leaves_mitigations_as_they_are() {
        assert!(!command_line(CommandLine::Plain, false, None).contains("mitigations"));
        assert!(command_line(CommandLine::Tuned, false, None).contains("mitigations=off"));
    }

    #[test]
    fn an_emulated_guest_is_told_the_rate_of_its_clock() {
        for which in [CommandLine::Tuned, CommandLine::Plain] {
            assert!(
                command_line(which, false, Some(2_300_000)).contains(" tsc_early_khz=2300000 ")
            );
            assert!(!command_line(which, true, Some(2_300_000)).contains("khz"));
        }
    }
}
