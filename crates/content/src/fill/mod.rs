//! Incompressible bytes from a content id: the *AES pair*.
//!
//! Four AES rounds turn the id into a 128-bit base. Counters run from there in steps of a dense odd constant, two
//! rounds mix each, and the block gets two lanes of 16 bytes from each: one more round of encryption, and one of
//! *decryption*. That makes two AES rounds for 16 bytes, where a plain counter needs four to look random. Every path gives the
//! same bytes, and the first 16 bytes give the id back (see `identity.rs`), so a block identifies itself.

#[cfg(target_arch = "x86_64")]
mod aesni;
pub(crate) mod portable;

use reduce::BLOCK;

/// A lane of 16 bytes.
pub(crate) type Lane = [u8; 16];

/// The half of the first state that is not the id: what marks a block as ours.
pub(crate) const MARK: u64 = 0x7c15_9e37_79b9_f39c;
/// Keys of the four rounds from id to base.
pub(crate) const BASE_KEYS: [u128; 4] = [
    0x243f_6a88_85a3_08d3_1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0_082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377_be54_66cf_34e9_0c6c,
    0xc0ac_29b7_c97c_50dd_3f84_d5b5_b547_0917,
];
/// What is added to each half of a counter from one to the next: dense and odd.
pub(crate) const STEP: [u64; 2] = [0x9216_d5d9_8979_fb1b, 0xd131_0ba6_98df_b5ad];
/// Keys of the two rounds from counter to pair.
pub(crate) const PAIR_KEYS: [u128; 2] =
    [0x2ffd_72db_d01a_dfb7_b8e1_afed_6a26_7e96, 0xba7c_9045_f12c_7f99_24a1_9947_b391_6cf7];
/// Keys of the two lanes: encryption, decryption.
pub(crate) const LANE_KEYS: [u128; 2] =
    [0x0801_f2e2_858e_fc16_6369_20d8_7157_4e69, 0xa458_fea3_f493_3d7e_0d95_748f_728e_b658];
/// Bytes that are made at a time: eight pairs.
pub(crate) const BATCH: usize = 256;

/// A way to make the bytes; all make the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// Tables, on any machine.
    Portable,
    /// The AES instructions of x86-64, 128 bits wide.
    AesNi,
}

impl Path {
    /// The paths that this processor has, slowest first.
    pub fn available() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("aes") {
            return &[Self::Portable, Self::AesNi];
        }
        &[Self::Portable]
    }

    /// The fastest path that this processor has.
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }

    /// Fills a block: `random` incompressible bytes (at most a block), zeros after them.
    #[inline]
    pub(crate) fn fill(self, id: u64, random: usize, block: &mut [u8; BLOCK]) {
        let random = random.min(BLOCK);
        let (batches, _) = block[..random.next_multiple_of(BATCH)].as_chunks_mut::<BATCH>();
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::AesNi => aesni::fill(id, batches),
            _ => portable::fill(id, batches),
        }
        block[random..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn made(path: Path, id: u64, random: usize) -> [u8; BLOCK] {
        let mut block = [0xee; BLOCK];
        path.fill(id, random, &mut block);
        block
    }

    #[test]
    fn every_path_makes_the_same_bytes() {
        let mut rng = Seed(1).generator();
        if Path::available().len() == 1 {
            println!("SKIP every_path_makes_the_same_bytes: this processor has one path only");
        }
        for round in 0..2000 {
            let id = if round < 64 { 1 << round } else { rng.next_u64() };
            let random = rng.below(BLOCK as u64 + 1) as usize;
            for &path in Path::available() {
                let block = made(path, id, random);
                assert!(block == made(Path::Portable, id, random), "{path:?} {id:#x} {random}");
                assert!(block[random..].iter().all(|&byte| byte == 0));
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_every_release() {
        let print = reduce::Fingerprint::of(&made(Path::best(), 42, BLOCK));
        assert_eq!(format!("{:032x}", print.0), GOLDEN);
    }

    /// Fingerprint of block 42. Results of one seed are comparable between releases only while it stays.
    const GOLDEN: &str = "9578a656d46b093c77a310b6db0737b2";

    #[test]
    fn fewer_random_bytes_are_the_head_of_more() {
        let whole = made(Path::best(), 7, BLOCK);
        for random in [0, 1, 16, 255, 256, 257, 1600, 4095] {
            assert!(made(Path::best(), 7, random)[..random] == whole[..random]);
        }
    }

    /// Dense and strided ids, as loads make them.
    fn ids(count: u64) -> impl Iterator<Item = u64> {
        (0..count / 2).chain((0..count / 2).map(|i| i << 32 | 1 << 63))
    }

    #[test]
    fn byte_values_are_even() {
        let mut counts = [0u64; 256];
        for id in ids(4096) {
            made(Path::best(), id, BLOCK).iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        }
        let mean = counts.iter().sum::<u64>() as f64 / 256.0;
        let chi: f64 = counts.iter().map(|&n| (n as f64 - mean).powi(2) / mean).sum();
        // 255 degrees of freedom: 99.99 % lie between 179 and 347.
        assert!((179.0..347.0).contains(&chi), "chi-square {chi}");
    }

    #[test]
    fn lanes_of_neighbours_share_half_their_bits() {
        // XOR of neighbouring lanes, of lanes two apart (same kind), and of the same lane in blocks with near ids.
        let mut sums = [[0u32; 128]; 3];
        let mut n = 0u32;
        let lane = |block: &[u8; BLOCK], at: usize| {
            u128::from_le_bytes(std::array::from_fn(|i| block[16 * at + i]))
        };
        for id in ids(256) {
            let (a, b) = (made(Path::best(), id, BLOCK), made(Path::best(), id ^ 1, BLOCK));
            for at in 0..254 {
                let x = lane(&a, at);
                for (kind, y) in
                    [lane(&a, at + 1), lane(&a, at + 2), lane(&b, at)].iter().enumerate()
                {
                    let difference = x ^ y;
                    (0..128).for_each(|bit| sums[kind][bit] += (difference >> bit & 1) as u32);
                }
                n += 1;
            }
        }
        // 384 counts of n coins: beyond 4.5 standard deviations once in 400 runs of unlucky constants; ids are fixed.
        let (mean, deviation) = (f64::from(n) / 2.0, f64::from(n).sqrt() / 2.0);
        for (kind, bits) in sums.iter().enumerate() {
            for (bit, &ones) in bits.iter().enumerate() {
                let z = (f64::from(ones) - mean) / deviation;
                assert!(z.abs() < 4.5, "kind {kind} bit {bit}: {z}");
            }
        }
    }

    #[test]
    fn lanes_are_linearly_independent() {
        // 1024 bits of a block against 1024 blocks and lanes: rank over GF(2) within 8 of full, as of random bits.
        for offset in [0usize, 16, 1024, 3904] {
            let mut rows: Vec<[u64; 16]> = (0..1024u64)
                .map(|i| {
                    let block = made(Path::best(), i / 2, BLOCK);
                    let start = offset + (i % 2) as usize * 64;
                    std::array::from_fn(|w| {
                        u64::from_le_bytes(std::array::from_fn(|b| block[start + 8 * w + b]))
                    })
                })
                .collect();
            assert!(rank(&mut rows) >= 1016, "offset {offset}");
        }
    }

    fn rank(rows: &mut [[u64; 16]]) -> usize {
        let mut rank = 0;
        for bit in 0..1024 {
            let set = |row: &[u64; 16]| row[bit / 64] >> (bit % 64) & 1 == 1;
            let Some(pivot) = (rank..rows.len()).find(|&r| set(&rows[r])) else { continue };
            rows.swap(rank, pivot);
            let pivot = rows[rank];
            for row in &mut rows[rank + 1..] {
                if set(row) {
                    row.iter_mut().zip(pivot).for_each(|(a, b)| *a ^= b);
                }
            }
            rank += 1;
        }
        rank
    }
}
