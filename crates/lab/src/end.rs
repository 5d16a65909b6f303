//! The end of a machine, and the traces that explain it.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Length of the console's end that is shown, bytes.
const TAIL: u64 = 8 << 10;
/// The words of QEMU when a signal ends it; the signal's number and the sender follow.
const TERMINATED: &str = "terminating on signal ";
/// The words of the guest's kernel when it gives up.
const PANIC: &str = "Kernel panic - not syncing";

/// The way in which a machine ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The session ended well and the guest powered off.
    Done,
    /// The session failed, panicked or was killed in the guest.
    Failed {
        /// The session's reason.
        why: String,
    },
    /// The process that served a modelled disk ended before the machine, which was killed then.
    DiskLost {
        /// The disk, the end of its process, and the remedy.
        why: String,
    },
    /// The guest's kernel or QEMU crashed, or the guest went off without a word.
    Crashed {
        /// The known cause.
        why: String,
    },
    /// Somebody else on the host ended it.
    EndedOutside {
        /// The signal and its sender, as far as they are known.
        why: String,
    },
    /// The machine was killed at its deadline.
    Deadline {
        /// The deadline, counted from the start.
        after: Duration,
    },
    /// The link broke while the machine still ran; it was killed then.
    LinkLost {
        /// The known cause.
        why: String,
    },
    /// This process killed it.
    Killed,
}

impl Ending {
    fn crashed(why: String) -> Self {
        Self::Crashed { why }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Done => write!(f, "the guest finished"),
            Self::Failed { why } => write!(f, "the guest failed: {why}"),
            Self::DiskLost { why } => write!(f, "a modelled disk was lost: {why}"),
            Self::Crashed { why } => write!(f, "the guest crashed: {why}"),
            Self::EndedOutside { why } => write!(f, "the guest was ended from outside: {why}"),
            Self::Deadline { after } => {
                let after = after.as_secs();
                write!(f, "the guest was killed at its deadline of {after} s")
            }
            Self::LinkLost { why } => write!(f, "the link to the guest was lost: {why}"),
            Self::Killed => write!(f, "the guest was killed"),
        }
    }
}

/// The end of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The way in which it ended.
    pub ending: Ending,
    /// The last 8 KiB of its console.
    pub console_tail: String,
    /// The output of QEMU itself.
    pub qemu_said: String,
    /// The time that it ran.
    pub ran_for: Duration,
}

/// The evidence that is left when a machine is gone, for [`judge`].
#[derive(Debug, Default)]
pub(crate) struct Evidence<'a> {
    pub(crate) done: bool,
    pub(crate) failed: Option<String>,
    pub(crate) disk_lost: Option<String>,
    pub(crate) link_error: Option<String>,
    /// QEMU ended by itself.
    pub(crate) by_itself: bool,
    /// QEMU's exit was 0.
    pub(crate) cleanly: bool,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) killed: bool,
    pub(crate) deadline: Option<Duration>,
    pub(crate) console: &'a str,
    pub(crate) qemu_said: &'a str,
}

/// Returns the verdict: the explanation that fits best comes first.
pub(crate) fn judge(seen: &Evidence) -> Ending {
    let panic = seen
        .console
        .lines()
        .rev()
        .find_map(|line| line.find(PANIC).map(|at| line[at..].trim().to_owned()));
    match seen {
        Evidence { done: true, .. } => Ending::Done,
        Evidence { disk_lost: Some(why), .. } => Ending::DiskLost { why: why.clone() },
        Evidence { failed: Some(why), .. } => Ending::Failed { why: why.clone() },
        Evidence { deadline: Some(after), .. } => Ending::Deadline { after: *after },
        Evidence { killed: true, .. } => Ending::Killed,
        _ => match (panic.map(Ending::crashed).or_else(|| outside(seen)), seen.by_itself) {
            (Some(known), _) => known,
            (None, true) if !seen.cleanly => Ending::Crashed {
                why: match (seen.qemu_said.trim(), seen.signal) {
                    ("", Some(signal)) => format!("QEMU ended by signal {signal}"),
                    ("", None) => "QEMU ended without a word".to_owned(),
                    (output, _) => {
                        format!("QEMU: {}", output.lines().collect::<Vec<_>>().join("; "))
                    }
                },
            },
            (None, true) => {
                Ending::Crashed { why: "it went off before the session ended".to_owned() }
            }
            (None, false) => Ending::LinkLost {
                why: seen.link_error.clone().unwrap_or_else(|| "the guest closed it".to_owned()),
            },
        },
    }
}

/// Describes who ended QEMU and how; `None` where it was this process, the guest, or a fault of QEMU's.
fn outside(seen: &Evidence) -> Option<Ending> {
    const KILL: i32 = 9;
    let terminated = seen.qemu_said.lines().rev().find_map(|line| line.split_once(TERMINATED));
    let why = match (terminated, seen.signal) {
        (Some((_, terminated)), _) => format!("QEMU got signal {}", terminated.trim()),
        (None, Some(KILL)) => {
            "QEMU was killed by signal 9; the kernel kills what needs more memory than there is: see dmesg"
                .to_owned()
        }
        _ => return None,
    };
    Some(Ending::EndedOutside { why })
}

/// The end of a file that may still be written to.
pub(crate) fn tail(file: &File) -> String {
    let length = file.metadata().map_or(0, |facts| facts.len());
    let start = length.saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
    match file.read_at(&mut bytes, start) {
        Ok(got) => bytes.truncate(got),
        Err(_) => bytes.clear(),
    }
    String::from_utf8_lossy(&bytes).replace('\r', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_panic_is_a_crash_with_the_kernels_words() {
        let seen = Evidence {
            by_itself: true,
            cleanly: true,
            console: "[ 2.1] Kernel panic - not syncing: sysrq triggered crash\n[ 2.2] CPU: 0",
            ..Evidence::default()
        };
        assert_eq!(
            judge(&seen).to_string(),
            "the guest crashed: Kernel panic - not syncing: sysrq triggered crash"
        );
    }

    #[test]
    fn a_guest_that_goes_off_without_a_word_has_crashed() {
        let mut seen = Evidence { by_itself: true, cleanly: true, ..Evidence::default() };
        assert!(matches!(judge(&seen), Ending::Crashed { .. }));
        seen.done = true;
        assert_eq!(judge(&seen), Ending::Done);
    }

    #[test]
    fn what_qemu_says_is_the_reason_when_it_does_not_start() {
        let seen = Evidence {
            by_itself: true,
            qemu_said: "qemu-system-x86_64: cannot set up guest memory\n",
            ..Evidence::default()
        };
        assert!(judge(&seen).to_string().contains("cannot set up guest memory"));
    }

    #[test]
    fn a_guest_that_somebody_ended_has_not_crashed() {
        let message = "qemu-system-x86_64: terminating on signal 15 from pid 4711 (kill)\n";
        let term =
            Evidence { by_itself: true, cleanly: true, qemu_said: message, ..Evidence::default() };
        assert_eq!(
            judge(&term).to_string(),
            "the guest was ended from outside: QEMU got signal 15 from pid 4711 (kill)"
        );
        let killed = Evidence { by_itself: true, signal: Some(9), ..Evidence::default() };
        assert!(judge(&killed).to_string().contains("from outside: QEMU was killed by signal 9"));
        let fault = Evidence { by_itself: true, signal: Some(11), ..Evidence::default() };
        assert_eq!(judge(&fault).to_string(), "the guest crashed: QEMU ended by signal 11");
        let panicked = Evidence { console: "Kernel panic - not syncing: x", ..term };
        assert!(matches!(judge(&panicked), Ending::Crashed { .. }));
    }

    #[test]
    fn the_deadline_explains_a_silent_guest() {
        let seen = Evidence { deadline: Some(Duration::from_secs(7)), ..Evidence::default() };
        assert_eq!(judge(&seen).to_string(), "the guest was killed at its deadline of 7 s");
    }

    #[test]
    fn a_disk_that_is_lost_explains_a_machine_that_was_killed_for_it() {
        let seen = Evidence {
            disk_lost: Some("its process was killed".into()),
            failed: Some("an I/O error".into()),
            killed: true,
            ..Evidence::default()
        };
        assert_eq!(judge(&seen).to_string(), "a modelled disk was lost: its process was killed");
    }

    #[test]
    fn a_link_that_breaks_under_a_running_machine_is_told_apart() {
        assert!(matches!(judge(&Evidence::default()), Ending::LinkLost { .. }));
    }
}
