//! The safe entry functions of each vector path, by a macro, and its plain stores.

/// Defines `fill`, `fill_run`, `wrong` and `store` of a path by its `fill_wide` and `wrong_wide`. Needs `WIDTH`, the bytes of a vector,
/// in scope.
macro_rules! entry {
    (path: $path:literal, features: $all:literal, stores: $feature:literal, $splat:ident, $put:ident) => {
        #[doc = concat!("Fills whole batches with what grows from `root`, from counter `first` on. Only where there is `", $path, "`.")]
        #[inline]
        pub(super) fn fill(root: &Root, first: u64, batches: &mut [[u8; BATCH]]) {
            // SAFETY: `Generator` holds a path only when `Path::available` lists it.
            unsafe { fill_wide(root, first, batches) }
        }

        /// A run, in one function: between calls, registers would be spilled and reloaded behind the stores of a whole block. Most runs are at the
        /// start of a block and have a separate function with the constant 0.
        #[inline]
        pub(super) fn fill_run(root: &Root, at: usize, bytes: &mut [u8], random: usize) {
            // SAFETY: as for `fill`.
            unsafe {
                match at {
                    0 => fill_head_wide(root, bytes, random),
                    _ => fill_run_wide(root, at, bytes, random),
                }
            }
        }

        #[target_feature(enable = $all)]
        fn fill_head_wide(root: &Root, bytes: &mut [u8], random: usize) {
            fill_run_wide(root, 0, bytes, random);
        }

        #[inline]
        #[target_feature(enable = $all)]
        fn fill_run_wide(root: &Root, at: usize, bytes: &mut [u8], random: usize) {
            let make = |first, batches: &mut [[u8; BATCH]]| fill_wide(root, first, batches);
            // A zero hidden from the compiler: it would turn stores of a known one into calls of memset, slower for so few bytes.
            super::run::fill_run(at, bytes, random, make, |zeros| store_wide(black_box(0), zeros));
        }

        #[doc = concat!("Number of the first batch that is not as [`fill`] would make it. Only where there is `", $path, "`.")]
        #[inline]
        pub(super) fn wrong(root: &Root, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
            // SAFETY: as for `fill`.
            unsafe { wrong_wide(root, first, batches) }
        }

        /// Stores `value` into every byte.
        #[inline]
        pub(super) fn store(value: u8, bytes: &mut [u8]) {
            // SAFETY: as for `fill`.
            unsafe { store_wide(value, bytes) }
        }

        #[inline]
        #[target_feature(enable = $feature)]
        fn store_wide(value: u8, bytes: &mut [u8]) {
            if bytes.len() < WIDTH {
                bytes.fill(value);
                return;
            }
            let vector = $splat(value.cast_signed());
            let (start, last) = (bytes.as_mut_ptr(), bytes.len() - WIDTH);
            let put = |at: usize| {
                debug_assert!(at <= last);
                // SAFETY: `at` is at most the length less the width; the store asks for no alignment.
                unsafe { $put(start.add(at).cast(), vector) };
            };
            // The first and the last store may overlap others; those between are aligned, so that none crosses a cache line.
            put(0);
            let mut at = WIDTH - start.addr() % WIDTH;
            while at + 3 * WIDTH <= last {
                put(at);
                put(at + WIDTH);
                put(at + 2 * WIDTH);
                put(at + 3 * WIDTH);
                at += 4 * WIDTH;
            }
            while at <= last {
                put(at);
                at += WIDTH;
            }
            put(last);
        }
    };
}

pub(super) use entry;
