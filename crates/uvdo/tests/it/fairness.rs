//! Clients that share the server with others that ask for very much.

use std::io::Read;
use std::time::{Duration, Instant};

use volume::Policy;

use crate::served::{Served, backing_of, sound};
use crate::wire::{connected, error, exported, request};

const TIB: u64 = 1 << 40;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;

#[test]
fn a_read_and_questions_wait_for_none_of_64_discards_of_4_gib_and_neither_does_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing_of(dir.path(), TIB);
    let served = Served::start(&path, dir.path(), Policy::Async);
    let [mut greedy, mut modest] = [(); 2].map(|()| {
        let mut stream = connected(&served);
        assert_eq!(exported(&mut stream).0, TIB);
        stream
    });
    for n in 0..64 {
        let kind = if n % 2 == 0 { TRIM } else { WRITE_ZEROES };
        request(&mut greedy, kind, n << 32, u32::MAX - 4095);
    }
    let mut longest = Duration::ZERO;
    let mut timed = |act: &mut dyn FnMut()| {
        let begun = Instant::now();
        act();
        longest = longest.max(begun.elapsed());
    };
    for n in 0..20 {
        timed(&mut || {
            request(&mut modest, 0, n << 32, 4096);
            assert_eq!(error(&mut modest), 0);
            modest.read_exact(&mut [0; 4096]).unwrap();
        });
        timed(&mut || drop(served.stats()));
    }
    // All of it takes minutes; one of these waits takes some milliseconds on an idle machine.
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    assert!(served.stats()["biosIn"]["discard"].as_u64() > Some(10_000));
    assert_eq!(uvdo::ask(&served.place, "stop").unwrap(), "clean");
    let mut message = Vec::new();
    (0..64).for_each(|_| message.push(error(&mut greedy)));
    assert!(
        message.contains(&108) && message.iter().all(|code| [0, 108].contains(code)),
        "{message:?}"
    );
    sound(&path);
}
