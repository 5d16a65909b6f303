//! Prefetching of memory that will be read soon.

/// Prefetches the cache line at the start of `place`. Unlike a load it never makes later instructions wait; it affects only speed.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint without observable effect; the instruction is part of SSE, which every x86-64 processor has.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
