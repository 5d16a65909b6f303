//! Requests that no ordinary client makes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use volume::Policy;

use crate::served::{BACKING, LOGICAL, Served, backing};
use crate::wire::{connected, error, exported, flagged, option, request};

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

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const ZEROES: u16 = 6;
const BLOCK_STATUS: u16 = 7;

const EPERM: u32 = 1;
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;

// Flags of requests.
const FUA: u16 = 1;
const NO_HOLE: u16 = 1 << 1;
const DONT_FRAGMENT: u16 = 1 << 2;
const REQ_ONE: u16 = 1 << 3;
const FAST_ZERO: u16 = 1 << 4;
const PAYLOAD_LEN: u16 = 1 << 5;

/// Sends a request with what belongs to it, and gives its error; what comes with a good read is taken too.
fn error_of(stream: &mut UnixStream, flags: u16, kind: u16, at: u64, length: u32) -> u32 {
    flagged(stream, flags, kind, at, length);
    if kind == WRITE {
        stream.write_all(&vec![7; length as usize]).unwrap();
    }
    let error = error(stream);
    if kind == READ && error == 0 {
        stream.read_exact(&mut vec![0; length as usize]).unwrap();
    }
    error
}

#[test]
fn every_request_gets_the_error_that_the_protocol_has_for_it_and_flags_count_as_they_were_offered()
{
    let dir = tempfile::tempdir().unwrap();
    let path = backing(dir.path());
    let served = Served::start(&path, dir.path(), Policy::Async);
    let mut stream = connected(&served);
    let (size, flags) = exported(&mut stream);
    // Flush, FUA, trim, zeros and several connections; neither read-only, nor DF, FAST_ZERO and others.
    assert_eq!((size, flags), (LOGICAL, 0b1_0110_1101));
    let (most, end) = (32 << 20, LOGICAL);
    let always = [
        ("a read to the end", 0, READ, end - 100, 100, 0),
        ("a read past the end", 0, READ, end - 100, 101, EINVAL),
        ("a read far behind the end", 0, READ, u64::MAX - 3, 10, EINVAL),
        ("the longest read", 0, READ, 1, most, 0),
        ("a longer read", 0, READ, 0, most + 1, EINVAL),
        ("a read of nothing", 0, READ, 5, 0, 0),
        ("a read of nothing behind the end", 0, READ, end + 1, 0, EINVAL),
        ("a read with FUA", FUA, READ, 0, 10, 0),
        ("a read in one piece, which is not offered", DONT_FRAGMENT, READ, 0, 10, EINVAL),
        ("a read with the flag of another command", NO_HOLE, READ, 0, 10, EINVAL),
        ("a flush", 0, FLUSH, 0, 0, 0),
        ("a flush with FUA", FUA, FLUSH, 0, 0, 0),
        ("a flush of a place", 0, FLUSH, 4096, 0, EINVAL),
        ("a flush of a length", 0, FLUSH, 0, 4096, EINVAL),
        ("a write with the flag of another command", NO_HOLE, WRITE, 0, 10, EINVAL),
        ("a write with a length of its data", PAYLOAD_LEN, WRITE, 0, 10, EINVAL),
        ("a write with a flag that nobody knows", 1 << 15, WRITE, 0, 4096, EINVAL),
        ("a write past the end", 0, WRITE, end - 100, 101, ENOSPC),
        ("a write far behind the end", 0, WRITE, u64::MAX - 3, 10, ENOSPC),
        ("a trim past the end", 0, TRIM, end - 4096, 8192, EINVAL),
        ("a trim with the flag of another command", NO_HOLE, TRIM, 0, 4096, EINVAL),
        ("zeros past the end", 0, ZEROES, end - 4096, 8192, ENOSPC),
        ("fast zeros, which are not offered", FAST_ZERO, ZEROES, 0, 4096, EINVAL),
        ("a command that is not offered", 0, CACHE, 0, 4096, EINVAL),
        ("another one", REQ_ONE, BLOCK_STATUS, 0, 4096, EINVAL),
        ("a command that nobody knows", 0, 55, 0, 0, EINVAL),
    ];
    let changes = [
        ("a write to the end", 0, WRITE, end - 100, 100),
        ("the longest write", FUA, WRITE, 0, most),
        ("a write of nothing", 0, WRITE, 5, 0),
        ("a trim to the end", FUA, TRIM, end - 4096, 4096),
        ("a trim of a part of a block", 0, TRIM, 10, 100),
        ("a trim of nothing", 0, TRIM, 0, 0),
        ("a trim that is longer than a write may be", 0, TRIM, 0, 4 * most),
        ("zeros in all forms", FUA | NO_HOLE, ZEROES, 100, 10_000),
        ("zeros of nothing", 0, ZEROES, 100, 0),
    ];
    for (what, flags, kind, at, length, error) in always {
        assert_eq!(error_of(&mut stream, flags, kind, at, length), error, "{what}");
    }
    for (what, flags, kind, at, length) in changes {
        assert_eq!(error_of(&mut stream, flags, kind, at, length), 0, "{what}");
    }
    served.stop(&path);
    // A volume that lost something is read-only from then on, and at its next start.
    let served = Served::start(&path, dir.path(), Policy::Async);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(BACKING - 4096).unwrap();
    assert!(uvdo::ask(&served.place, "status").unwrap().contains("cut short"));
    assert!(uvdo::ask(&served.place, "stop").unwrap().starts_with("read-only"));
    served.ended();
    file.set_len(BACKING).unwrap();
    let served = Served::start(&path, dir.path(), Policy::Async);
    let mut stream = connected(&served);
    assert_eq!(exported(&mut stream), (LOGICAL, flags | 0b10));
    for (what, flags, kind, at, length) in changes {
        assert_eq!(error_of(&mut stream, flags, kind, at, length), EPERM, "{what}");
    }
    assert_eq!(error_of(&mut stream, 0, READ, 0, 4096), 0);
    assert_eq!(uvdo::ask(&served.place, "stop").unwrap(), "read-only");
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
