//! Natural blocks: their sizes, what they have in common, and that every byte of them is checked.

use std::collections::HashSet;

use content::{BLOCK, ContentId, ContentSpec, Contents, Part, SequenceCounter};
use reduce::Lz4;
use units::Seed;

fn spec(keys: &str) -> ContentSpec {
    toml::from_str(&format!("texture = \"natural\"\n{keys}")).unwrap()
}

fn contents(spec: &ContentSpec) -> Contents {
    Contents::new(spec, Seed(3), Part { generator: 0, jobs: 1, blocks: 0 }).unwrap()
}

fn blocks(contents: &Contents, count: u64) -> Vec<(ContentId, [u8; BLOCK])> {
    let mut source = contents.source(0);
    let block = |n| {
        let (mut block, id) = ([0; BLOCK], source.next_id(n));
        contents.fill(id, &mut block);
        (id, block)
    };
    (0..count).map(block).collect()
}

#[test]
fn natural_blocks_have_exactly_the_size_that_was_asked_for_and_are_all_different() {
    let mut lz4 = Lz4::new();
    for bytes in [120, 290, 1014, 1638, 2028, 3000, 3900] {
        let contents = contents(&spec(&format!("compress = \"{bytes}=1\"")));
        let made = blocks(&contents, 1500);
        let exact = made.iter().filter(|(_, block)| lz4.size(block) == Ok(bytes)).count();
        assert!(exact >= 1490, "{exact} of 1500 have {bytes} B");
        let distinct: HashSet<_> = made.iter().map(|(_, block)| block).collect();
        assert_eq!(distinct.len(), made.len());
    }
}

#[test]
fn natural_blocks_keep_lz4_as_busy_as_program_text_does() {
    let mut lz4 = Lz4::new();
    let mut counter = SequenceCounter::default();
    for (_, block) in blocks(&contents(&spec("compress = \"2.2x\"")), 600) {
        counter.add(lz4.compressed(&block).unwrap(), 1);
    }
    let sequences: u64 =
        counter.classes().iter().flat_map(|class| &class.literals).map(|(_, count)| count).sum();
    // 286 were counted in blocks of program text of about this size; random bytes and zeros are one.
    assert!((220..=340).contains(&(sequences / 600)), "{}", sequences / 600);
}

#[test]
fn every_byte_of_a_natural_block_is_checked_in_every_way() {
    for keys in [
        "compress = \"2.5x\"",
        "vdo_saving = \"40%\"",
        "compress = \"normal:1600,300\"\nzero = \"10%\"",
        "compress = \"2.5x\"\ndedupe = \"40%\"\nmisaligned = \"512\"",
        "compress = \"3.5x\"\ndedupe = \"50%\"\nscope = \"live\"",
    ] {
        let spec = spec(keys);
        let part = Part { generator: 0, jobs: 1, blocks: 4096 };
        let contents = Contents::new(&spec, Seed(3), part).unwrap();
        let check = contents.block_check();
        for (n, (id, mut block)) in blocks(&contents, 300).into_iter().enumerate() {
            assert_eq!(contents.identify_whole(&block), Some(id), "{keys}");
            assert_eq!(contents.matches(id, &block), Ok(()));
            let mut head = [0; 1000];
            contents.fill(id, &mut head);
            assert_eq!(head, block[..1000]);
            assert!(contents.holds(id, &head));
            let number = check.as_ref().and_then(|check| check.number(&block));
            if let Some(check) = check.as_ref().filter(|_| id != ContentId::ZERO) {
                assert_eq!(number, Some(check.root_of(id).number()));
                assert!(check.grows(check.root_of(id), &block));
                assert!(!check.grows(check.root_of(ContentId(id.0 + 1)), &block));
            }
            let at = n * 1009 % BLOCK;
            block[at] ^= 1;
            assert!(contents.matches(id, &block).is_err_and(|wrong| wrong.offset == at), "{at}");
            assert_ne!(contents.identify_whole(&block), Some(id));
            assert!(!contents.holds(id, &block));
            assert!(check.as_ref().is_none_or(|check| check.number(&block).is_none()));
        }
    }
}

#[test]
fn what_natural_blocks_share_is_found_in_long_records_and_by_no_dedupe() {
    let saved = |keys: &str| {
        let mut record = vec![0; 32 * BLOCK];
        contents(&spec(keys)).source(0).fill_next(&mut record);
        let packed = zstd::bulk::compress(&record, 3).unwrap().len();
        100.0 * (1.0 - packed as f64 / record.len() as f64)
    };
    let natural = saved("compress = \"2.2x\"");
    // zstd saved 77 % on program text that LZ4 packs to 44 % in blocks.
    assert!((70.0..84.0).contains(&natural), "{natural}");
}

#[test]
fn natural_blocks_are_of_4_kib_alone() {
    let error = spec("compress = \"2x\"\nblock = \"8k\"").validate().unwrap_err();
    assert!(error.to_string().contains("texture"), "{error}");
}

#[test]
fn natural_blocks_of_jobs_targets_and_seeds_never_coincide() {
    let spec = spec("compress = \"2.5x\"");
    let mut seen = HashSet::new();
    for (seed, generator, job) in [(1, 0, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)] {
        let part = Part { generator, jobs: 2, blocks: 0 };
        let mut source = Contents::new(&spec, Seed(seed), part).unwrap().source(job);
        let mut bytes = vec![0; 400 * BLOCK];
        source.fill_next(&mut bytes);
        assert!(bytes.as_chunks::<BLOCK>().0.iter().all(|block| seen.insert(*block)));
    }
}
