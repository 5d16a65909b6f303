//! Extracts the kernel from a bzImage: booting it directly (PVH) saves the guest a second of unpacking.

use std::io::Read;

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

use crate::error::Cause;

/// Offset of the setup header's field with the number of 512-byte sectors of setup code that come first.
const SETUP_SECTORS: usize = 0x1f1;
/// The header's magic `HdrS`.
const MAGIC: std::ops::Range<usize> = 0x202..0x206;
/// Offsets of two fields of the header: the place of the compressed kernel, counted from the end of the setup code, and its length.
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// Offset of the field with the place of the text that begins with the release, counted from the end of the boot sector.
const RELEASE: usize = 0x20e;
/// Bytes of the boot sector.
const BOOT_SECTOR: usize = 0x200;

/// Returns the release of the kernel in `bzimage`; an error says why there is none.
pub(super) fn release(bzimage: &[u8]) -> Result<String, Cause> {
    if bzimage.get(MAGIC) != Some(b"HdrS") {
        return Err("is no bzImage".into());
    }
    let [low, high] = [bzimage.get(RELEASE), bzimage.get(RELEASE + 1)];
    let at = usize::from(*low.unwrap_or(&0)) + (usize::from(*high.unwrap_or(&0)) << 8);
    let text = bzimage.get(at + BOOT_SECTOR..).unwrap_or_default();
    let text = text.split(|byte| *byte == 0 || *byte == b' ').next().unwrap_or_default();
    match std::str::from_utf8(text) {
        Ok(text) if at > 0 && text.starts_with(|c: char| c.is_ascii_digit()) => Ok(text.into()),
        _ => Err("does not say its release".into()),
    }
}

/// Returns the uncompressed kernel in `bzimage`; an error says why there is none.
pub(super) fn extract(bzimage: &[u8]) -> Result<Vec<u8>, Cause> {
    if bzimage.get(MAGIC) != Some(b"HdrS") {
        return Err("is no bzImage".into());
    }
    let word = |at: usize| {
        bzimage
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map(|bytes| u32::from_le_bytes(bytes) as usize)
            .ok_or("ends within its header")
    };
    let sectors = match bzimage[SETUP_SECTORS] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + word(PAYLOAD_OFFSET)?;
    let payload = start
        .checked_add(word(PAYLOAD_LENGTH)?)
        .and_then(|end| bzimage.get(start..end))
        .ok_or("ends within its compressed kernel")?;
    let kernel = unpacked(payload)?
        .ok_or("holds a kernel that is compressed neither with zstd, xz nor gzip")?;
    if kernel.starts_with(b"\x7fELF") {
        Ok(kernel)
    } else {
        Err("holds something that is no ELF kernel".into())
    }
}

/// Unpacks a file that is compressed as modules may be; returns any other file as it is.
pub(super) fn unpack(file: Vec<u8>) -> Result<Vec<u8>, Cause> {
    Ok(unpacked(&file)?.unwrap_or(file))
}

/// Returns the content of a file that is compressed with zstd, xz or gzip; `None` for any other file.
fn unpacked(file: &[u8]) -> Result<Option<Vec<u8>>, Cause> {
    let mut out = Vec::new();
    match file {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => StreamingDecoder::new(file)?.read_to_end(&mut out)?,
        [0xfd, b'7', b'z', b'X', b'Z', ..] => XzReader::new(file, false).read_to_end(&mut out)?,
        [0x1f, 0x8b, ..] => GzDecoder::new(file).read_to_end(&mut out)?,
        _ => return Ok(None),
    };
    Ok(Some(out))
}

#[cfg(test)]
/// Returns the head of a kernel that reports this release.
pub(super) fn with_release(release: &str) -> Vec<u8> {
    let mut image = vec![0; 0x600];
    image[MAGIC].copy_from_slice(b"HdrS");
    image[RELEASE..][..2].copy_from_slice(&[0, 1]);
    image[BOOT_SECTOR + 0x100..][..release.len()].copy_from_slice(release.as_bytes());
    image
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn bzimage(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[SETUP_SECTORS] = 1;
        image[MAGIC].copy_from_slice(b"HdrS");
        image[PAYLOAD_OFFSET..][..4].copy_from_slice(&16u32.to_le_bytes());
        image[PAYLOAD_LENGTH..][..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend_from_slice(&[0; 16]);
        image.extend_from_slice(payload);
        image
    }

    #[test]
    fn the_kernel_comes_out_as_it_was_compressed() {
        let kernel = [b"\x7fELF".as_slice(), &[1; 5000]].concat();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&kernel).unwrap();
        assert_eq!(extract(&bzimage(&gzip.finish().unwrap())).unwrap(), kernel);
        // As kernels are compressed: their branches are filtered before.
        let mut options = lzma_rust2::XzOptions::default();
        options.prepend_pre_filter(lzma_rust2::FilterType::BcjX86, 0);
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        xz.write_all(&kernel).unwrap();
        assert_eq!(extract(&bzimage(&xz.finish().unwrap())).unwrap(), kernel);
    }

    #[test]
    fn what_is_no_kernel_is_refused_with_the_reason() {
        assert!(extract(b"#!/bin/sh").unwrap_err().to_string().contains("no bzImage"));
        assert!(extract(&bzimage(b"plain")).unwrap_err().to_string().contains("nor gzip"));
        let mut cut = bzimage(b"\x28\xb5\x2f\xfd and so on");
        cut.truncate(1045);
        assert!(extract(&cut).unwrap_err().to_string().contains("ends within"));
    }
}
