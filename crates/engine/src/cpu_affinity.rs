//! CPU affinity: the CPUs that workers are pinned to.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use workload::Cpus;

use crate::error::{EngineError, ErrorKind};

/// The CPUs that a load's workers are pinned to; this process may use them.
#[derive(Debug, Clone)]
pub(crate) struct CpuAffinity(Cpus);

impl CpuAffinity {
    /// The CPUs that a load asks for. Refuses a set if only a part of it is allowed, since the kernel would silently pin to that part.
    pub(crate) fn of(wanted: Option<&Cpus>) -> Result<Option<Self>, EngineError> {
        let Some(wanted) = wanted else { return Ok(None) };
        let refused = |what: String, help: String| EngineError::new(ErrorKind::Usage, what, help);
        let allowed = sched_getaffinity(None).map_err(|error| {
            refused(format!("Workers cannot be pinned to CPUs {wanted}"), "leave cpus out".into())
                .because(error)
        })?;
        let there: Cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        let missing: Cpus = wanted.numbers().filter(|&cpu| !allowed.is_set(cpu)).collect();
        if missing.numbers().next().is_some() {
            return Err(refused(
                format!(
                    "Workers cannot be pinned to CPUs {wanted}: this process may not use {missing}"
                ),
                format!("name CPUs among {there}"),
            ));
        }
        Ok(Some(Self(wanted.clone())))
    }

    /// Pins the calling thread.
    pub(crate) fn pin_this_thread(&self) -> Result<(), EngineError> {
        let mut set = CpuSet::new();
        self.0.numbers().for_each(|cpu| set.set(cpu));
        sched_setaffinity(None, &set).map_err(|error| {
            let what = format!("A worker cannot be pinned to CPUs {}", self.0);
            EngineError::new(ErrorKind::Environment, what, "leave cpus out").because(error)
        })
    }

    /// Converts it to libc's `cpu_set_t`.
    pub(crate) fn set(&self) -> libc::cpu_set_t {
        // SAFETY: the set is a row of bits, for which zero bytes are a value.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for cpu in self.0.numbers() {
            // SAFETY: the number is below 1024, the number of bits in the set: `Cpus` has none above.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_held_where_it_is_asked_to_be_and_cpus_that_are_not_there_are_named() {
        let allowed = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap();
        let asked: Cpus = [first].into_iter().collect();
        let affinity = CpuAffinity::of(Some(&asked)).unwrap().unwrap();
        let held = std::thread::spawn(move || {
            affinity.pin_this_thread().unwrap();
            let now = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU).filter(|&cpu| now.is_set(cpu)).collect::<Cpus>()
        });
        assert_eq!(held.join().unwrap(), asked);
        let beyond: Cpus = [first, CpuSet::MAX_CPU - 1].into_iter().collect();
        let error = CpuAffinity::of(Some(&beyond)).unwrap_err();
        assert!(error.to_string().contains("may not use 1023"), "{error}");
        assert!(error.help().starts_with("name CPUs among"), "{}", error.help());
        assert!(CpuAffinity::of(None).unwrap().is_none());
    }
}
