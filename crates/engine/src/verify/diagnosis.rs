//! The diagnosis of a wrong block: whose content each sector holds, and which bits are wrong.
//!
//! May be slow, since only blocks that are not right come here.

use content::{ContentId, LANE, LANE_STEP, identify_lane};

use super::known_contents::KnownContents;

/// Bytes of a sector, the smallest unit that a device writes at once.
pub(crate) const SECTOR: usize = 512;
/// Most contents that are considered for one block.
const MAX_CONTENTS: usize = 8;
/// Most wrong bits that are listed.
const BITS: usize = 16;

/// A content that parts of the block may belong to.
#[derive(Debug, Clone)]
struct Candidate {
    id: ContentId,
    made: Vec<u8>,
    /// Tells for each sector whether all of it is this content's.
    matching: Vec<bool>,
}

/// The diagnosis of a block: the contents that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Diagnosis {
    /// One content, whole.
    Whole(ContentId),
    /// Whole sectors of several contents: the owner of each.
    Mixed(Vec<ContentId>),
    /// Content `id`, except for these sectors and bits (the first 16).
    Spoilt { id: ContentId, sectors: Vec<u32>, bits: Vec<u32> },
    /// No known content.
    Nothing,
}

/// Returns what `block` holds. `may` tells whether a content is allowed at its address, which breaks ties.
pub(crate) fn diagnose(
    block: &[u8],
    known_contents: &KnownContents,
    may: &dyn Fn(ContentId) -> bool,
) -> Diagnosis {
    let mut candidates = candidates(block, known_contents);
    if let Some(whole) = candidates.iter().find(|c| c.matching.iter().all(|&matches| matches)) {
        return Diagnosis::Whole(whole.id);
    }
    let sectors = block.len().div_ceil(SECTOR);
    let known = |sector: &usize| candidates.iter().any(|c| c.matching[*sector]);
    if candidates.len() > 1 && (0..sectors).all(|sector| known(&sector)) {
        return Diagnosis::Mixed(owners(&candidates, sectors));
    }
    if candidates.len() == 1 && !may(ContentId::ZERO) {
        candidates.extend(mended(block, known_contents));
    }
    // The allowed content that shares most sectors with the block; zeros only where zeros are expected.
    let matching_sectors = |c: &&Candidate| c.matching.iter().filter(|&&matches| matches).count();
    let meant = candidates.iter().filter(|c| may(c.id)).max_by_key(matching_sectors);
    let any = || candidates.iter().filter(|c| c.id != ContentId::ZERO).max_by_key(matching_sectors);
    let Some(nearest) = meant.or_else(any) else { return Diagnosis::Nothing };
    if nearest.id == ContentId::ZERO && matching_sectors(&nearest) == 0 && sectors > 1 {
        return Diagnosis::Nothing;
    }
    let wrong = |sector: &u32| !nearest.matching[*sector as usize];
    let differs = |&bit: &u32| {
        let at = bit as usize / 8;
        (block[at] ^ nearest.made[at]) >> (bit % 8) & 1 == 1
    };
    Diagnosis::Spoilt {
        id: nearest.id,
        sectors: (0..sectors as u32).filter(wrong).collect(),
        bits: (0..block.len() as u32 * 8).filter(differs).take(BITS).collect(),
    }
}

/// The owner of each sector; a sector that several contents share goes to the owner of the sector before it.
fn owners(candidates: &[Candidate], sectors: usize) -> Vec<ContentId> {
    let mut owners: Vec<ContentId> = Vec::with_capacity(sectors);
    for sector in 0..sectors {
        let has = |c: &&Candidate| c.matching[sector];
        let last = owners.last().copied();
        let same = candidates.iter().filter(has).find(|c| Some(c.id) == last);
        let owner = same.or_else(|| candidates.iter().find(has)).map_or(ContentId::ZERO, |c| c.id);
        owners.push(owner);
    }
    owners
}

/// The contents whose lanes occur in `block`, and zeros.
fn candidates(block: &[u8], known_contents: &KnownContents) -> Vec<Candidate> {
    let mut ids = Vec::new();
    for sector in (0..block.len()).step_by(SECTOR) {
        let end = block.len().min(sector + SECTOR);
        let lanes = (sector..end.saturating_sub(LANE - 1)).step_by(LANE_STEP);
        let named = |at: usize| block[at..].first_chunk().and_then(|lane| identify_lane(lane, at));
        for id in lanes.filter_map(named) {
            if !ids.contains(&id) && ids.len() < MAX_CONTENTS {
                ids.push(id);
            }
        }
    }
    // Contents whose lanes lie elsewhere than in a plain block.
    for id in known_contents.named(block) {
        if id != ContentId::ZERO && !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids.push(ContentId::ZERO);
    ids.into_iter().map(|id| candidate(id, block, known_contents)).collect()
}

fn candidate(id: ContentId, block: &[u8], known_contents: &KnownContents) -> Candidate {
    let shares = |made: &Vec<u8>| -> Vec<bool> {
        block.chunks(SECTOR).zip(made.chunks(SECTOR)).map(|(a, b)| a == b).collect()
    };
    let all = known_contents.made(id, block.len()).into_iter().map(|made| (shares(&made), made));
    let (matching, made) =
        all.max_by_key(|(matching, _)| matching.iter().filter(|&&o| o).count()).unwrap_or_default();
    Candidate { id, made, matching }
}

/// The content of a block whose first lane has one or two flipped bits, found by trying them all.
fn mended(block: &[u8], known_contents: &KnownContents) -> Option<Candidate> {
    let lane = u128::from_le_bytes(*block.first_chunk()?);
    let bits = LANE * 8;
    let flip = |mask: u128| identify_lane(&(lane ^ mask).to_le_bytes(), 0);
    let one = (0..bits).find_map(|a| flip(1 << a));
    let id = one.or_else(|| (0..bits).find_map(|a| (0..a).find_map(|b| flip(1 << a | 1 << b))))?;
    Some(candidate(id, block, known_contents))
}

#[cfg(test)]
mod tests {
    use content::{BLOCK, BlockLayout};

    use super::*;

    fn known_contents(random: usize) -> KnownContents {
        KnownContents::of(super::super::known_contents::OneLayout(BlockLayout::head(random)))
    }

    fn made(id: u64, random: usize) -> Vec<u8> {
        known_contents(random).made(ContentId(id), BLOCK).remove(0)
    }

    fn verdict(block: &[u8], random: usize, meant: u64) -> Diagnosis {
        diagnose(block, &known_contents(random), &|id| id == ContentId(meant))
    }

    #[test]
    fn whole_blocks_are_known_by_any_texture() {
        for random in [16, 100, 1600, BLOCK] {
            assert_eq!(verdict(&made(5, random), random, 9), Diagnosis::Whole(ContentId(5)));
        }
        assert_eq!(verdict(&[0; BLOCK], 100, 9), Diagnosis::Whole(ContentId::ZERO));
        assert_eq!(verdict(&[7; BLOCK], 100, 9), Diagnosis::Nothing);
    }

    #[test]
    fn sectors_of_two_contents_are_told_apart() {
        for cut in 1..8 {
            let mut block = made(5, BLOCK);
            block[cut * SECTOR..].copy_from_slice(&made(6, BLOCK)[cut * SECTOR..]);
            let Diagnosis::Mixed(owners) = verdict(&block, BLOCK, 5) else { panic!("{cut}") };
            let expected: Vec<_> = (0..8).map(|s| ContentId(if s < cut { 5 } else { 6 })).collect();
            assert_eq!(owners, expected);
        }
        let mut block = made(5, 1600);
        block[..1024].copy_from_slice(&made(6, 1600)[..1024]);
        let Diagnosis::Mixed(owners) = verdict(&block, 1600, 5) else { panic!() };
        assert_eq!(owners[1..3], [ContentId(6), ContentId(5)]);
    }

    #[test]
    fn spoilt_bits_are_named_wherever_they_are() {
        for random in [16, 40, 600, BLOCK] {
            for bits in [vec![3], vec![0, 127], vec![20_000], vec![5, 32_767]] {
                let mut block = made(5, random);
                bits.iter().for_each(|&bit: &u32| block[bit as usize / 8] ^= 1 << (bit % 8));
                let found = verdict(&block, random, 5);
                let Diagnosis::Spoilt { id, sectors, bits: wrong } = found else {
                    panic!("{found:?}")
                };
                assert_eq!((id, &wrong), (ContentId(5), &bits), "{random}");
                let mut expected: Vec<_> = bits.iter().map(|bit| bit / 4096).collect();
                expected.dedup();
                assert_eq!(sectors, expected);
            }
        }
        let mut zeros = vec![0; BLOCK];
        zeros[600] = 4;
        let expected =
            Diagnosis::Spoilt { id: ContentId::ZERO, sectors: vec![1], bits: vec![4802] };
        assert_eq!(verdict(&zeros, 100, 0), expected);
    }
}
