//! Makes blocks of content ids, and compares blocks with what they should be, by the fastest instructions of the processor.

use std::sync::OnceLock;

use super::fan::{BATCH, LAST, Lane, STEP};
use super::layout::BlockLayout;
use super::portable;
use super::root::Root;
use super::run::{counter, ends_before_zeros};
#[cfg(target_arch = "x86_64")]
use super::{aesni, vaes256, vaes512};
use crate::ContentId;

/// Contents that a path is tested with before it is used.
const TRIED: u64 = 32;

/// A way to make the bytes; all make the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// Tables, on any machine.
    Portable,
    /// The AES instructions of x86-64, 128 bits wide.
    AesNi,
    /// VAES instructions, 256 bits wide.
    Vaes256,
    /// VAES instructions, 512 bits wide.
    Vaes512,
}

impl Path {
    /// The paths of this processor, slowest first. A path is tested against the portable one first: QEMU without KVM has VAES
    /// instructions that give both halves of a register the bytes of the first.
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

    /// Tells whether the path makes the same bytes as the portable one, and detects wrong bytes.
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

/// Tells whether `fill` makes the bytes of the portable path, and `wrong` finds a changed batch.
pub(super) fn makes_the_bytes(
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
    /// The byte that stands there.
    pub found: u8,
    /// The byte that should stand there.
    pub expected: u8,
}

/// Makes blocks, and compares blocks with what they should be, by a path that the processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generator {
    /// One of [`Path::available`]: the safety of calling its instructions rests on that.
    pub(super) path: Path,
}

impl Generator {
    /// Creates a generator with the fastest path of this processor.
    pub fn best() -> Self {
        Self { path: Path::best() }
    }

    /// Creates a generator with `path`, or with the fastest one where this processor does not have it.
    pub fn with_path(path: Path) -> Self {
        if Path::available().contains(&path) { Self { path } } else { Self::best() }
    }

    /// The path that makes the bytes.
    pub fn path(self) -> Path {
        self.path
    }

    /// Tells whether `block` holds the bytes of `id`, which are made again in registers and compared there.
    ///
    /// # Errors
    /// The first byte that differs.
    #[inline]
    pub fn matches(self, id: ContentId, layout: BlockLayout, block: &[u8]) -> Result<(), Mismatch> {
        let layout = if id == ContentId::ZERO { BlockLayout::head(0) } else { layout };
        let mut root = [Root::default()];
        self.roots(&[id], &mut root);
        for (at, random, zeros) in layout.runs(block.len()) {
            self.matches_run(&root[0], at, &block[at..at + random + zeros], random)?;
        }
        Ok(())
    }

    /// The id of `block`, a block or the head of one, if all of its bytes are that content's in this layout.
    #[inline]
    pub fn identify_whole(self, layout: BlockLayout, block: &[u8]) -> Option<ContentId> {
        #[cfg(target_arch = "x86_64")]
        if let Some(random) = self.one_run(layout, block.len())
            && let Some(id) = vaes512::named(block, random)
        {
            return Some(ContentId(id));
        }
        crate::identify(block).filter(|&id| self.matches(id, layout, block).is_ok())
    }

    /// Tells whether `block` holds the bytes of `id`: faster than [`Generator::matches`], but does not say where it differs.
    #[inline]
    pub fn holds(self, id: ContentId, layout: BlockLayout, block: &[u8]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if id != ContentId::ZERO
            && let Some(random) = self.one_run(layout, block.len())
        {
            return vaes512::grows(self.root(id), block, random);
        }
        self.matches(id, layout, block).is_ok()
    }

    /// Random bytes at the head of a block of `length` bytes, where only zeros follow and the 512-bit path can compare it in one pass.
    #[inline]
    pub(super) fn one_run(self, layout: BlockLayout, length: usize) -> Option<usize> {
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
    pub(super) fn batch(self, root: &Root, offset: usize) -> [u8; BATCH] {
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
pub(super) fn first_difference(at: usize, found: &[u8], expected: &[u8]) -> Result<(), Mismatch> {
    if found == &expected[..found.len()] {
        return Ok(());
    }
    match found.iter().zip(expected).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(n) => Err(Mismatch { offset: at + n, found: found[n], expected: expected[n] }),
    }
}
