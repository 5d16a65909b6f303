//! Incompressible bytes from a content id: the *AES fan*.
//!
//! Four AES rounds turn the id into a 128-bit base. Counters run from there in steps of a dense odd constant, two
//! rounds make a stem of each, and eight lanes of 16 bytes grow from the stem, in two chains: one more round of encryption, one of
//! *decryption*, in turn. That makes 1.25 AES rounds for 16 bytes, where a plain counter needs four to look random.
//! Every path gives the same bytes, and any lane gives the id back (see `identity.rs`), so a block identifies itself.

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod entry;
mod grow;
pub(crate) mod invert;
mod layout;
mod look;
pub(crate) mod portable;
mod root;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes512;

use std::sync::OnceLock;

pub use layout::Layout;
pub use look::Look;
pub use root::Root;

use crate::ContentId;
use grow::{counter, ends_before_zeros};

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

/// What stands in place of a zero byte at the end of a random run that zeros follow. LZ4 would count the zero among those and gain a
/// byte. VDO's packer keeps bins with such smaller blocks for long, full as they are, because it writes the fullest first.
const LAST: u8 = 0xa5;

/// Contents that a path is tried with before it is used.
const TRIED: u64 = 32;

/// How lanes grow: each kind from the one before it in its chain, the first from the stem. Encryption and decryption take turns.
pub(crate) const CHAINS: [[usize; KINDS / 2]; 2] = [[0, 3, 4, 7], [1, 2, 5, 6]];

/// The kind that lanes of `kind` are made from; `None` for the stem.
pub(crate) const fn parent(kind: usize) -> Option<usize> {
    match kind {
        0 | 1 => None,
        even if even % 2 == 0 => Some(even - 1),
        odd => Some(odd - 3),
    }
}

/// A way to make the bytes; all make the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// Tables, on any machine.
    Portable,
    /// The AES instructions of x86-64, 128 bits wide.
    AesNi,
    /// The same, 256 bits wide.
    Vaes256,
    /// The same, 512 bits wide.
    Vaes512,
}

impl Path {
    /// The paths that this processor has, slowest first. A path counts only when it makes the bytes of the portable one: QEMU
    /// without KVM has VAES instructions that give both halves of a register the bytes of the first.
    pub fn available() -> &'static [Self] {
        static SOUND: OnceLock<Vec<Path>> = OnceLock::new();
        SOUND.get_or_init(|| {
            Self::of_processor().iter().copied().filter(|path| path.is_sound()).collect()
        })
    }

    /// The paths whose instructions this processor says it has.
    fn of_processor() -> &'static [Self] {
        const ALL: [Path; 4] = [Path::Portable, Path::AesNi, Path::Vaes256, Path::Vaes512];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let aes = has!("aes");
            let vaes_256 = aes && has!("vaes") && has!("avx2");
            let vaes_512 = vaes_256 && has!("avx512f") && has!("avx512bw");
            &ALL[..1 + usize::from(aes) + usize::from(vaes_256) + usize::from(vaes_512)]
        }
        #[cfg(not(target_arch = "x86_64"))]
        &ALL[..1]
    }

    /// Whether a path of [`Path::of_processor`] makes the same bytes as the portable one, and finds fault with others.
    fn is_sound(self) -> bool {
        let generator = Generator { path: self };
        makes_the_bytes(
            |id, batches| generator.batches(&generator.root(id), 0, batches),
            |id, batches| generator.wrong_batch(&generator.root(id), 0, batches),
        )
    }

    /// The fastest path that this processor has.
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }

    /// The name of the path, as figures of the bench give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::AesNi => "aes-ni",
            Self::Vaes256 => "vaes-256",
            Self::Vaes512 => "vaes-512",
        }
    }
}

/// Whether `fill` makes the bytes of the portable path, and `wrong` tells them from others.
fn makes_the_bytes(
    fill: impl Fn(ContentId, &mut [[u8; BATCH]]),
    wrong: impl Fn(ContentId, &[[u8; BATCH]]) -> Option<usize>,
) -> bool {
    (1..=TRIED).all(|n| {
        let id = ContentId(n.wrapping_mul(STEP[0]));
        let (mut made, mut expected) = ([[0; BATCH]; 2], [[0; BATCH]; 2]);
        fill(id, &mut made);
        portable::fill(&portable::root(id), 0, &mut expected);
        let alike = made == expected && wrong(id, &expected).is_none();
        // Another 16 bytes each time.
        let lanes = expected.as_flattened().len() / size_of::<Lane>();
        let at = (lanes - 1 - n as usize % lanes) * size_of::<Lane>();
        expected.as_flattened_mut()[at] ^= 1;
        alike && wrong(id, &expected) == Some(at / BATCH)
    })
}

/// The first place where a block is not what its content says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset of the first wrong byte in the block.
    pub offset: usize,
    /// What stands there.
    pub found: u8,
    /// What should.
    pub expected: u8,
}

/// Makes blocks, and compares blocks with what they should be, by a path that the processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generator {
    /// One of [`Path::available`]: that the instructions exist rests on it.
    path: Path,
}

impl Generator {
    /// By the fastest path of this processor.
    pub fn best() -> Self {
        Self { path: Path::best() }
    }

    /// By `path`; by the fastest one where this processor does not have it.
    pub fn with_path(path: Path) -> Self {
        if Path::available().contains(&path) { Self { path } } else { Self::best() }
    }

    /// The path that makes the bytes.
    pub fn path(self) -> Path {
        self.path
    }

    /// Whether `block` holds the bytes of `id`: made again piece by piece in registers, and compared there.
    ///
    /// # Errors
    /// The first byte that differs.
    #[inline]
    pub fn matches(self, id: ContentId, layout: Layout, block: &[u8]) -> Result<(), Mismatch> {
        let layout = if id == ContentId::ZERO { Layout::head(0) } else { layout };
        let mut root = [Root::default()];
        self.roots(&[id], &mut root);
        for (at, random, zeros) in layout.runs(block.len()) {
            self.matches_run(&root[0], at, &block[at..at + random + zeros], random)?;
        }
        Ok(())
    }

    /// The content that `block`, the head of one or all of it, holds whole; `None` when it holds none of this layout whole.
    #[inline]
    pub fn whole(self, layout: Layout, block: &[u8]) -> Option<ContentId> {
        #[cfg(target_arch = "x86_64")]
        if let Some(random) = self.one_run(layout, block.len())
            && let Some(id) = vaes512::named(block, random)
        {
            return Some(ContentId(id));
        }
        crate::identify(block).filter(|&id| self.matches(id, layout, block).is_ok())
    }

    /// Whether `block` holds the bytes of `id`: [`Generator::matches`] for who does not ask where it differs.
    #[inline]
    pub fn holds(self, id: ContentId, layout: Layout, block: &[u8]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if id != ContentId::ZERO
            && let Some(random) = self.one_run(layout, block.len())
        {
            return vaes512::grows(self.root(id), block, random);
        }
        self.matches(id, layout, block).is_ok()
    }

    /// How many random bytes stand in front of a block of `length` bytes, where only zeros follow and it can be compared in one
    /// go.
    #[inline]
    fn one_run(self, layout: Layout, length: usize) -> Option<usize> {
        let random = layout.head_of(length)?;
        #[cfg(target_arch = "x86_64")]
        let wide = self.path == Path::Vaes512;
        #[cfg(not(target_arch = "x86_64"))]
        let wide = false;
        let one_go = random >= size_of::<Lane>() && length.is_multiple_of(BATCH);
        (wide && one_go).then_some(random)
    }

    #[inline]
    fn matches_run(
        self,
        root: &Root,
        at: usize,
        bytes: &[u8],
        random: usize,
    ) -> Result<(), Mismatch> {
        let (made, zeros) = bytes.split_at(random);
        let (batches, rest) = made.as_chunks::<BATCH>();
        if !batches.is_empty()
            && let Some(wrong) = self.wrong_batch(root, at, batches)
        {
            let offset = at + wrong * BATCH;
            return first_difference(offset, &batches[wrong], &self.batch(root, offset));
        }
        if !rest.is_empty() {
            let offset = at + random - rest.len();
            let mut piece = self.batch(root, offset);
            if ends_before_zeros(at, bytes.len(), random) && piece[rest.len() - 1] == 0 {
                piece[rest.len() - 1] = LAST;
            }
            first_difference(offset, rest, &piece)?;
        }
        if self.is_zero(zeros) {
            return Ok(());
        }
        let wrong = zeros.iter().position(|&byte| byte != 0).unwrap_or_default();
        Err(Mismatch { offset: at + random + wrong, found: zeros[wrong], expected: 0 })
    }

    #[inline]
    fn is_zero(self, bytes: &[u8]) -> bool {
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::Vaes512 => vaes512::is_zero(bytes),
            _ => reduce::is_zero(bytes),
        }
    }

    /// The batch at `offset`, a multiple of [`BATCH`].
    fn batch(self, root: &Root, offset: usize) -> [u8; BATCH] {
        let mut piece = [[0; BATCH]];
        self.batches(root, offset, &mut piece);
        let [piece] = piece;
        piece
    }

    /// Fills the batches from `offset` on.
    #[inline]
    fn batches(self, root: &Root, offset: usize, batches: &mut [[u8; BATCH]]) {
        let first = counter(offset);
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::AesNi => aesni::fill(root, first, batches),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes256 => vaes256::fill(root, first, batches),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes512 => vaes512::fill(root, first, batches),
            _ => portable::fill(root, first, batches),
        }
    }

    /// Number of the first of the batches from `offset` on that differs from what it should be.
    #[inline]
    fn wrong_batch(self, root: &Root, offset: usize, batches: &[[u8; BATCH]]) -> Option<usize> {
        let first = counter(offset);
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::AesNi => aesni::wrong(root, first, batches),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes256 => vaes256::wrong(root, first, batches),
            #[cfg(target_arch = "x86_64")]
            Path::Vaes512 => vaes512::wrong(root, first, batches),
            _ => portable::wrong(root, first, batches),
        }
    }
}

/// Compares `found` with the head of `expected`.
fn first_difference(at: usize, found: &[u8], expected: &[u8]) -> Result<(), Mismatch> {
    if found == &expected[..found.len()] {
        return Ok(());
    }
    match found.iter().zip(expected).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(n) => Err(Mismatch { offset: at + n, found: found[n], expected: expected[n] }),
    }
}
