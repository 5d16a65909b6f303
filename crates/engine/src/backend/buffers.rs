//! The buffer pool of a worker: one mapping, one page-aligned slot per I/O in flight.

use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags};

use crate::error::{EngineError, ErrorKind};

/// Slots start at multiples of this, which suits every logical block size.
const ALIGNMENT: usize = 4096;

/// `count` slots of `length` bytes, page-aligned, mapped and touched.
pub(crate) struct Buffers {
    start: NonNull<u8>,
    count: usize,
    length: usize,
    stride: usize,
}

// SAFETY: the mapping is owned by this value alone; references into it follow its borrow.
unsafe impl Send for Buffers {}

impl Buffers {
    pub(crate) fn new(count: usize, length: usize) -> Result<Self, EngineError> {
        // The length is 0 where a load only flushes.
        let stride = length.max(1).next_multiple_of(ALIGNMENT);
        let refused = || {
            EngineError::new(
                ErrorKind::Environment,
                format!("Buffers of {count} x {length} bytes for one worker cannot be allocated"),
                "use a smaller depth or block size",
            )
        };
        let total = stride.checked_mul(count).filter(|&n| n > 0).ok_or_else(refused)?;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no other memory.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                total,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
            )
        }
        .map_err(|e| refused().because(e))?;
        let start = NonNull::new(start.cast()).ok_or_else(refused)?;
        Ok(Self { start, count, length, stride })
    }

    /// Returns the address of slot `slot`, which stays the same as long as the mapping lives.
    pub(crate) fn address(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.count);
        // SAFETY: the slot lies inside the mapping.
        unsafe { self.start.as_ptr().add(slot * self.stride) }
    }

    /// The bytes of slot `slot`. The caller makes sure that the kernel does not use them now.
    pub(crate) fn slot(&mut self, slot: usize) -> &mut [u8] {
        let address = self.address(slot);
        // SAFETY: `length` bytes from there lie inside the mapping, are initialised (zero at first), and
        // borrowed through `&mut self`.
        unsafe { std::slice::from_raw_parts_mut(address, self.length) }
    }

    /// Bytes in one slot.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The whole mapping for registration with a ring.
    pub(crate) fn iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.start.as_ptr().cast(), iov_len: self.total() }
    }

    fn total(&self) -> usize {
        self.stride * self.count
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this start and size, and nothing borrows it any more.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.total()) };
    }
}

#[cfg(test)]
mod tests {
    use super::Buffers;

    #[test]
    fn slots_are_aligned_and_apart_even_when_they_are_smaller_than_a_page() {
        let mut buffers = Buffers::new(3, 512).unwrap();
        for i in 0..3 {
            assert_eq!(buffers.address(i) as usize % 4096, 0);
            assert_eq!(buffers.slot(i).len(), 512);
            buffers.slot(i).fill(i as u8 + 1);
        }
        assert!((0..3).all(|i| buffers.slot(i).iter().all(|&b| b == i as u8 + 1)));
    }

    #[test]
    fn more_than_there_is_is_refused_with_a_remedy() {
        let error = Buffers::new(usize::MAX / 8192, 8192).err().unwrap();
        assert!(error.help().contains("smaller depth"), "{error}");
    }
}
