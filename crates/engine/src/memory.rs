//! Zeroed memory, which takes pages from the machine only where it is written.

use std::alloc::{Layout, alloc_zeroed};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// An atomic number for which zero bytes are a valid value.
pub(crate) trait Zeroable {}
impl Zeroable for AtomicU8 {}
impl Zeroable for AtomicU16 {}
impl Zeroable for AtomicU32 {}
impl Zeroable for AtomicU64 {}

/// Returns `count` numbers, all 0; `None` when there is not enough memory.
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
    // SAFETY: the memory has this layout, is zeroed, which is a valid `T`, and has no other owner.
    Some(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, count)) })
}

/// A slice with several owners. Each holds the address of the numbers themselves, without the second pointer of an `Arc<Box<[T]>>`.
pub(crate) struct SharedSlice<T> {
    numbers: NonNull<[T]>,
    owner: Arc<Box<[T]>>,
}

// SAFETY: it gives out shared references only, as an `Arc` of the numbers does.
unsafe impl<T: Send + Sync> Send for SharedSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for SharedSlice<T> {}

impl<T> SharedSlice<T> {
    pub(crate) fn new(numbers: Box<[T]>) -> Self {
        let owner = Arc::new(numbers);
        Self { numbers: NonNull::from(&**owner), owner }
    }
}

impl<T> Clone for SharedSlice<T> {
    fn clone(&self) -> Self {
        Self { numbers: self.numbers, owner: Arc::clone(&self.owner) }
    }
}

impl<T> Deref for SharedSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: they belong to the owner, which is kept alive, never moves them and hands out no other references.
        unsafe { self.numbers.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn shared_numbers_are_the_same_for_all_and_stay_until_the_last_is_gone() {
        let first = SharedSlice::new(zeroed::<AtomicU32>(1000).unwrap());
        let second = first.clone();
        first[7].store(5, Relaxed);
        drop(first);
        assert_eq!((second.len(), second[7].load(Relaxed)), (1000, 5));
        assert_eq!(SharedSlice::new(zeroed::<AtomicU8>(0).unwrap()).len(), 0);
    }
}
