//! The memory of this machine.

use units::Bytes;

/// Returns the memory that is available without swapping; `None` if the kernel does not tell.
pub fn available() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib * Bytes::KIB))
}

#[cfg(test)]
mod tests {
    #[test]
    fn some_memory_is_left() {
        assert!(super::available().is_some_and(|memory| memory.0 > 0));
    }
}
