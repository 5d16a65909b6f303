//! The superblock: 512 bytes, two copies that are written in turn.

use crate::block::Block;
use crate::format::{Geometry, GeometryError, Nonce, Sizes, bytes};

const MAGIC: &[u8; 8] = b"fathomVD";
const VERSION: u32 = 1;
const SECTOR: usize = 512;

/// The state that a volume was left in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Stopped: nothing in the journal.
    Clean,
    /// In use, or cut off.
    Dirty,
    /// Something that it relied on failed: it takes no writes.
    ReadOnly,
}

/// The root of all that is on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Superblock {
    /// Random bytes of this volume alone.
    pub nonce: Nonce,
    /// Grows with every writing of the superblock.
    pub generation: u64,
    /// Grows with every start: journal blocks of another epoch are not read.
    pub epoch: u64,
    /// Sequence number of the first journal block of this epoch.
    pub first_seq: u64,
    /// Blocks of the volume that are mapped.
    pub logical_used: u64,
    /// The state that it was left in.
    pub state: State,
    /// Places of everything on the device.
    pub geometry: Geometry,
}

/// The reason that no superblock was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockError {
    /// Neither copy is a superblock.
    #[error("this is not a uvdo volume: neither of its first two blocks is a superblock")]
    None,
    /// From a later version of the program.
    #[error("this uvdo volume has format {0}, which this version does not read: use a newer one")]
    Newer(u32),
    /// Its sizes do not fit together.
    #[error("the superblock is damaged: {0}")]
    Sizes(#[from] GeometryError),
}

impl Superblock {
    /// The bytes to write.
    pub fn sealed(&self) -> Block {
        let mut block = Block::default();
        let sector = &mut block.0[..SECTOR];
        bytes::put(sector, 4, MAGIC);
        bytes::put(sector, 12, &VERSION.to_le_bytes());
        bytes::put(sector, 16, &self.nonce);
        let sizes = &self.geometry.sizes;
        let state = match self.state {
            State::Clean => 0,
            State::Dirty => 1,
            State::ReadOnly => 2,
        };
        let words = [
            self.generation,
            self.epoch,
            self.first_seq,
            self.logical_used,
            state,
            sizes.device,
            sizes.logical,
            sizes.slab,
            sizes.journal,
            sizes.index,
            sizes.reserved,
        ];
        for (n, word) in words.iter().enumerate() {
            bytes::put(sector, 32 + 8 * n, &word.to_le_bytes());
        }
        bytes::seal(sector);
        block
    }

    /// Decodes a block that was read.
    fn read(block: &Block) -> Result<Self, SuperblockError> {
        let sector = &block.0[..SECTOR];
        if bytes::array::<8>(sector, 4) != *MAGIC || !bytes::is_sealed(sector) {
            return Err(SuperblockError::None);
        }
        let version = bytes::u32_at(sector, 12);
        if version != VERSION {
            return Err(SuperblockError::Newer(version));
        }
        let word = |n: usize| bytes::u64_at(sector, 32 + 8 * n);
        let sizes = Sizes {
            device: word(5),
            logical: word(6),
            slab: word(7),
            journal: word(8),
            index: word(9),
            reserved: word(10),
        };
        Ok(Self {
            nonce: bytes::array(sector, 16),
            generation: word(0),
            epoch: word(1),
            first_seq: word(2),
            logical_used: word(3),
            state: match word(4) {
                0 => State::Clean,
                1 => State::Dirty,
                _ => State::ReadOnly,
            },
            geometry: Geometry::new(sizes)?,
        })
    }
}

/// The newer of two copies.
pub fn newest(copies: [&Block; 2]) -> Result<Superblock, SuperblockError> {
    match copies.map(Superblock::read) {
        [Ok(a), Ok(b)] if b.generation > a.generation => Ok(b),
        [Ok(a), _] => Ok(a),
        [_, Ok(b)] => Ok(b),
        [Err(SuperblockError::None), Err(error)] | [Err(error), Err(_)] => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_whole_copy_counts() {
        let sizes =
            Sizes { device: 500, logical: 900, slab: 100, journal: 9, index: 0, reserved: 0 };
        let geometry = Geometry::new(sizes).unwrap();
        let old = Superblock {
            nonce: [9; 16],
            generation: 4,
            epoch: 2,
            first_seq: 70,
            logical_used: 3,
            state: State::Dirty,
            geometry,
        };
        let new = Superblock { generation: 5, state: State::Clean, ..old };
        let (a, mut b) = (old.sealed(), new.sealed());
        assert_eq!(newest([&a, &b]), Ok(new));
        assert_eq!(newest([&b, &a]), Ok(new));
        b.0[100] ^= 4;
        assert_eq!(newest([&a, &b]), Ok(old));
        let none = Block::default();
        assert_eq!(newest([&none, &b]), Err(SuperblockError::None));
        let mut newer = old.sealed();
        newer.0[12] = 2;
        bytes::seal(&mut newer.0[..SECTOR]);
        assert_eq!(newest([&none, &newer]), Err(SuperblockError::Newer(2)));
    }
}
