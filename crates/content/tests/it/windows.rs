//! Larger records than a block: what btrfs and ZFS compress at a time.

use content::{BLOCK, ContentSpec, Source};
use reduce::Lz4;
use units::{Percent, Seed};

/// Saving of LZ4 and of zstd on records of `record` bytes of a load after its first 128 MiB, percent: at its beginning there is
/// nothing but near blocks that duplicates could be of.
fn savings(spec: &ContentSpec, record: usize) -> (f64, f64) {
    let mut source = Source::new(spec, Seed(5), 0, 1);
    let mut lz4 = Lz4::new();
    let (mut bytes, mut with_lz4, mut with_zstd) = (0, 0, 0);
    (0..32_768).for_each(|address| _ = source.next_id(address));
    let mut buffer = vec![0; record];
    for _ in 0..(32 << 20) / record {
        source.fill_next(&mut buffer);
        bytes += record;
        with_lz4 += lz4.size_of(&buffer).unwrap();
        with_zstd += zstd::bulk::compress(&buffer, 3).unwrap().len().min(record);
    }
    let saving = |size: usize| 100.0 * (1.0 - size as f64 / bytes as f64);
    (saving(with_lz4), saving(with_zstd))
}

#[test]
fn incompressible_content_is_so_at_every_window() {
    for record in [BLOCK, 128 << 10, 1 << 20] {
        let (lz4, zstd) = savings(&ContentSpec::default(), record);
        assert!(lz4 == 0.0 && zstd == 0.0, "{record}: LZ4 {lz4}, zstd {zstd}");
    }
}

#[test]
fn duplicates_are_no_compressibility_in_a_record_unless_they_are_asked_to_be() {
    for (toml, least, most) in [
        ("dedupe = 50", 0.0, 0.2),
        ("dedupe = 90", 0.0, 0.2),
        ("dedupe = 50\ndistance = \"all\"", 0.0, 0.2),
        ("dedupe = 50\ndistance = \"256..4096=1\"", 0.0, 0.2),
        ("dedupe = 50\nscope = \"live\"", 0.0, 3.0),
        ("dedupe = 50\ndistance = \"previous\"", 45.0, 51.0),
    ] {
        let spec: ContentSpec = toml::from_str(toml).unwrap();
        let (lz4, zstd) = savings(&spec, 128 << 10);
        println!("{toml}: LZ4 {lz4:.3}, zstd {zstd:.3}");
        for saving in [lz4, zstd] {
            assert!((least..=most).contains(&saving), "{toml}: LZ4 {lz4}, zstd {zstd}");
        }
        let warned = !spec.warnings().is_empty();
        assert_eq!(warned, least > 0.0, "{toml}");
    }
    let (_, zstd) = savings(&ContentSpec { dedupe: Percent(50.0), ..Default::default() }, 1 << 20);
    assert!(zstd < 0.5, "{zstd} in records of 1 MiB");
}
