//! The bins of VDO's packer, with a tag for each fragment.
//!
//! Modelled on `packer.c` of dm-vdo: 16 bins are kept in the order of their free space, and a fragment goes to the fullest bin that has room. If none
//! has, the fullest bin is written out, unless it holds less than the new fragment takes; in that case the new block is written uncompressed. A bin
//! with a single fragment is written uncompressed, too. A fragment whose block is written again while it waits leaves its bin, and is written
//! uncompressed (`wait_on_hash_lock` of `dedupe.c`).

/// Bytes for fragments in a physical block: 4096 minus a header of 36.
pub const PAYLOAD: usize = 4060;
/// Most fragments in a physical block.
pub const SLOTS: usize = 14;
/// The largest LZ4 size that the packer takes; larger fragments are stored uncompressed.
pub const LARGEST_FRAGMENT: usize = PAYLOAD - 1;

/// Number of bins that are open at a time.
const BINS: usize = 16;

/// One compressed block on its way to a shared physical block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fragment {
    /// Its LZ4 size, bytes.
    pub lz4_bytes: usize,
    /// A number by which the caller recognises it.
    pub tag: u32,
}

#[derive(Debug, Clone, Copy)]
struct Bin {
    free: usize,
    slots: usize,
    fragments: [Fragment; SLOTS],
}

const EMPTY: Bin =
    Bin { free: PAYLOAD, slots: 0, fragments: [Fragment { lz4_bytes: 0, tag: 0 }; SLOTS] };

/// The bins.
#[derive(Debug, Clone)]
pub struct Bins {
    bins: [Bin; BINS],
    /// Numbers of bins, the fullest first.
    order: [u8; BINS],
}

impl Default for Bins {
    fn default() -> Self {
        Self { bins: [EMPTY; BINS], order: std::array::from_fn(|at| at as u8) }
    }
}

impl Bins {
    /// Puts a fragment into a bin. `write` is called for every physical block that results, with the fragments in it; a single one means a block that
    /// is written uncompressed.
    #[inline]
    pub fn add(&mut self, fragment: Fragment, write: &mut impl FnMut(&[Fragment])) {
        let size = fragment.lz4_bytes;
        if size > LARGEST_FRAGMENT {
            return write(&[fragment]);
        }
        let fits = |&bin: &u8| self.bins[usize::from(bin) % BINS].free >= size;
        let place = match self.order.iter().position(fits) {
            Some(place) => place,
            // Storing this block uncompressed wastes no more space than writing out the fullest bin would.
            None if size >= PAYLOAD - self.bin(0).free => return write(&[fragment]),
            None => {
                self.write_out(0, write);
                0
            }
        };
        let bin = &mut self.bins[usize::from(self.order[place]) % BINS];
        bin.fragments[bin.slots % SLOTS] = fragment;
        bin.free -= size;
        bin.slots += 1;
        if bin.slots == SLOTS || bin.free == 0 {
            self.write_out(place, write);
        }
        self.restore(place);
    }

    /// Takes a fragment out of its bin; `None` if it is no longer in a bin.
    pub fn remove(&mut self, tag: u32) -> Option<Fragment> {
        for place in 0..BINS {
            let bin = &mut self.bins[usize::from(self.order[place]) % BINS];
            let held = &mut bin.fragments[..bin.slots];
            if let Some(at) = held.iter().position(|fragment| fragment.tag == tag) {
                let fragment = held[at];
                held.copy_within(at + 1.., at);
                bin.slots -= 1;
                bin.free += fragment.lz4_bytes;
                self.restore(place);
                return Some(fragment);
            }
        }
        None
    }

    /// Writes every bin out, as a flush does.
    pub fn flush(&mut self, write: &mut impl FnMut(&[Fragment])) {
        (0..BINS).for_each(|place| self.write_out(place, write));
    }

    fn bin(&self, place: usize) -> &Bin {
        &self.bins[usize::from(self.order[place]) % BINS]
    }

    fn write_out(&mut self, place: usize, write: &mut impl FnMut(&[Fragment])) {
        let bin = &mut self.bins[usize::from(self.order[place]) % BINS];
        if bin.slots > 0 {
            write(&bin.fragments[..bin.slots]);
        }
        bin.slots = 0;
        bin.free = PAYLOAD;
    }

    /// Restores the order of the bins after one bin changed.
    fn restore(&mut self, mut place: usize) {
        let free = |bins: &[Bin; BINS], number: u8| bins[usize::from(number) % BINS].free;
        while place > 0
            && free(&self.bins, self.order[place]) < free(&self.bins, self.order[place - 1])
        {
            self.order.swap(place, place - 1);
            place -= 1;
        }
        while place + 1 < BINS
            && free(&self.bins, self.order[place]) > free(&self.bins, self.order[place + 1])
        {
            self.order.swap(place, place + 1);
            place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(tag: u32, lz4_bytes: usize) -> Fragment {
        Fragment { lz4_bytes, tag }
    }

    /// The rules in their simplest form: a list of bins that is sorted before every fragment.
    #[derive(Default)]
    struct Naive(Vec<Vec<Fragment>>);

    impl Naive {
        fn used(bin: &[Fragment]) -> usize {
            bin.iter().map(|f| f.lz4_bytes).sum()
        }

        fn add(&mut self, new: Fragment, out: &mut Vec<usize>) {
            self.0.resize(BINS, Vec::new());
            self.0.sort_by_key(|bin| std::cmp::Reverse(Self::used(bin)));
            if new.lz4_bytes > LARGEST_FRAGMENT {
                return out.push(1);
            }
            let room = |bin: &Vec<Fragment>| PAYLOAD - Self::used(bin) >= new.lz4_bytes;
            let bin = match self.0.iter().position(room) {
                Some(at) => &mut self.0[at],
                None if new.lz4_bytes >= Self::used(&self.0[0]) => return out.push(1),
                None => {
                    out.push(self.0[0].len());
                    self.0[0].clear();
                    &mut self.0[0]
                }
            };
            bin.push(new);
            if bin.len() == SLOTS || Self::used(bin) == PAYLOAD {
                out.push(bin.len());
                bin.clear();
            }
        }
    }

    #[test]
    fn a_fragment_that_is_taken_out_leaves_its_room_to_others() {
        let mut bins = Bins::default();
        let mut written = Vec::new();
        let mut note = |block: &[Fragment]| written.push(block.to_vec());
        bins.add(fragment(1, 2000), &mut note);
        bins.add(fragment(2, 1500), &mut note);
        assert_eq!(bins.remove(1), Some(fragment(1, 2000)));
        assert_eq!(bins.remove(1), None);
        bins.add(fragment(3, 2560), &mut note);
        bins.flush(&mut note);
        assert_eq!(written, [vec![fragment(2, 1500), fragment(3, 2560)]]);
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_the_rules_in_plain_words(sizes in proptest::collection::vec(1usize..=4096, 0..600)) {
            let (mut bins, mut naive) = (Bins::default(), Naive::default());
            let (mut got, mut expected) = (Vec::new(), Vec::new());
            for (tag, &size) in sizes.iter().enumerate() {
                bins.add(fragment(tag as u32, size), &mut |block| got.push(block.len()));
                naive.add(fragment(tag as u32, size), &mut expected);
                proptest::prop_assert_eq!(&got, &expected);
            }
        }
    }
}
