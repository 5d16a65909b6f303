//! Duplicates over several jobs, targets and stages.

use std::collections::HashSet;

use content::{ContentId, ContentKind, ContentSpec, Contents, Part, Path};
use units::Seed;

fn spec(toml: &str) -> ContentSpec {
    toml::from_str(toml).unwrap()
}

fn contents(toml: &str, seed: u64, generator: u16, jobs: u32) -> Contents {
    Contents::new(&spec(toml), Seed(seed), Part { generator, jobs, blocks: 0 }).unwrap()
}

fn share(ids: &[ContentId]) -> f64 {
    let distinct = ids.iter().collect::<HashSet<_>>().len();
    100.0 * (1.0 - distinct as f64 / ids.len() as f64)
}

#[test]
fn jobs_that_share_an_order_write_the_share_together() {
    for domain in ["target", "all"] {
        for turns in [&[1usize, 1, 1][..], &[7, 1, 30], &[16, 16, 16, 16], &[100, 3]] {
            let toml = format!("dedupe = 50\nwindow = 4096\ndomain = \"{domain}\"");
            let contents = contents(&toml, 1, 0, turns.len() as u32);
            let mut sources: Vec<_> = (0..turns.len()).map(|j| contents.source(j as u32)).collect();
            let mut ids = Vec::new();
            let mut by_job = vec![HashSet::new(); turns.len()];
            while ids.len() < 20_000 {
                for (job, (source, &turn)) in sources.iter_mut().zip(turns).enumerate() {
                    for _ in 0..turn {
                        let id = source.next_id(0);
                        by_job[job].insert(id);
                        ids.push(id);
                    }
                }
            }
            // A job leaves at most one chunk of 16 unwritten, half of it new.
            let tolerance = 100.0 * 8.0 * turns.len() as f64 / ids.len() as f64 + 0.02;
            assert!((share(&ids) - 50.0).abs() < tolerance, "{domain} {turns:?}: {}", share(&ids));
            let across = by_job[0].intersection(&by_job[1]).count();
            assert!(across > 50, "{domain} {turns:?}: jobs share {across} contents");
        }
    }
    let contents = contents("dedupe = 50", 1, 0, 2);
    let ids = |job| {
        let mut source = contents.source(job);
        (0..5000).map(|_| source.next_id(0)).collect::<HashSet<_>>()
    };
    assert!(ids(0).is_disjoint(&ids(1)));
}

#[test]
fn targets_stages_and_runs_never_share_a_content_unless_they_are_told_to() {
    let ids = |seed, generator| {
        let mut source = contents("dedupe = 30\nvdo_saving = 40", seed, generator, 1).source(0);
        (0..5000).map(|_| source.next_id(0)).collect::<HashSet<_>>()
    };
    assert_eq!(ids(1, 0), ids(1, 0));
    assert!(ids(1, 0).is_disjoint(&ids(1, 1)), "targets or stages");
    assert!(ids(1, 0).is_disjoint(&ids(2, 0)), "runs");
    // Targets that share one content: each refers to what the other wrote.
    let both = contents("dedupe = 50\ndomain = \"all\"", 1, 0, 2);
    let mut targets = [both.source(0), both.source(1)];
    let written: Vec<Vec<_>> =
        targets.iter_mut().map(|t| (0..8000).map(|_| t.next_id(0)).collect()).collect();
    assert!((share(&written.concat()) - 50.0).abs() < 0.2);
    assert!(share(&written[1]) < 40.0, "{}", share(&written[1]));
}

#[test]
fn a_stage_that_was_stopped_goes_on_where_it_was() {
    for toml in [
        "dedupe = 50",
        "dedupe = 80\npopularity = \"zipf:1\"\nzero = 5",
        "dedupe = 50\ndistance = \"1..100=1,100..2000=1\"",
        "dedupe = 50\nscope = \"live\"",
        "dedupe = 50\ndomain = \"target\"",
        "zero = 10",
        "zero = 100",
        "dedupe = 90\nzero = 5\nwindow = 300",
        "dedupe = 60\npopularity = \"cap:4\"",
        "dedupe = 33.3\ndistance = \"previous\"",
        "dedupe = 40\nmisaligned = \"512\"",
    ] {
        let whole = contents(toml, 9, 2, 1);
        let mut source = whole.source(0);
        let all: Vec<_> = (0..9000).map(|n| source.next_id(n)).collect();
        let again = contents(toml, 9, 2, 1);
        let mut source = again.source(0);
        source.seek(4000);
        let rest: Vec<_> = (4000..9000).map(|n| source.next_id(n)).collect();
        assert!(all[4000..] == rest, "{toml}");
        for n in [8999, 0, 5000, 17] {
            assert_eq!(source.id_at(n, n), all[n as usize], "{toml} at {n}");
        }
        // Back, on by one, and asked for another place in between: what was found ahead is never told for another position.
        for n in [4000, 4001, 8000, 3999, 4000] {
            source.seek(n);
            assert_eq!(source.next_id(n), all[n as usize], "{toml} from {n}");
            source.id_at(n / 2, n / 2);
            assert_eq!(source.next_id(n + 1), all[n as usize + 1], "{toml} after {n}");
        }
    }
}

#[test]
fn what_is_filled_block_after_block_is_what_each_id_stands_for() {
    for toml in [
        "",
        "dedupe = 50\ncompress = \"50%\"\nzero = 5",
        "dedupe = 30\nvdo_saving = 40",
        "dedupe = 50\nscope = \"live\"\ncompress = \"2x\"",
        "dedupe = 40\nmisaligned = \"512\"",
        "compress = \"3x\"\ntexture = \"interleaved:1024\"",
        "compress = \"50%\"\nblock = \"512\"",
    ] {
        let spec = spec(toml);
        for &path in Path::available() {
            let part = Part { generator: 0, jobs: 1, blocks: 10_000 };
            let contents = Contents::with_path(&spec, Seed(4), part, path).unwrap();
            let mut source = contents.source(0);
            let mut buffer = vec![0xee; 21 * contents.unit() + 700];
            for turn in 0..20 {
                let mut ids = Vec::new();
                source.fill_at(turn * 21, &mut buffer, |_, id| ids.push(id));
                for (&id, block) in ids.iter().zip(buffer.chunks(contents.unit())) {
                    let mut alone = vec![0xdd; block.len()];
                    contents.fill(id, &mut alone);
                    assert!(alone == block, "{toml:?} {path:?} {id:?}");
                    assert_eq!(contents.matches(id, block), Ok(()), "{toml:?} {path:?} {id:?}");
                }
            }
        }
    }
}

#[test]
fn an_id_tells_where_it_comes_from() {
    let contents = contents("dedupe = 50\nzero = 10", 9, 5, 7);
    for job in 0..7 {
        let mut source = contents.source(job);
        for _ in 0..1000 {
            let id = source.next_id(0);
            match contents.parts(id) {
                None => assert_eq!(id, ContentId::ZERO),
                Some(parts) => {
                    assert_eq!((parts.generator, parts.kind), (5, ContentKind::New));
                    assert_eq!(u32::from(parts.series), job);
                    assert!(parts.ordinal < 500);
                    assert_eq!(contents.id(parts), id);
                }
            }
        }
    }
}
