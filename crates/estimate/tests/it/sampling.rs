//! Samples stay within the error that they state.

use std::fs;

use units::Seed;

use super::{block, estimate, request};

#[test]
fn contents_beyond_the_memory_are_sampled_within_the_stated_error() {
    let (mut outside, mut sampled) = (0, 0);
    for seed in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let mut rng = Seed(seed).generator();
        let mut bytes = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..8000u64 {
            let id = seed << 32
                | if rng.below(3) == 0 { rng.below(500) } else { 1000 + rng.below(1 << 20) };
            seen.insert(id);
            // Cheap blocks: a few bytes say which one it is.
            let mut one = vec![0; 4096];
            one[..8].copy_from_slice(&(id + 1).to_le_bytes());
            bytes.extend_from_slice(&one);
        }
        fs::write(dir.path().join("data"), bytes).unwrap();
        let mut want = request(&[dir.path()]);
        want.policy.memory_bytes = 0;
        let got = estimate(&want).unwrap();
        assert_eq!(got.blocks.total, 8000);
        sampled += u32::from(got.sampled.contents_one_in > 1);
        let truth = 100.0 * (8000 - seen.len()) as f64 / 8000.0;
        let found = 100.0 * got.blocks.duplicate as f64 / 8000.0;
        assert!(got.sampled.duplicate_error_points > 0.0);
        outside += u32::from((found - truth).abs() > got.sampled.duplicate_error_points);
    }
    assert_eq!(sampled, 20);
    assert!(outside <= 3, "{outside} of 20 outside the interval of 95 %");
}

#[test]
fn one_worker_and_many_find_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = Seed(4).generator();
    for file in 0..30 {
        let bytes: Vec<u8> = (0..rng.below(200))
            .flat_map(|_| block(rng.below(2000), 200 + rng.below(3800) as usize))
            .collect();
        fs::write(dir.path().join(format!("{file}")), bytes).unwrap();
    }
    let answers: Vec<_> = [1, 2, 7]
        .into_iter()
        .map(|workers| {
            let mut want = request(&[dir.path()]);
            want.workers = Some(workers);
            let mut got = estimate(&want).unwrap();
            got.elapsed_ns = 0;
            got
        })
        .collect();
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}
