//! Features and configuration space of a virtio block device: the properties that it reports about itself (virtio 1.2, section 5.2.4).

use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX,
    VIRTIO_BLK_F_TOPOLOGY,
};

/// Bytes of the device's configuration.
pub(super) const LENGTH: usize = 60;
/// Largest number of segments of a request: the queue holds as many descriptors, and two more are needed.
const SEGMENTS: u32 = 254;
/// Bytes of a physical block.
const PHYSICAL: u32 = 4096;
/// Largest number of sectors of 512 bytes in a discard: 1 GiB.
const DISCARD: u32 = 1 << 21;

/// Returns what the device can do, as bits: whether it has a volatile cache, and whether it takes discards.
pub(super) fn features(volatile: bool, discard: bool) -> u64 {
    let always = [VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_TOPOLOGY];
    let features = always.into_iter().fold(0, |features, bit| features | 1 << bit);
    // Without the flush feature the guest takes the disk for one without a write cache.
    features
        | u64::from(volatile) << VIRTIO_BLK_F_FLUSH
        | u64::from(discard) << VIRTIO_BLK_F_DISCARD
}

/// The configuration of a disk of `size` bytes: logical blocks of 512 bytes or 4 KiB, which it keeps in physical ones of 4 KiB.
pub(super) fn bytes(size: u64, logical: u32) -> [u8; LENGTH] {
    let inside = PHYSICAL / logical.clamp(512, PHYSICAL);
    let mut bytes = [0; LENGTH];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &(size / 512).to_le_bytes());
    put(12, &SEGMENTS.to_le_bytes());
    put(20, &logical.to_le_bytes());
    // log2 of the logical blocks in a physical one; then the minimum and the optimal size of an I/O, in logical blocks.
    put(24, &[inside.ilog2() as u8, 0]);
    put(26, &(inside as u16).to_le_bytes());
    put(36, &DISCARD.to_le_bytes());
    put(40, &1u32.to_le_bytes());
    // In sectors of 512 bytes, as all places are.
    put(44, &(PHYSICAL / 512).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_says_how_large_its_blocks_are() {
        let usual = bytes(1 << 30, 512);
        assert_eq!(
            (usual[..8].to_vec(), usual[24], usual[26]),
            ((1u64 << 21).to_le_bytes().into(), 3, 8)
        );
        let large = bytes(1 << 30, 4096);
        assert_eq!(
            (large[20..24].to_vec(), large[24], large[26]),
            (4096u32.to_le_bytes().into(), 0, 1)
        );
        assert_eq!(usual[..20], large[..20]);
    }

    #[test]
    fn a_cache_and_discards_are_told_or_not() {
        let has = |features: u64, bit: u32| features >> bit & 1 == 1;
        let (flush, discard) = (VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_DISCARD);
        assert!(has(features(true, false), flush) && !has(features(true, false), discard));
        assert!(!has(features(false, true), flush) && has(features(false, true), discard));
    }
}
