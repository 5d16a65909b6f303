//! Requests that no ordinary client makes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use volume::Policy;

use crate::served::{LOGICAL, Served, backing};

const OPTION: &[u8; 8] = b"IHAVEOPT";

fn connected(served: &Served) -> UnixStream {
    let mut stream = UnixStream::connect(served.place.nbd()).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    stream
}

/// Puts an option; gives the kind and the data of the first reply.
fn option(stream: &mut UnixStream, option: u32, data: &[u8]) -> (u32, Vec<u8>) {
    stream.write_all(OPTION).unwrap();
    stream.write_all(&option.to_be_bytes()).unwrap();
    stream.write_all(&(data.len() as u32).to_be_bytes()).unwrap();
    stream.write_all(data).unwrap();
    let mut head = [0; 20];
    stream.read_exact(&mut head).unwrap();
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut data = vec![0; number(16) as usize];
    stream.read_exact(&mut data).unwrap();
    (number(12), data)
}

fn request(stream: &mut UnixStream, kind: u16, at: u64, length: u32) {
    stream.write_all(&0x2560_9513u32.to_be_bytes()).unwrap();
    stream.write_all(&[0, 0]).unwrap();
    stream.write_all(&kind.to_be_bytes()).unwrap();
    stream.write_all(&9u64.to_be_bytes()).unwrap();
    stream.write_all(&at.to_be_bytes()).unwrap();
    stream.write_all(&length.to_be_bytes()).unwrap();
}

/// The error of a reply without data.
fn error(stream: &mut UnixStream) -> u32 {
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[8..], 9u64.to_be_bytes());
    u32::from_be_bytes(reply[4..8].try_into().unwrap())
}

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
    // By name, as old clients do.
    stream.write_all(OPTION).unwrap();
    stream.write_all(&[0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
    let mut export = [0; 10];
    stream.read_exact(&mut export).unwrap();
    assert_eq!(export[..8], LOGICAL.to_be_bytes());
    request(&mut stream, 0, LOGICAL - 100, 101);
    assert_eq!(error(&mut stream), 22);
    request(&mut stream, 0, u64::MAX - 3, 10);
    assert_eq!(error(&mut stream), 22);
    request(&mut stream, 55, 0, 0);
    assert_eq!(error(&mut stream), 22);
    request(&mut stream, 0, 0, 33 << 20);
    assert_eq!(error(&mut stream), 22);
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
