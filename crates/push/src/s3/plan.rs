//! The parts of an upload, and the marks (ETag) by which a store tells them: MD5 of a part, or MD5 of the parts' MD5s with their number.

use std::io;

use md5::{Digest, Md5};
use sha2::Sha256;

use crate::package::{Package, each_chunk, hex};

/// Smallest part, bytes; a result up to this size is sent in one piece.
const PART: u64 = 8 << 20;
/// Parts grow by this, bytes.
const STEP: u64 = 1 << 20;
/// Most parts that S3 takes.
const MOST: u64 = 10_000;

/// The parts of a package. The same bytes always have the same parts, so that another push finds what an earlier one sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Size of every part but the last, bytes.
    pub part: u64,
    /// MD5 of each part.
    pub sums: Vec<[u8; 16]>,
    /// MD5 of the whole.
    pub sum: [u8; 16],
    /// SHA-256 of the whole, hexadecimal.
    pub sha256: String,
}

/// Returns the size of the parts of so many bytes.
fn part_size(bytes: u64) -> u64 {
    PART.max(bytes.div_ceil(MOST).next_multiple_of(STEP))
}

impl Plan {
    /// Reads a package.
    pub(crate) fn of(package: &Package, from: impl io::Read) -> io::Result<Self> {
        let part = part_size(package.bytes);
        let (mut all, mut one, mut left, mut sums) = (Md5::new(), Md5::new(), part, Vec::new());
        let mut sha256 = Sha256::new();
        each_chunk(from, |mut chunk| {
            all.update(chunk);
            sha256.update(chunk);
            while !chunk.is_empty() {
                let most = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
                let (now, rest) = chunk.split_at(most);
                one.update(now);
                left -= most as u64;
                chunk = rest;
                if left == 0 {
                    sums.push(one.finalize_reset().into());
                    left = part;
                }
            }
            Ok(())
        })?;
        if left < part || sums.is_empty() {
            sums.push(one.finalize().into());
        }
        Ok(Self { part, sums, sum: all.finalize().into(), sha256: hex(&sha256.finalize()) })
    }

    /// Tells whether it is sent in one piece.
    pub(crate) fn is_one(&self) -> bool {
        self.sums.len() == 1
    }

    /// Tells whether an object with this mark surely has these bytes.
    pub(crate) fn is(&self, etag: &str) -> bool {
        let parts = hex(&Md5::digest(self.sums.concat()));
        let etag = bare(etag);
        etag == hex(&self.sum) || etag == format!("{parts}-{}", self.sums.len())
    }

    /// Tells whether the part of this number, from 1, has this mark.
    pub(crate) fn is_part(&self, number: u16, etag: &str) -> bool {
        let sum = usize::from(number).checked_sub(1).and_then(|at| self.sums.get(at));
        sum.is_some_and(|sum| hex(sum) == bare(etag))
    }
}

fn bare(etag: &str) -> &str {
    etag.trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(bytes: &[u8]) -> Plan {
        let package = Package {
            path: "p".into(),
            name: "p".into(),
            bytes: bytes.len() as u64,
            sha256: String::new(),
        };
        Plan::of(&package, bytes).unwrap()
    }

    #[test]
    fn parts_are_those_of_the_bytes_and_never_too_many() {
        assert_eq!(part_size(0), PART);
        for bytes in [PART, 10_000 * PART, 10_000 * PART + 1, 5 << 40] {
            assert!(bytes.div_ceil(part_size(bytes)) <= MOST, "{bytes}");
        }
        let bytes: Vec<u8> = (0..PART * 2 + 5).map(|i| (i % 251) as u8).collect();
        for (length, parts) in
            [(0, 1), (5, 1), (PART, 1), (PART + 1, 2), (PART * 2, 2), (PART * 2 + 5, 3)]
        {
            assert_eq!(plan(&bytes[..length as usize]).sums.len(), parts, "{length}");
        }
        let all = plan(&bytes);
        assert!(all.is_part(3, &format!("\"{}\"", hex(&Md5::digest(&bytes[PART as usize * 2..])))));
        assert!(!all.is_part(0, "") && !all.is_part(4, ""));
    }

    #[test]
    fn the_mark_of_a_whole_is_known_however_it_was_sent() {
        // MD5 of "abc" from RFC 1321.
        let abc = plan(b"abc");
        assert!(abc.is("\"900150983cd24fb0d6963f7d28e17f72\""));
        assert!(!abc.is("900150983cd24fb0d6963f7d28e17f73"));
        let once = hex(&Md5::digest(Md5::digest(b"abc")));
        assert!(abc.is(&format!("{once}-1")) && !abc.is(&format!("{once}-2")));
    }
}
