//! An entry of the block map: where a block of the volume is.

use crate::block::Pbn;

/// A block on the device and the state of what is there, in 40 bits: `pbn << 4 | state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Mapping(u64);

impl Mapping {
    /// Nothing was written, or it was discarded.
    pub const UNMAPPED: Self = Self(0);
    /// Zeros were written.
    pub const ZERO: Self = Self(1);
    /// Bytes of an entry.
    pub const BYTES: usize = 5;

    /// A whole block.
    pub fn whole(pbn: Pbn) -> Self {
        Self(pbn << 4 | 1)
    }

    /// A fragment of a packed block.
    pub fn fragment(pbn: Pbn, slot: usize) -> Self {
        Self(pbn << 4 | (2 + slot as u64))
    }

    /// The block on the device, if there is one.
    pub fn block(self) -> Option<Pbn> {
        (self.0 >> 4 != 0).then_some(self.0 >> 4)
    }

    /// The slot in a packed block, if the block is packed.
    pub fn slot(self) -> Option<usize> {
        (self.0 & 15).checked_sub(2).map(|slot| slot as usize)
    }

    /// Tells if anything was written.
    pub fn is_mapped(self) -> bool {
        self.0 != 0
    }

    /// The bytes of an entry.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let [a, b, c, d, e, ..] = self.0.to_le_bytes();
        [a, b, c, d, e]
    }

    /// Reads the bytes of an entry; invalid ones read as unmapped.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut all = [0; 8];
        all.iter_mut().zip(bytes.iter().take(Self::BYTES)).for_each(|(to, from)| *to = *from);
        Self(u64::from_le_bytes(all))
    }
}

#[cfg(test)]
mod tests {
    use super::Mapping;

    #[test]
    fn a_mapping_keeps_its_block_and_slot_through_five_bytes() {
        let far = (1 << 36) - 1;
        for (mapping, block, slot) in [
            (Mapping::UNMAPPED, None, None),
            (Mapping::ZERO, None, None),
            (Mapping::whole(7), Some(7), None),
            (Mapping::fragment(far, 13), Some(far), Some(13)),
        ] {
            let again = Mapping::from_bytes(&mapping.to_bytes());
            assert_eq!((again, again.block(), again.slot()), (mapping, block, slot));
        }
        assert!(Mapping::ZERO.is_mapped() && !Mapping::UNMAPPED.is_mapped());
    }
}
