//! CPU time that others than this program take from the machine.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// Reads how much of the machine's CPUs others take: other programs, the kernel on its own, and a hypervisor (steal).
#[derive(Debug)]
pub struct Others {
    last: Ticks,
}

/// Ticks of the clock since the machine started, all CPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    all: u64,
    busy: u64,
    /// Of this process and of all below it, those that have ended too.
    own: u64,
}

/// What of a process's `stat` matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    ticks: u64,
}

impl Others {
    /// Begins to count.
    pub fn new() -> io::Result<Self> {
        Ok(Self { last: read()? })
    }

    /// The share of all CPUs that others took since the last call, 0 to 1; `None` where no time went by.
    pub fn share(&mut self) -> io::Result<Option<f64>> {
        let now = read()?;
        let before = std::mem::replace(&mut self.last, now);
        Ok(share(before, now))
    }
}

fn share(before: Ticks, now: Ticks) -> Option<f64> {
    let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
    let own = now.own.saturating_sub(before.own);
    let others = now.busy.saturating_sub(before.busy).saturating_sub(own);
    Some((others as f64 / all as f64).min(1.0))
}

fn read() -> io::Result<Ticks> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "/proc/stat has no line 'cpu'");
    let (all, busy) = machine(&fs::read_to_string("/proc/stat")?).ok_or_else(wrong)?;
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // One may end between the two.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        processes.extend(process(&stat).map(|process| (pid, process)));
    }
    Ok(Ticks { all, busy, own: below(std::process::id(), &processes) })
}

/// All ticks and the busy ones: user, nice, system, interrupts and steal, but not idle and waiting for I/O (proc(5)).
fn machine(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|n| n.parse().ok()).collect();
    let [user, nice, system, idle, waiting, irq, softirq, steal, ..] = ticks[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq + steal;
    Some((busy + idle + waiting, busy))
}

/// A process's line: its name in parentheses may hold anything, parentheses too.
fn process(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    // Its own time in user and kernel mode, and that of children it has waited for: fields 14 to 17.
    let ticks = fields.get(11..15)?.iter().map(|n| n.parse::<u64>()).sum::<Result<_, _>>();
    Some(Process { parent, ticks: ticks.ok()? })
}

/// Ticks of `root` and of all processes below it.
fn below(root: u32, processes: &BTreeMap<u32, Process>) -> u64 {
    let is_below = |mut pid: u32| {
        // A chain of parents ends at process 1, whose parent is 0.
        for _ in 0..processes.len() {
            if pid == root {
                return true;
            }
            match processes.get(&pid) {
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    processes.iter().filter(|(pid, _)| is_below(**pid)).map(|(_, process)| process.ticks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_ours_and_of_our_children_is_not_of_others() {
        let stat = "cpu  100 10 50 800 40 3 7 30 0 0\ncpu0 1 2 3\n";
        assert_eq!(machine(stat), Some((1040, 200)));
        assert_eq!(machine("cpu0 1 2"), None);
        let line = "12 (a) (b) S 7 12 12 0 -1 4194304 100 0 0 0 5 6 70 8 20 0 1 0 100";
        assert_eq!(process(line), Some(Process { parent: 7, ticks: 89 }));
        assert_eq!(process("12 (x"), None);
        let of = |parent, ticks| Process { parent, ticks };
        let all =
            [(1, of(0, 1)), (7, of(1, 10)), (12, of(7, 100)), (13, of(12, 1000)), (2, of(1, 5))];
        assert_eq!(below(7, &all.into()), 1110);
        let ticks = |all, busy, own| Ticks { all, busy, own };
        assert_eq!(share(ticks(0, 0, 0), ticks(200, 100, 60)), Some(0.2));
        assert_eq!(share(ticks(5, 0, 0), ticks(5, 0, 0)), None);
        // A child that nobody has waited for yet is counted once it has been.
        assert_eq!(share(ticks(0, 0, 0), ticks(200, 10, 60)), Some(0.0));
    }

    #[test]
    fn our_own_work_is_no_disturbance() {
        let before = read().unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(began.elapsed());
        }
        let now = read().unwrap();
        assert!(now.own > before.own && now.all > before.all, "{before:?} {now:?}");
        assert!(share(before, now).is_some_and(|share| (0.0..=1.0).contains(&share)));
    }
}
