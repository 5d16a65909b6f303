//! Memory that is all zero, and taken from the machine where it is first written.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// An atomic number that may start as zero bytes.
pub(crate) trait Zeroable {}
impl Zeroable for AtomicU8 {}
impl Zeroable for AtomicU16 {}
impl Zeroable for AtomicU32 {}
impl Zeroable for AtomicU64 {}

/// So many numbers, all 0; `None` when there is not so much memory.
pub(crate) fn zeroed<T: Zeroable>(count: u64) -> Option<Box<[T]>> {
    let count = usize::try_from(count).ok()?;
    let layout = Layout::array::<T>(count).ok()?;
    if layout.size() == 0 {
        return Some(Box::new([]));
    }
    // SAFETY: the layout has a size.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        return None;
    }
    // SAFETY: the memory is of this layout, zeroed, which is a value of `T`, and owned by nobody else.
    Some(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, count)) })
}
