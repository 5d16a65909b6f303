//! Checks that the data of all disks fits into this machine's memory.

use units::Bytes;

use crate::error::{Error, Result};

/// Bytes of memory that the disks leave to the machine.
const MARGIN: u64 = 256 * Bytes::MIB;

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
    }
}
