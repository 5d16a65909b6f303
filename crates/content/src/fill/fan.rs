//! The numbers of the AES fan: its keys, its steps, and how lanes follow from each other.
//!
//! They must never change: other numbers make other bytes, and blocks written before would no longer name their content.

/// A lane of 16 bytes.
pub(crate) type Lane = [u8; 16];

/// The half of the first AES state that is not the id: it marks a block as made by Fathom.
pub(crate) const MARK: u64 = 0x7c15_9e37_79b9_f39c;
/// Keys of the four rounds from id to base.
pub(crate) const BASE_KEYS: [u128; 4] = [
    0x243f_6a88_85a3_08d3_1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0_082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377_be54_66cf_34e9_0c6c,
    0xc0ac_29b7_c97c_50dd_3f84_d5b5_b547_0917,
];
/// Number that is added to each half of a counter to get the next counter: dense and odd.
pub(crate) const STEP: [u64; 2] = [0x9216_d5d9_8979_fb1b, 0xd131_0ba6_98df_b5ad];
/// Keys of the two rounds from counter to stem.
pub(crate) const STEM_KEYS: [u128; 2] =
    [0x2ffd_72db_d01a_dfb7_b8e1_afed_6a26_7e96, 0xba7c_9045_f12c_7f99_24a1_9947_b391_6cf7];
/// Keys of the lanes: a lane of an even kind is an encryption, one of an odd kind a decryption.
pub(crate) const LANE_KEYS: [u128; KINDS] = [
    0x0801_f2e2_858e_fc16_6369_20d8_7157_4e69,
    0xa458_fea3_f493_3d7e_0d95_748f_728e_b658,
    0x718b_cd58_8215_4aee_7b54_a41d_c25a_59b5,
    0x9c30_d539_2af2_6013_c5d1_b023_2860_85f0,
    0xca41_7918_b8db_38ef_8e79_dcb0_603a_180e,
    0x6c9e_0e8b_b01e_8a3e_d715_77c1_bd31_4b27,
    0x78af_2fda_5560_5c60_e655_25f3_aa55_ab94,
    0x5748_9862_63e8_1440_55ca_396a_2aab_10b6,
];
/// Lanes that are made from each counter.
pub(crate) const KINDS: usize = 8;
/// Counters of a batch. Their lanes of the first kind stand first, then those of the second: no path has to shuffle.
pub(crate) const COUNTERS: usize = 4;
/// Bytes that are made at a time.
pub(crate) const BATCH: usize = KINDS * COUNTERS * size_of::<Lane>();

/// Replaces a zero byte at the end of a random run that zeros follow. LZ4 would count that byte among the zeros and gain a byte, and VDO's
/// packer keeps bins with such smaller blocks for long, because it writes out the fullest bin first.
pub(crate) const LAST: u8 = 0xa5;

/// Chains of lane kinds: a lane grows from the one of the kind before it, the first from the stem. Encryption and decryption take turns.
pub(crate) const CHAINS: [[usize; KINDS / 2]; 2] = [[0, 3, 4, 7], [1, 2, 5, 6]];

/// The kind that lanes of `kind` are made from; `None` for the stem.
pub(crate) const fn parent(kind: usize) -> Option<usize> {
    match kind {
        0 | 1 => None,
        even if even % 2 == 0 => Some(even - 1),
        odd => Some(odd - 3),
    }
}
