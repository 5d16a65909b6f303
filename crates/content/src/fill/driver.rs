//! The fan of the vector paths that make a batch chain by chain, by a macro.

/// Defines `fill_wide` and `wrong_wide` of a path. Needs in scope: `WIDTH` and `VECTORS`, `counters` (of the first batch), `wide` (a vector
/// of 16 bytes in each part of a wide one) and `is_zero`.
macro_rules! driver {
    (
        features: $all:literal, vector: $vector:ident, zero: $zero:ident, load: $load:ident, store: $store:ident,
        add: $add:ident, encrypt: $encrypt:ident, decrypt: $decrypt:ident, or: $or:ident, xor: $xor:ident
    ) => {
        /// Makes the batches of one block, in order.
        struct BatchGenerator {
            counters: [$vector; VECTORS],
            stride: $vector,
            stem: [$vector; 2],
            lane: [$vector; KINDS],
        }

        impl BatchGenerator {
            #[inline]
            #[target_feature(enable = $all)]
            fn new(root: &Root, first: u64) -> Self {
                Self {
                    counters: counters(root, first),
                    stride: wide(steps(COUNTERS as u64)),
                    stem: [wide(key(STEM_KEYS[0])), wide(key(STEM_KEYS[1]))],
                    lane: [
                        wide(key(LANE_KEYS[0])),
                        wide(key(LANE_KEYS[1])),
                        wide(key(LANE_KEYS[2])),
                        wide(key(LANE_KEYS[3])),
                        wide(key(LANE_KEYS[4])),
                        wide(key(LANE_KEYS[5])),
                        wide(key(LANE_KEYS[6])),
                        wide(key(LANE_KEYS[7])),
                    ],
                }
            }

            /// Passes the next batch to `put`, vector by vector, each with its number: all lanes of one kind, then those of the next kind in
            /// its chain.
            #[inline]
            #[target_feature(enable = $all)]
            fn next(&mut self, mut put: impl FnMut(usize, $vector)) {
                let mut stems = self.counters;
                for stem in &mut stems {
                    *stem = $encrypt($encrypt(*stem, self.stem[0]), self.stem[1]);
                }
                for counter in &mut self.counters {
                    *counter = $add(*counter, self.stride);
                }
                for chain in CHAINS {
                    let mut lanes = stems;
                    for kind in chain {
                        for (n, lane) in lanes.iter_mut().enumerate() {
                            *lane = if kind.is_multiple_of(2) {
                                $encrypt(*lane, self.lane[kind])
                            } else {
                                $decrypt(*lane, self.lane[kind])
                            };
                            put(kind * VECTORS + n, *lane);
                        }
                    }
                }
            }
        }

        #[inline]
        #[target_feature(enable = $all)]
        fn fill_wide(root: &Root, first: u64, batches: &mut [[u8; BATCH]]) {
            let mut generator = BatchGenerator::new(root, first);
            for batch in batches {
                let (places, _) = batch.as_chunks_mut::<WIDTH>();
                generator.next(|n, lanes| {
                    // SAFETY: the place is as wide as a vector; the store asks for no alignment.
                    unsafe { $store(places[n].as_mut_ptr().cast(), lanes) };
                });
            }
        }

        #[target_feature(enable = $all)]
        fn wrong_wide(root: &Root, first: u64, batches: &[[u8; BATCH]]) -> Option<usize> {
            let mut generator = BatchGenerator::new(root, first);
            for (n, batch) in batches.iter().enumerate() {
                let (places, _) = batch.as_chunks::<WIDTH>();
                let mut difference = $zero();
                generator.next(|n, lanes| {
                    // SAFETY: the place is as wide as a vector; the load asks for no alignment.
                    let found = unsafe { $load(places[n].as_ptr().cast()) };
                    difference = $or(difference, $xor(found, lanes));
                });
                if !is_zero(difference) {
                    return Some(n);
                }
            }
            None
        }
    };
}

pub(super) use driver;
