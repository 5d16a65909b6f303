//! The generator's bytes on standard output, for programs that look for structure in them, or the fingerprint of so many bytes.
//!
//! `cargo run --release -p content --example stream -- PATH IDS BYTES [digest]`, for instance
//! `... -- vaes-512 strided 32 digest`: PATH as `fathom-bench content` names it (or `best`), IDS `dense` (1, 2, 3, ...) or
//! `strided` (2^40 + 1 apart, from the upper half of all ids), BYTES in GiB (0: for ever).

use std::io::{Error, ErrorKind, Result, Write};

use content::{BlockLayout, ContentId, Generator, Path};

/// Bytes of a block.
const BLOCK: usize = 4096;
/// Blocks that are made, then written, at a time.
const BLOCKS: usize = 64;

fn id_of(strided: bool, n: u64) -> ContentId {
    ContentId(if strided {
        (1u64 << 63).wrapping_add(n.wrapping_mul((1 << 40) + 1))
    } else {
        n + 1
    })
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{what}; help: PATH dense|strided GIB [digest]"))
}

fn main() -> Result<()> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let word = |n: usize| words.get(n).map_or("", String::as_str);
    let path = match word(0) {
        "best" => Path::best(),
        name => Path::available()
            .iter()
            .copied()
            .find(|path| path.name() == name)
            .ok_or_else(|| wrong("this processor has no such path"))?,
    };
    let strided = match word(1) {
        "dense" => false,
        "strided" => true,
        _ => return Err(wrong("no such ids")),
    };
    let gib: u64 = word(2).parse().map_err(|_| wrong("no such size"))?;
    let blocks = if gib == 0 { u64::MAX } else { (gib << 30) / BLOCK as u64 };
    let generator = Generator::with_path(path);
    let mut buffer = vec![0u8; BLOCK * BLOCKS];
    let mut prints = 0u128;
    let mut out = std::io::stdout().lock();
    for first in (0..blocks).step_by(BLOCKS) {
        for (n, block) in buffer.chunks_mut(BLOCK).enumerate() {
            generator.fill(id_of(strided, first + n as u64), BlockLayout::head(BLOCK), block);
        }
        if word(3) == "digest" {
            // Order counts: each fingerprint is turned before the next is added.
            prints = prints.rotate_left(7).wrapping_add(reduce::Fingerprint::of(&buffer).0);
        } else if let Err(error) = out.write_all(&buffer) {
            let closed = error.kind() == ErrorKind::BrokenPipe;
            return if closed { Ok(()) } else { Err(error) };
        }
    }
    if word(3) == "digest" {
        writeln!(out, "{} {} {gib} GiB {prints:032x}", path.name(), word(1))?;
    }
    Ok(())
}
