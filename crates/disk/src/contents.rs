//! The contents of a disk as bytes, so that another process can go on with what one process served.
//!
//! Eight letters, the size, the pages of the medium, the versions that are not safe, and a CRC-32 over everything.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use units::{Bytes, Seed};

use crate::store::{Cut, CutStats, SECTOR, SavedPage, Store};

/// Bytes that are read or written at once.
const BUFFER: usize = 1 << 20;
const MAGIC: &[u8; 8] = b"FATHOMDC";
/// Precedes a page of the medium.
const MEDIUM: u8 = 1;
/// Precedes a version that is not safe.
const VERSION: u8 = 2;
/// Follows the last page.
const END: u8 = 0;

/// Writes everything that `store` holds.
///
/// # Errors
/// When `to` cannot be written.
pub fn save(store: &Store, to: impl Write) -> io::Result<()> {
    let mut to = Summed { inner: to, sum: crc32fast::Hasher::new() };
    to.write_all(MAGIC)?;
    to.write_all(&store.size().to_le_bytes())?;
    for SavedPage { sector, version, page } in store.pages() {
        to.write_all(&[if version.is_some() { VERSION } else { MEDIUM }])?;
        to.write_all(&sector.to_le_bytes())?;
        to.write_all(&version.unwrap_or_default().to_le_bytes())?;
        to.write_all(&[u8::from(page.is_some())])?;
        page.map_or(Ok(()), |page| to.write_all(page))?;
    }
    to.write_all(&[END])?;
    let sum = to.sum.clone().finalize();
    to.inner.write_all(&sum.to_le_bytes())?;
    to.inner.flush()
}

/// Reads what [`save`] wrote: a store that holds at most `most` bytes.
///
/// # Errors
/// When it cannot be read, is damaged, or belongs to a disk whose size is not `size` bytes.
pub fn load(from: impl Read, size: u64, most: Bytes) -> io::Result<Store> {
    let bad = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut from = Summed { inner: from, sum: crc32fast::Hasher::new() };
    if &number::<8>(&mut from)? != MAGIC {
        return Err(bad("these are not the contents of a disk"));
    }
    if u64::from_le_bytes(number(&mut from)?) != size {
        return Err(bad("they are of a disk of another size"));
    }
    let mut store = Store::new(size, most);
    loop {
        let kind = number::<1>(&mut from)?;
        if kind == [END] {
            break;
        }
        let sector = u64::from_le_bytes(number(&mut from)?);
        let version = u64::from_le_bytes(number(&mut from)?);
        let page = match number::<1>(&mut from)? {
            [0] => None,
            _ => Some(Box::new(number::<SECTOR>(&mut from)?)),
        };
        let version = (kind == [VERSION]).then_some(version);
        if sector >= size.div_ceil(SECTOR as u64) || !store.restore(sector, version, page) {
            return Err(bad("a page lies beyond the disk"));
        }
    }
    let sum = from.sum.clone().finalize();
    let mut stored = [0; 4];
    from.inner.read_exact(&mut stored)?;
    if u32::from_le_bytes(stored) == sum { Ok(store) } else { Err(bad("the checksum is wrong")) }
}

/// Cuts the power of a disk whose contents are in `file`, which holds what is left afterwards. An empty file is an empty disk.
///
/// # Errors
/// As [`save`] and [`load`].
pub fn cut_power(
    file: &mut File,
    (size, most): (u64, Bytes),
    cut: Cut,
    seed: Seed,
) -> io::Result<CutStats> {
    if file.metadata()?.len() == 0 {
        return Ok(CutStats::default());
    }
    file.rewind()?;
    let mut store = load(BufReader::with_capacity(BUFFER, &mut *file), size, most)?;
    let stats = store.cut(cut, seed);
    file.rewind()?;
    file.set_len(0)?;
    save(&store, BufWriter::with_capacity(BUFFER, file))?;
    Ok(stats)
}

/// A reader or writer that computes the checksum of what passes.
struct Summed<T> {
    inner: T,
    sum: crc32fast::Hasher,
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn number<const N: usize>(from: &mut Summed<impl Read>) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.inner.read_exact(&mut bytes)?;
    from.sum.update(&bytes);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Store {
        let mut store = Store::new(1 << 20, Bytes(1 << 20));
        store.write(1, 4096, &[1; 8192]).unwrap();
        store.stable(0, 1 << 20, 1);
        store.write(2, 8192, &[2; 4096]).unwrap();
        store.write(3, 8192, &[3; 4096]).unwrap();
        store.discard(4, 4096, 4096).unwrap();
        store
    }

    fn all(store: &Store) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 20];
        store.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_a_disk_held_is_read_back_and_what_was_not_safe_is_not_safe_then_either() {
        let store = store();
        let mut bytes = Vec::new();
        save(&store, &mut bytes).unwrap();
        let read = load(&bytes[..], 1 << 20, Bytes(1 << 20)).unwrap();
        assert!(all(&read) == all(&store));
        assert_eq!((read.held(), read.volatile()), (store.held(), store.volatile()));
        let none = Cut { keep: 0.0, drop: 1.0, tear: 0.0 };
        let (mut one, mut two) = (store, read);
        let lost = one.cut(none, Seed(1));
        assert_eq!((lost.at_risk, lost.lost), (3 * 4096, 3 * 4096));
        assert_eq!(two.cut(none, Seed(1)), lost);
        assert!(all(&one) == all(&two));
        assert_eq!(all(&one)[8192], 1, "what was safe is there");
    }

    #[test]
    fn the_power_of_a_disk_is_cut_in_its_file() {
        let mut file = tempfile::tempfile().unwrap();
        let size = (1 << 20, Bytes(1 << 20));
        let none = Cut { keep: 0.0, drop: 1.0, tear: 0.0 };
        assert_eq!(cut_power(&mut file, size, none, Seed(1)).unwrap(), CutStats::default());
        save(&store(), &mut file).unwrap();
        assert_eq!(cut_power(&mut file, size, none, Seed(1)).unwrap().lost, 3 * 4096);
        file.rewind().unwrap();
        let left = load(&mut file, size.0, size.1).unwrap();
        assert_eq!((left.volatile(), left.held(), all(&left)[8192]), (Bytes(0), Bytes(8192), 1));
    }

    #[test]
    fn what_is_damaged_or_of_another_disk_is_refused() {
        let mut bytes = Vec::new();
        save(&store(), &mut bytes).unwrap();
        assert!(load(&bytes[..], 1 << 21, Bytes(1 << 20)).is_err());
        for at in [0, 20, 30, bytes.len() - 2] {
            let mut other = bytes.clone();
            other[at] ^= 0x40;
            assert!(load(&other[..], 1 << 20, Bytes(1 << 20)).is_err(), "{at}");
            assert!(load(&bytes[..at], 1 << 20, Bytes(1 << 20)).is_err(), "{at}");
        }
    }
}
