//! The whole way against a model in plain words.

use std::collections::HashMap;
use std::fs;

use reduce::{Lz4, Packer};

use super::{block, estimate, request};

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn agrees_with_a_naive_model_on_random_corpora(
        files in proptest::collection::vec(proptest::collection::vec((0u64..60, 0usize..4), 0..40), 1..6),
        tail in 0usize..4096, exact in proptest::bool::ANY,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for (number, blocks) in files.iter().enumerate() {
            let mut bytes = Vec::new();
            for &(id, kind) in blocks {
                let block = if id == 0 { vec![0; 4096] } else { block(id, [100, 900, 1900, 4096][kind]) };
                bytes.extend_from_slice(&block);
            }
            // The last block is short in one file, and is filled up.
            if number == 0 {
                bytes.extend_from_slice(&block(9999, 4096)[..tail]);
            }
            fs::write(dir.path().join(format!("{number:03}")), &bytes).unwrap();
            bytes.resize(bytes.len().next_multiple_of(4096), 0);
            all.extend(bytes.chunks(4096).map(<[u8]>::to_vec));
        }
        let mut want = request(&[dir.path()]);
        want.exact = exact;
        want.workers = Some(3);
        let got = estimate(&want).unwrap();
        let zero = all.iter().filter(|b| b.iter().all(|&byte| byte == 0)).count() as u64;
        let mut seen: HashMap<&Vec<u8>, u64> = HashMap::new();
        all.iter().for_each(|block| *seen.entry(block).or_default() += 1);
        let unique = seen.len() as u64 - u64::from(zero > 0);
        proptest::prop_assert_eq!(got.blocks.total, all.len() as u64);
        proptest::prop_assert_eq!(got.blocks.zero, zero);
        proptest::prop_assert_eq!(got.blocks.unique, unique);
        proptest::prop_assert_eq!(got.blocks.duplicate, all.len() as u64 - zero - unique);
        proptest::prop_assert_eq!(got.sampled.saving_error_points, 0.0);
        proptest::prop_assert_eq!(got.sources.files, files.len() as u64);
        proptest::prop_assert_eq!(got.sources.tails, u64::from(tail > 0));
        let sums = got.directories.iter().fold([0; 4], |sum, d| {
            [sum[0] + d.total, sum[1] + d.zero, sum[2] + d.duplicate, sum[3] + d.unique]
        });
        let blocks = got.blocks;
        proptest::prop_assert_eq!(sums, [blocks.total, blocks.zero, blocks.duplicate, blocks.unique]);
        proptest::prop_assert_eq!(got.spread.lz4_bytes.iter().map(|c| c.count).sum::<u64>(), unique);
        // The packer sees first copies in order, but those that came again while they were parked.
        let mut lz4 = Lz4::new();
        let mut met = std::collections::HashSet::new();
        let mut packer = Packer::new();
        for block in &all {
            if block.iter().any(|&byte| byte != 0) && met.insert(block) {
                packer.add(lz4.size(block.as_slice().try_into().unwrap()).unwrap());
            }
        }
        let packed = packer.finish();
        if got.vdo.packer.cancelled == 0 {
            proptest::prop_assert_eq!(got.vdo.packer.fragments, packed.fragments);
            proptest::prop_assert_eq!(got.vdo.physical_bytes / 4096, packed.physical_blocks());
        } else {
            proptest::prop_assert!(got.vdo.physical_bytes / 4096 <= unique);
        }
    }
}

#[test]
fn directories_tell_where_duplicates_lie() {
    let dir = tempfile::tempdir().unwrap();
    for (name, ids) in [("a", [1, 2]), ("b", [2, 3]), ("b/deep/deeper/deepest", [1, 0])] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
        let bytes: Vec<u8> = ids
            .iter()
            .flat_map(|&id| if id == 0 { vec![0; 4096] } else { block(id, 4096) })
            .collect();
        fs::write(dir.path().join(name).join("data"), bytes).unwrap();
    }
    let got = super::of(dir.path());
    let rows: Vec<_> = got
        .directories
        .iter()
        .map(|d| {
            let path = d.path.strip_prefix(dir.path().to_str().unwrap()).unwrap();
            (path.to_owned(), d.total, d.zero, d.duplicate, d.unique)
        })
        .collect();
    let row = |path: &str, counts: [u64; 4]| {
        (path.to_owned(), counts[0], counts[1], counts[2], counts[3])
    };
    assert_eq!(
        rows,
        [row("/a", [2, 0, 0, 2]), row("/b", [2, 0, 1, 1]), row("/b/deep", [2, 1, 1, 0])]
    );
}

#[test]
fn the_profile_holds_as_many_blocks_as_there_are_and_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = vec![0; 40 * 4096];
    for i in 0..900u64 {
        bytes.extend_from_slice(&block(1 + i % 500, 300 + (i % 500) as usize * 7));
    }
    fs::write(dir.path().join("data"), bytes).unwrap();
    let found =
        estimate::estimate(&request(&[dir.path()]), &sys::interrupt::Interrupt::new(), None);
    let profile = found.unwrap().profile.unwrap();
    assert_eq!(profile.blocks.duplicate, 400);
    assert_eq!(profile.sizes.iter().map(|size| size.blocks).sum::<u64>(), 500);
    assert_eq!(profile.reuse.iter().map(|row| row.duplicates).sum::<u64>(), 400);
    assert_eq!(profile.reuse.iter().map(|row| row.contents).sum::<u64>(), 400);
    // The first comes again after 500 contents, the last after 101.
    assert!(profile.reuse.iter().all(|row| [64, 128, 256].contains(&row.distance_from)));
    let json = profile.to_json().unwrap();
    assert_eq!(content::Profile::read(&json, "p").unwrap(), profile);
}

#[test]
fn a_page_shows_the_figures_and_loads_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (1..300u64).flat_map(|i| block(1 + i / 2, 600)).collect();
    fs::write(dir.path().join("<data>"), bytes).unwrap();
    let page = estimate::page(&super::of(dir.path()));
    assert!(page.contains("<rect") && page.contains("lvcreate --type vdo"));
    assert!(!page.contains("<script") && !page.contains("http"));
    assert_eq!(page.matches("<svg").count(), 3);
    // A MiB of data needs gigabytes: what is saved of it is not the answer to what to buy.
    assert!(page.contains("VDO does not pay here: it needs "), "{page}");
}
