//! What a virtio block device says of itself (virtio 1.2, section 5.2.4).

use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX,
    VIRTIO_BLK_F_TOPOLOGY,
};

/// Bytes of the device's configuration.
pub(super) const LENGTH: usize = 60;
/// Segments of a request at most: the queue holds as many descriptors, and two more are needed.
const SEGMENTS: u32 = 254;
/// Sectors of 512 bytes in a discard at most: 1 GiB.
const DISCARD: u32 = 1 << 21;

/// What the device can do, as bits.
pub(super) fn features(volatile: bool) -> u64 {
    let always =
        [VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_DISCARD];
    let features = always.into_iter().fold(0, |features, bit| features | 1 << bit);
    // Without it the guest takes the disk for one without a write cache.
    features | u64::from(volatile) << VIRTIO_BLK_F_FLUSH
}

/// The configuration of a disk of `size` bytes: sectors of 512 bytes, which it keeps in physical ones of 4 KiB.
pub(super) fn bytes(size: u64) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &(size / 512).to_le_bytes());
    put(12, &SEGMENTS.to_le_bytes());
    put(20, &512u32.to_le_bytes());
    // log2 of logical blocks in a physical one; the least and the best I/O in logical blocks.
    put(24, &[3, 0]);
    put(26, &8u16.to_le_bytes());
    put(36, &DISCARD.to_le_bytes());
    put(40, &1u32.to_le_bytes());
    put(44, &8u32.to_le_bytes());
    bytes
}
