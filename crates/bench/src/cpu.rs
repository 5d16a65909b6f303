//! CPU time by its users: our child, the kernel's threads, everything else.

use std::time::Duration;

/// The flag of a kernel thread in field 9 of `/proc/PID/stat`. io_uring workers do not have it: they count as threads of the process that they work
/// for.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// CPU time of the machine and of children that ended, at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuReading {
    /// Children of this process that ended and were waited for, all their threads.
    children: Duration,
    /// Threads of the kernel (kworkers, layers' own threads, ksoftirqd).
    kernel_threads: Duration,
    /// Interrupts and soft interrupts, as far as the kernel counts them apart.
    interrupts: Duration,
    /// Everything that was not idle.
    busy: Duration,
}

/// CPU time between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CpuUse {
    /// CPU time of the child, in seconds: user and kernel time of all its threads, io_uring workers included.
    pub process_s: f64,
    /// CPU time of kernel threads, in seconds: those that worked for the child and, on a busy machine, those that did not.
    pub kernel_threads_s: f64,
    /// CPU time of interrupts, in seconds, as far as the kernel counts them separately.
    pub interrupts_s: f64,
    /// CPU time of everybody else, in seconds.
    pub foreign_s: f64,
}

impl CpuUse {
    /// CPU time of the child and of all that the kernel did while it ran, in seconds.
    pub fn system_s(&self) -> f64 {
        self.process_s + self.kernel_threads_s + self.interrupts_s
    }
}

impl CpuReading {
    /// Reads the counters now, among them a file of each kernel thread, which takes a few milliseconds.
    pub fn now() -> Self {
        let ((user, system), tick) = (sys::usage::children(), tick());
        let (interrupts, busy) = machine();
        Self {
            children: user + system,
            kernel_threads: tick * kernel_threads() as u32,
            interrupts: tick * interrupts as u32,
            busy: tick * busy as u32,
        }
    }

    /// Returns the CPU time used from this reading to `later`.
    pub fn until(self, later: Self) -> CpuUse {
        let grown =
            |get: fn(&Self) -> Duration| get(&later).saturating_sub(get(&self)).as_secs_f64();
        let process_s = grown(|m| m.children);
        let kernel_threads_s = grown(|m| m.kernel_threads);
        let interrupts_s = grown(|m| m.interrupts);
        let others = grown(|m| m.busy) - process_s - kernel_threads_s - interrupts_s;
        CpuUse { process_s, kernel_threads_s, interrupts_s, foreign_s: others.max(0.0) }
    }
}

/// The length of a clock tick.
fn tick() -> Duration {
    Duration::from_secs(1) / rustix::param::clock_ticks_per_second().max(1) as u32
}

/// Ticks of interrupts, and of everything that was not idle, waiting or stolen.
fn machine() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = first.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    let interrupts = at(5) + at(6);
    (interrupts, at(0) + at(1) + at(2) + interrupts)
}

/// Ticks of all kernel threads that are there now.
fn kernel_threads() -> u64 {
    let Ok(folder) = std::fs::read_dir("/proc") else { return 0 };
    folder
        .flatten()
        .filter(|entry| {
            entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
        })
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| kernel_thread(&stat))
        .sum()
}

/// Returns the ticks of the kernel thread that `stat` describes; `None` for any other thread.
fn kernel_thread(stat: &str) -> Option<u64> {
    // The name stands in brackets and may hold anything.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    (number(9)? & KERNEL_THREAD != 0).then_some(())?;
    Some(number(14)? + number(15)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_thread_is_told_from_a_process_by_its_flags_and_not_by_its_name() {
        let stat = |flags: u64| {
            format!("17 (a) 1 (b) S 2 0 0 0 -1 {flags} 0 0 0 0 30 12 0 0 20 0 1 0 5 0 0")
        };
        assert_eq!(kernel_thread(&stat(69_238_880)), Some(42));
        assert_eq!(kernel_thread(&stat(0x0040_0000)), None);
        assert_eq!(kernel_thread("garbage"), None);
    }

    #[test]
    fn a_child_that_worked_is_seen_once_it_was_waited_for() {
        let before = CpuReading::now();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh").args(["-c", script]).status().unwrap();
        assert!(status.success());
        let used = before.until(CpuReading::now());
        assert!(used.process_s > 0.01, "{used:?}");
        assert!(used.system_s() >= used.process_s);
    }
}
