//! Requests that no ordinary client makes.

use std::io::{Read, Write};

use volume::Policy;

use crate::served::{LOGICAL, Served, backing};
use crate::wire::{connected, error, exported, option, request};

#[test]
fn an_old_client_unknown_options_and_other_exports_get_the_answers_of_the_specification() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let served = Served::start(&path, dir.path(), Policy::Async);
    let mut stream = connected(&served);
    let (unsupported, invalid, unknown) = (1 << 31 | 1, 1 << 31 | 3, 1 << 31 | 6);
    assert_eq!(option(&mut stream, 8, &[]).0, unsupported);
    assert_eq!(option(&mut stream, 77, &[1, 2, 3]).0, unsupported);
    assert_eq!(option(&mut stream, 7, &[0, 0, 0, 9, 1, 2]).0, invalid);
    assert_eq!(option(&mut stream, 7, b"\0\0\0\x05other\0\0").0, unknown);
    assert_eq!(option(&mut stream, 3, b"x").0, invalid);
    assert_eq!(exported(&mut stream).0, LOGICAL);
    request(&mut stream, 3, 0, 0);
    assert_eq!(error(&mut stream), 0);
    request(&mut stream, 2, 0, 0);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    served.stop(&path);
}

#[test]
fn clients_that_send_rubbish_or_go_away_in_the_middle_harm_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let served = Served::start(&path, dir.path(), Policy::Async);
    let mut random = units::Seed(4).generator();
    for _ in 0..200 {
        let mut stream = connected(&served);
        if random.below(2) == 0 {
            assert_eq!(option(&mut stream, 7, &[0; 6]).0, 3);
            // The second reply and the third.
            stream.read_exact(&mut [0; 20 + 14 + 20]).unwrap();
            request(&mut stream, random.below(8) as u16, random.below(1 << 31), 1 << 20);
        }
        let rubbish: Vec<u8> = (0..random.below(5000)).map(|_| random.next_u64() as u8).collect();
        let _ = stream.write_all(&rubbish);
    }
    let mut stream = connected(&served);
    assert_eq!(option(&mut stream, 6, &[0; 6]).0, 3);
    served.stop(&path);
}
