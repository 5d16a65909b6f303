//! The cases of a comparison: each is one access pattern, mix and depth on one target.

use serde::{Deserialize, Serialize};

use crate::fio::{FioJob, search};
use crate::target::{Target, TargetKind};

/// The order in which blocks are accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// One after the other.
    Sequential,
    /// Every block equally likely, drawn independently (fio: `norandommap`).
    Uniform,
    /// Every block once in a pass, in random order (fio: its random map).
    Permutation,
    /// Normally distributed offsets, 5 % standard deviation (fio: `normal:5`).
    Normal,
    /// Zipf of 1.2, popular blocks side by side (fio: `zipf:1.2`, which always scatters).
    Zipf,
    /// Zipf of 1.2, popular blocks scattered (fio: `zipf:1.2`).
    ZipfScattered,
}

/// Reads, writes, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Reads only.
    Reads,
    /// Writes only, of content that nothing can shrink (fio: `refill_buffers`).
    Writes,
    /// 70 % reads, 30 % writes.
    Mixed,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// Name of its target.
    pub target: String,
    /// The order in which blocks are accessed.
    pub access: Access,
    /// Reads, writes or both.
    pub mix: Mix,
    /// I/Os in flight.
    pub depth: u32,
    /// The CPU that every program is pinned to; `None` leaves placement to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
}

impl Case {
    #[cfg(test)]
    pub(crate) fn example(target: &Target) -> Self {
        let (access, mix) = (Access::Uniform, Mix::Reads);
        Self { target: target.name.clone(), access, mix, depth: 32, cpu: None }
    }

    /// Tells whether the floor (a bare loop of I/O calls) can run this case: it only reads or only writes, uniformly at random or in order.
    pub fn has_floor(&self, target: &Target) -> bool {
        let order = matches!(self.access, Access::Uniform | Access::Sequential);
        target.kind != TargetKind::Null && order && self.mix != Mix::Mixed
    }

    /// A name for tables and folders: `zram uniform reads depth 32`.
    pub fn name(&self) -> String {
        let access = match self.access {
            Access::Sequential => "sequential",
            Access::Uniform => "uniform",
            Access::Permutation => "permutation",
            Access::Normal => "normal",
            Access::Zipf => "zipf",
            Access::ZipfScattered => "scattered zipf",
        };
        let mix = match self.mix {
            Mix::Reads => "reads",
            Mix::Writes => "writes",
            Mix::Mixed => "mixed",
        };
        let held = self.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        format!("{} {access} {mix} depth {}{held}", self.target, self.depth)
    }

    /// Returns the fio job that does the same as this case.
    pub fn fio(&self, target: &Target, millis: Option<u64>) -> FioJob {
        let rw = match (self.mix, self.access) {
            (Mix::Reads, Access::Sequential) => "read",
            (Mix::Writes, Access::Sequential) => "write",
            (Mix::Mixed, Access::Sequential) => "rw",
            (Mix::Reads, _) => "randread",
            (Mix::Writes, _) => "randwrite",
            (Mix::Mixed, _) => "randrw",
        };
        let distribution = match self.access {
            Access::Uniform => Some("--norandommap"),
            Access::Normal => Some("--random_distribution=normal:5"),
            Access::Zipf | Access::ZipfScattered => Some("--random_distribution=zipf:1.2"),
            Access::Sequential | Access::Permutation => None,
        };
        let mut more: Vec<String> = distribution.iter().map(ToString::to_string).collect();
        if self.mix == Mix::Mixed {
            more.push("--rwmixread=70".into());
        }
        // Without `refill_buffers` fio writes nearly the same page over and over, which is cheap and tests nothing.
        if self.mix != Mix::Reads {
            more.push("--refill_buffers".into());
        }
        let (path, size) = (target.path.clone(), target.size);
        FioJob { path, size, rw, more, depth: self.depth, direct: target.direct, millis }
    }
}

/// Returns the cases of a comparison on these targets, at `depths` or, if that is empty, at default depths. A quick comparison has only uniform
/// reads, the main patterns of the null target and, unless depths are named, two depths.
pub fn cases(targets: &[Target], quick: bool, depths: &[u32]) -> Vec<Case> {
    let mut all = Vec::new();
    for target in targets {
        let wanted = |depth| depths.is_empty() || depths.contains(&depth);
        let mut add = |access, mix, depth| {
            if wanted(depth) {
                all.push(Case { target: target.name.clone(), access, mix, depth, cpu: None });
            }
        };
        if target.kind == TargetKind::Null {
            add_null_cases(quick, &mut add);
            continue;
        }
        for depth in [1, 32, 128] {
            if quick && depth == 128 && depths.is_empty() {
                continue;
            }
            add(Access::Uniform, Mix::Reads, depth);
            if !quick {
                add(Access::Sequential, Mix::Reads, depth);
            }
            if target.made && !quick {
                add(Access::Uniform, Mix::Writes, depth);
            }
            if target.made && !quick && depth == 32 {
                add(Access::Sequential, Mix::Writes, depth);
            }
        }
        if target.kind == TargetKind::Loop && wanted(1) {
            all.extend(pinned_case(target));
        }
    }
    all
}

/// Returns the same cases, only those whose name contains `text` if it is given.
pub fn cases_named(
    targets: &[Target],
    quick: bool,
    depths: &[u32],
    text: Option<&str>,
) -> Vec<Case> {
    let mut cases = cases(targets, quick, depths);
    cases.retain(|case| text.is_none_or(|text| case.name().contains(text)));
    cases
}

/// Returns the case of one read at a time with everything pinned to one CPU; `None` without taskset. Where another thread does the I/O, as for a loop
/// device, each read needs two context switches on one CPU, or two wake-ups of sleeping CPUs. Wake-ups cost many times as much in a virtual machine.
/// Without pinning the kernel's scheduler decides which of these a program pays.
fn pinned_case(target: &Target) -> Option<Case> {
    search("taskset")?;
    let cpu = first_cpu()?;
    let (access, mix) = (Access::Uniform, Mix::Reads);
    Some(Case { target: target.name.clone(), access, mix, depth: 1, cpu: Some(cpu) })
}

/// The first CPU that this process may use.
fn first_cpu() -> Option<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).ok()?;
    (0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu))
}

/// Adds the cases of the null target: every pattern at depth 128, uniform and permutation at other depths too.
fn add_null_cases(quick: bool, add: &mut impl FnMut(Access, Mix, u32)) {
    add(Access::Uniform, Mix::Reads, 1);
    add(Access::Uniform, Mix::Reads, 128);
    add(Access::Permutation, Mix::Reads, 128);
    add(Access::ZipfScattered, Mix::Reads, 128);
    if quick {
        return;
    }
    add(Access::Uniform, Mix::Reads, 32);
    add(Access::Permutation, Mix::Reads, 1);
    for access in [Access::Sequential, Access::Normal, Access::Zipf] {
        add(access, Mix::Reads, 128);
    }
    add(Access::Uniform, Mix::Mixed, 128);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_was_not_made_here_is_only_read() {
        let target = |made| Target { made, ..Target::example() };
        let writes = |made| cases(&[target(made)], false, &[]).iter().any(|c| c.mix != Mix::Reads);
        assert!(writes(true) && !writes(false));
    }

    #[test]
    fn all_depths_and_both_orders_are_compared_and_names_are_unique() {
        let all = cases(&[Target::example(), Target::null()], false, &[]);
        for depth in [1, 32, 128] {
            for access in [Access::Uniform, Access::Sequential] {
                assert!(
                    all.iter()
                        .any(|c| c.depth == depth && c.access == access && c.target != "null")
                );
            }
        }
        let names: std::collections::BTreeSet<_> = all.iter().map(Case::name).collect();
        assert_eq!(names.len(), all.len());
        assert!(cases(&[Target::null()], true, &[128]).iter().all(|case| case.depth == 128));
    }

    #[test]
    fn the_calls_alone_take_part_where_they_can_do_what_the_case_does() {
        let target = Target::example();
        let read = Case::example(&target);
        let write = Case { mix: Mix::Writes, ..read.clone() };
        let mixed = Case { mix: Mix::Mixed, ..read.clone() };
        let drawn = Case { access: Access::Zipf, ..read.clone() };
        assert!(read.has_floor(&target) && write.has_floor(&target));
        assert!(!mixed.has_floor(&target) && !drawn.has_floor(&target));
        assert!(!read.has_floor(&Target::null()));
    }

    #[test]
    fn a_loop_device_is_compared_on_one_cpu_too_where_that_can_be_asked_for() {
        let held = |quick, depths: &[u32]| {
            let all = cases(&[Target::example()], quick, depths);
            all.into_iter().filter(|case| case.cpu.is_some()).collect::<Vec<_>>()
        };
        if search("taskset").is_none() {
            return println!(
                "SKIP a_loop_device_is_compared_on_one_cpu_too_where_that_can_be_asked_for: no taskset"
            );
        }
        assert_eq!(
            (held(true, &[]).len(), held(false, &[1]).len(), held(false, &[32]).len()),
            (1, 1, 0)
        );
        assert!(held(true, &[])[0].name().contains("depth 1 on CPU "));
    }
}
