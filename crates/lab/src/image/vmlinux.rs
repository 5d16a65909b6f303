//! The kernel itself out of a bzImage: booted directly (PVH) it spares the guest a second of unpacking itself.

use std::io::Read;

/// Offset of the setup header's field with the number of 512-byte sectors of setup code that come first.
const SETUP_SECTORS: usize = 0x1f1;
/// The header's magic `HdrS`.
const MAGIC: std::ops::Range<usize> = 0x202..0x206;
/// Offsets of two fields of the header: the place of the compressed kernel, counted from the end of the setup code, and its length.
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// The uncompressed kernel in `bzimage`, or why there is none.
pub(super) fn extract(bzimage: &[u8]) -> Result<Vec<u8>, String> {
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
    let kernel = match payload {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => unpack_zstd(payload)?,
        [0xfd, b'7', b'z', b'X', b'Z', ..] => unpack_xz(payload)?,
        _ => return Err("holds a kernel that is compressed neither with zstd nor with xz".into()),
    };
    if kernel.starts_with(b"\x7fELF") {
        Ok(kernel)
    } else {
        Err("holds something that is no ELF kernel".into())
    }
}

fn unpack_zstd(payload: &[u8]) -> Result<Vec<u8>, String> {
    let mut kernel = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(payload)
        .map_err(|error| error.to_string())?
        .read_to_end(&mut kernel)
        .map_err(|error| error.to_string())?;
    Ok(kernel)
}

/// Unpacks an xz stream, as kernels and modules are compressed with.
pub(super) fn unpack_xz(mut stream: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    lzma_rs::xz_decompress(&mut stream, &mut out).map_err(|error| format!("{error:?}"))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
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
        let mut payload = Vec::new();
        lzma_rs::xz_compress(&mut kernel.as_slice(), &mut payload).unwrap();
        assert_eq!(extract(&bzimage(&payload)).unwrap(), kernel);
    }

    #[test]
    fn what_is_no_kernel_is_refused_with_the_reason() {
        assert!(extract(b"#!/bin/sh").unwrap_err().contains("no bzImage"));
        assert!(extract(&bzimage(b"plain")).unwrap_err().contains("neither"));
        let mut cut = bzimage(b"\x28\xb5\x2f\xfd and so on");
        cut.truncate(1045);
        assert!(extract(&cut).unwrap_err().contains("ends within"));
    }
}
