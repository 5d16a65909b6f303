//! CPU time that is taken from the machine by anything other than this program.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Instant;

use results::model::MachineLoad;

/// Reads how much of the machine's CPUs others take: other programs, the kernel itself, and a hypervisor (steal).
#[derive(Debug)]
pub struct Others {
    last: Reading,
}

/// Measures what the machine does for others than this program, from the meter's creation to its reading.
#[derive(Debug)]
pub struct Meter {
    start: Reading,
    began: Instant,
    /// Microseconds that some thread has waited so far, for each of `PRESSURES`.
    waited: [Option<u64>; 3],
    frequency_mhz: Option<f64>,
}

/// Resources that pressure stall information has figures of (Documentation/accounting/psi.rst).
const PRESSURES: [&str; 3] = ["cpu", "memory", "io"];

impl Meter {
    /// Begins to measure.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            start: read()?,
            began: Instant::now(),
            waited: PRESSURES.map(waited),
            frequency_mhz: frequency_mhz(),
        })
    }

    /// Returns the load since the meter was made.
    pub fn read(&self) -> io::Result<MachineLoad> {
        let now = read()?;
        let micros = self.began.elapsed().as_micros() as f64;
        let pressure = |place: usize| {
            let more = waited(PRESSURES[place])?.saturating_sub(self.waited[place]?);
            (micros > 0.0).then(|| (100.0 * more as f64 / micros).min(100.0))
        };
        let frequencies = [self.frequency_mhz, frequency_mhz()];
        let known: Vec<f64> = frequencies.into_iter().flatten().collect();
        Ok(MachineLoad {
            others_percent: programs(&self.start, &now).map(|share| 100.0 * share),
            steal_percent: stolen(self.start.ticks, now.ticks).map(|share| 100.0 * share),
            cpu_pressure_percent: pressure(0),
            memory_pressure_percent: pressure(1),
            io_pressure_percent: pressure(2),
            frequency_mhz: (known.len() == 2).then(|| known.iter().sum::<f64>() / 2.0),
        })
    }
}

/// The share of all CPUs that other programs took. Kernel threads do not count: a layer may have its work done there.
fn programs(before: &Reading, now: &Reading) -> Option<f64> {
    let all = now.ticks.all.checked_sub(before.ticks.all).filter(|all| *all > 0)?;
    let grown = |of: fn(&Ticks) -> u64| of(&now.ticks).saturating_sub(of(&before.ticks));
    let busy = grown(|ticks| ticks.busy);
    let not_theirs = [
        grown(|ticks| ticks.of_run),
        now.kernel_grown(before),
        grown(|ticks| ticks.steal),
        grown(|ticks| ticks.interrupts),
    ];
    let theirs = busy.saturating_sub(not_theirs.iter().sum());
    Some((theirs as f64 / all as f64).min(1.0))
}

fn stolen(before: Ticks, now: Ticks) -> Option<f64> {
    let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
    Some(now.steal.saturating_sub(before.steal) as f64 / all as f64)
}

/// Returns the time that some thread has waited so far, microseconds; `None` where the kernel does not count it.
fn waited(what: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/pressure/{what}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// Mean frequency of all CPUs; `None` where the kernel does not report it.
fn frequency_mhz() -> Option<f64> {
    let entries = fs::read_dir("/sys/devices/system/cpu").ok()?.flatten();
    let khz = entries.filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("cpufreq/scaling_cur_freq")).ok()?;
        text.trim().parse::<f64>().ok()
    });
    let all: Vec<f64> = khz.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64 / 1e3)
}

/// Ticks of the clock since the machine started, all CPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    all: u64,
    busy: u64,
    /// Ticks of this process and of all below it, those that have ended too.
    of_run: u64,
    /// Ticks in interrupts, hard and soft, which cannot be attributed to any program.
    interrupts: u64,
    /// Ticks taken by the host of this machine, where it is virtual.
    steal: u64,
}

/// Counters that were read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    ticks: Ticks,
    /// Ticks of each living thread of the kernel.
    kernel: BTreeMap<Thread, u64>,
}

/// Identity of a thread: its number and the time of its start, since numbers are reused once a thread has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Thread {
    pid: u32,
    started: u64,
}

impl Reading {
    /// Ticks of threads of the kernel since `before`. When such a thread ends its ticks are gone, because no parent waits for it, so that a sum over
    /// all of them may fall. Each is compared with its own earlier count instead.
    fn kernel_grown(&self, before: &Self) -> u64 {
        let grown = |(thread, ticks): (&Thread, &u64)| {
            ticks.saturating_sub(before.kernel.get(thread).copied().unwrap_or_default())
        };
        self.kernel.iter().map(grown).sum()
    }
}

/// Fields of a process's `stat` that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    ticks: u64,
    /// Its start, in ticks after that of the machine.
    started: u64,
}

impl Others {
    /// Begins to count.
    pub fn new() -> io::Result<Self> {
        Ok(Self { last: read()? })
    }

    /// The share of all CPUs that others took since the last call, 0 to 1; `None` where no time went by.
    pub fn share(&mut self) -> io::Result<Option<f64>> {
        let now = read()?;
        let share = share(self.last.ticks, now.ticks);
        self.last = now;
        Ok(share)
    }
}

fn share(before: Ticks, now: Ticks) -> Option<f64> {
    let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
    let ours = now.of_run.saturating_sub(before.of_run);
    let others = now.busy.saturating_sub(before.busy).saturating_sub(ours);
    Some((others as f64 / all as f64).min(1.0))
}

fn read() -> io::Result<Reading> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "/proc/stat has no line 'cpu'");
    let machine = machine(&fs::read_to_string("/proc/stat")?).ok_or_else(wrong)?;
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process may end between listing and reading.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        processes.extend(process(&stat).map(|process| (pid, process)));
    }
    let of_run = below(std::process::id(), &processes).map(|(_, process)| process.ticks).sum();
    let kernel = below(KTHREADD, &processes);
    let kernel = kernel.map(|(pid, p)| (Thread { pid, started: p.started }, p.ticks)).collect();
    Ok(Reading { ticks: Ticks { of_run, ..machine }, kernel })
}

/// The parent of all threads of the kernel.
const KTHREADD: u32 = 2;

/// All ticks and the busy ones: user, nice, system, interrupts and steal, but not idle and waiting for I/O (proc(5)).
fn machine(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|n| n.parse().ok()).collect();
    let [user, nice, system, idle, waiting, irq, softirq, steal, ..] = ticks[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq + steal;
    let interrupts = irq + softirq;
    Some(Ticks { all: busy + idle + waiting, busy, of_run: 0, interrupts, steal })
}

/// A process's line: its name in parentheses may hold anything, parentheses too.
fn process(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    // Its own time in user and kernel mode, and that of children it has waited for: fields 14 to 17.
    let ticks = fields.get(11..15)?.iter().map(|n| n.parse::<u64>()).sum::<Result<_, _>>();
    let started = fields.get(19)?.parse().ok()?;
    Some(Process { parent, ticks: ticks.ok()?, started })
}

/// `root` and all processes below it.
fn below(root: u32, processes: &BTreeMap<u32, Process>) -> impl Iterator<Item = (u32, Process)> {
    let is_below = move |mut pid: u32| {
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
    processes.iter().map(|(pid, process)| (*pid, *process)).filter(move |(pid, _)| is_below(*pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_ours_and_of_our_children_is_not_of_others() {
        let stat = "cpu  100 10 50 800 40 3 7 30 0 0\ncpu0 1 2 3\n";
        let ticks = machine(stat).unwrap();
        assert_eq!((ticks.all, ticks.busy, ticks.interrupts, ticks.steal), (1040, 200, 10, 30));
        assert!(machine("cpu0 1 2").is_none());
        let line = "12 (a) (b) S 7 12 12 0 -1 4194304 100 0 0 0 5 6 70 8 20 0 1 0 100";
        assert_eq!(process(line), Some(Process { parent: 7, ticks: 89, started: 100 }));
        assert_eq!(process("12 (x"), None);
        let of = |parent, ticks| Process { parent, ticks, started: 0 };
        let all =
            [(1, of(0, 1)), (7, of(1, 10)), (12, of(7, 100)), (13, of(12, 1000)), (2, of(1, 5))];
        assert_eq!(below(7, &all.into()).map(|(_, process)| process.ticks).sum::<u64>(), 1110);
        let ticks = |all, busy, of_run| Ticks { all, busy, of_run, interrupts: 0, steal: 0 };
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
        let (before, now) = (before.ticks, now.ticks);
        assert!(now.of_run > before.of_run && now.all > before.all, "{before:?} {now:?}");
        assert!(share(before, now).is_some_and(|share| (0.0..=1.0).contains(&share)));
    }

    #[test]
    fn a_busy_loop_of_somebody_else_is_seen() {
        let meter = Meter::new().unwrap();
        // Its shell ends at once, so that it is not below this program.
        let busy = "timeout 2 sh -c 'while :; do :; done' >/dev/null 2>&1 &";
        let mut shell = std::process::Command::new("sh");
        assert!(shell.args(["-c", busy]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(1500));
        let load = meter.read().unwrap();
        let cpus = std::thread::available_parallelism().unwrap().get() as f64;
        let one = 100.0 / cpus;
        // Half of one CPU, where others leave it so much.
        assert!(load.others_percent.unwrap() > 0.5 * one * 0.5, "{load:?}");
        assert!(load.steal_percent.is_some());
        assert!(load.cpu_pressure_percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)));
    }

    #[test]
    fn threads_of_the_kernel_and_interrupts_are_nobodys() {
        let thread = |pid, started| Thread { pid, started };
        let before = Reading {
            ticks: Ticks { all: 1000, busy: 500, of_run: 100, interrupts: 10, steal: 0 },
            kernel: [(thread(3, 0), 50), (thread(4, 0), 400)].into(),
        };
        // One has ended, with all that it ever did; its number is another's now.
        let now = Reading {
            ticks: Ticks { all: 2000, busy: 1400, of_run: 400, interrupts: 30, steal: 80 },
            kernel: [(thread(3, 0), 340), (thread(4, 1500), 10)].into(),
        };
        // 900 busy: 300 own, 300 of the kernel, 20 interrupts, 80 stolen, 200 of others.
        assert_eq!(programs(&before, &now), Some(0.2));
        assert_eq!(stolen(before.ticks, now.ticks), Some(0.08));
        assert_eq!(programs(&now, &now), None);
    }
}
