//! Tasks of this machine, as `/proc/ID/stat` describes them.

/// The flag of a thread of the kernel (`PF_KTHREAD` of the kernel's `sched.h`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name; for a kernel worker including what it did last (`kworker/u8:2-loop7`).
    pub name: String,
    /// Tells whether it is a thread of the kernel.
    pub of_kernel: bool,
    /// CPU time in user mode, clock ticks.
    pub user_ticks: u64,
    /// CPU time in the kernel, clock ticks.
    pub system_ticks: u64,
}

impl Task {
    /// Reads a line of `/proc/ID/stat` (proc(5)); `None` if it is not such a line.
    pub fn of(stat: &str) -> Option<Self> {
        // The name may contain anything, even parentheses.
        let (head, tail) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = tail.split_whitespace().collect();
        // Fields are counted from `state`.
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            name,
            of_kernel: number(6)? & KERNEL_THREAD != 0,
            user_ticks: number(11)?,
            system_ticks: number(12)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_its_name_flags_and_times_and_a_torn_line_is_none() {
        let line = "77 (md) (x) S 2 0 0 0 -1 2129984 0 0 0 0 3 41 0 0 20 0 1 0 5 0 0";
        let task = Task::of(line).unwrap();
        assert_eq!((task.name.as_str(), task.of_kernel), ("md) (x", true));
        assert_eq!((task.user_ticks, task.system_ticks), (3, 41));
        assert_eq!(Task::of("77 (md) S 2 0 0"), None);
        let task = Task::of(&std::fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        assert!(!task.of_kernel && !task.name.is_empty());
    }
}
