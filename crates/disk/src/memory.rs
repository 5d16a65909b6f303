//! Whether what disks hold fits into this machine's memory.

use std::path::Path;

use units::Bytes;

use crate::error::{Error, Result};

/// What is left to the machine beside the disks.
const MARGIN: u64 = 256 * Bytes::MIB;

/// Memory that can be had without swapping; `None` where the kernel does not say.
pub fn available() -> Option<Bytes> {
    let text = std::fs::read_to_string(Path::new("/proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib * Bytes::KIB))
}

/// Refuses disks that may hold `needed`, with a margin, where `available` is less.
pub fn check_room(needed: Bytes, available: Bytes) -> Result<()> {
    if needed.0.saturating_add(MARGIN) > available.0 {
        return Err(Error::Memory { needed, available });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_that_do_not_fit_into_memory_are_refused_before_they_begin() {
        let gib = |n: u64| Bytes(n * Bytes::GIB);
        assert!(check_room(gib(1), gib(2)).is_ok());
        let error = check_room(gib(2), gib(2)).unwrap_err();
        assert!(error.to_string().contains("2 GiB") && error.help().contains("memory"), "{error}");
        assert!(check_room(Bytes(u64::MAX), gib(2)).is_err());
        assert!(available().is_some_and(|memory| memory.0 > 0));
    }
}
