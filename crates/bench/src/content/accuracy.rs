//! Asked against achieved content: files written by Fathom's generator and by fio, examined by the same code.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use content::{ContentSpec, Contents, Part};
use reduce::{BLOCK, Fingerprint, LARGEST_FRAGMENT, Lz4, Packer, is_zero};
use serde::{Deserialize, Serialize};
use sys::interrupt::{Interrupt, Level};
use units::{Percent, Seed};

use crate::BenchError;
use crate::child::{Line, run};
use crate::content::grid::Ask;
use crate::fio::Fio;

/// Measured duplicates and savings of a file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Blocks of 4096 bytes.
    pub blocks: u64,
    /// Zero blocks, percent of all.
    pub zero_percent: f64,
    /// Blocks whose bytes came before, percent of all; zero blocks are neither unique nor duplicates.
    pub duplicate_percent: f64,
    /// Saving of the kernel's LZ4 on the distinct blocks, percent.
    pub lz4_percent: Option<f64>,
    /// Saving of VDO's packer on the distinct blocks in the order of the file, simulated, percent.
    pub packer_percent: Option<f64>,
    /// Saving of duplicates, packer and zero blocks together, percent.
    pub saving_percent: f64,
}

/// One ask, and the contents that were written for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// The ask. fio knows no packer: it is asked to compress by as much.
    pub ask: Ask,
    /// Figures of the file that Fathom's generator wrote.
    pub fathom: Found,
    /// Figures of the file that fio wrote.
    pub fio: Option<Found>,
}

impl Accuracy {
    /// Returns the distance of the written content from the ask, percentage points: that of the duplicates or of the packer's saving, whichever is
    /// larger.
    pub fn error_points(&self, found: &Found) -> f64 {
        let packer = found.packer_percent.unwrap_or(0.0) - self.ask.packer_percent;
        (found.duplicate_percent - self.ask.duplicate_percent).abs().max(packer.abs())
    }
}

/// Writes `bytes` for every ask into a file in `folder`, which is removed again, and looks at it.
///
/// # Errors
/// When the file cannot be written or read, when fio fails, or on an interrupt.
pub fn measure(
    asks: &[Ask],
    bytes: u64,
    fio: Option<&Fio>,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<Accuracy>, BenchError> {
    let path = folder.join("content");
    let file = |source| BenchError::Content { path: path.clone(), source };
    let mut answer = Vec::new();
    for &ask in asks {
        if interrupt.level() != Level::None {
            return Err(BenchError::Interrupted);
        }
        write(ask, bytes, &path).map_err(file)?;
        let fathom = look(&path).map_err(file)?;
        let theirs = match fio {
            None => None,
            Some(fio) => {
                std::fs::remove_file(&path).map_err(file)?;
                run(&line(fio, ask, bytes, &path), interrupt)?;
                Some(look(&path).map_err(file)?)
            }
        };
        std::fs::remove_file(&path).map_err(file)?;
        answer.push(Accuracy { ask, fathom, fio: theirs });
    }
    Ok(answer)
}

fn write(ask: Ask, bytes: u64, path: &Path) -> std::io::Result<()> {
    let spec = ContentSpec {
        dedupe: Percent(ask.duplicate_percent),
        vdo_saving: Some(Percent(ask.packer_percent)).filter(|saving| saving.0 > 0.0),
        ..ContentSpec::default()
    };
    let part = Part { generator: 0, jobs: 1, blocks: bytes / BLOCK as u64 };
    let contents = Contents::new(&spec, Seed(1), part).map_err(std::io::Error::other)?;
    let mut source = contents.source(0);
    let mut out = BufWriter::new(File::create(path)?);
    let mut buffer = vec![0; 16 * BLOCK];
    for _ in 0..bytes / buffer.len() as u64 {
        source.fill_next(&mut buffer);
        out.write_all(&buffer)?;
    }
    out.flush()
}

fn line(fio: &Fio, ask: Ask, bytes: u64, path: &Path) -> Line {
    let mut arguments: Vec<String> =
        ["--name=bench", "--thread", "--ioengine=psync", "--rw=write", "--bs=4k"]
            .map(str::to_owned)
            .into();
    arguments.push(format!("--size={bytes}"));
    arguments.push(format!("--filename={}", path.display()));
    arguments.push("--refill_buffers=1".into());
    arguments.push(format!("--dedupe_percentage={}", ask.duplicate_percent));
    arguments.push(format!("--buffer_compress_percentage={}", ask.packer_percent));
    Line::new(&fio.path, arguments)
}

/// Looks at every block of a file.
fn look(path: &Path) -> std::io::Result<Found> {
    let mut input = BufReader::with_capacity(1 << 20, File::open(path)?);
    let (mut blocks, mut zero, mut lz4_bytes) = (0u64, 0u64, 0u64);
    let (mut seen, mut lz4, mut packer) = (HashSet::new(), Lz4::new(), Packer::new());
    let mut block = [0; BLOCK];
    loop {
        match input.read_exact(&mut block) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
        blocks += 1;
        if is_zero(&block) {
            zero += 1;
        } else if seen.insert(Fingerprint::of(&block).0) {
            let size = lz4.size(&block).map_err(std::io::Error::other)?;
            lz4_bytes += size as u64;
            packer.add(if size > LARGEST_FRAGMENT { BLOCK } else { size });
        }
    }
    let unique = seen.len() as u64;
    let packed = packer.finish();
    let percent = |part: u64| if blocks == 0 { 0.0 } else { 100.0 * part as f64 / blocks as f64 };
    Ok(Found {
        blocks,
        zero_percent: percent(zero),
        duplicate_percent: percent(blocks - zero - unique),
        lz4_percent: (unique > 0)
            .then(|| 100.0 * (1.0 - lz4_bytes as f64 / (unique * BLOCK as u64) as f64)),
        packer_percent: packed.saving_percent(),
        saving_percent: percent(blocks - packed.physical_blocks()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::grid::grid;

    #[test]
    fn what_the_generator_writes_is_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let asks = grid(&[0.0, 75.0], &[0.0, 66.0]);
        let never = Interrupt::new();
        let answer = measure(&asks, 32 << 20, None, folder.path(), &never).unwrap();
        for cell in &answer {
            assert_eq!(cell.fathom.blocks, 8192);
            assert!(cell.error_points(&cell.fathom) < 0.5, "{cell:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_taken_apart_block_by_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made");
        let mut bytes = vec![0; 3 * BLOCK];
        bytes[BLOCK..].fill(7);
        std::fs::write(&path, bytes).unwrap();
        let found = look(&path).unwrap();
        assert_eq!(found.blocks, 3);
        assert!((found.zero_percent - 100.0 / 3.0).abs() < 1e-9);
        assert!((found.duplicate_percent - 100.0 / 3.0).abs() < 1e-9);
        assert!(found.lz4_percent.unwrap() > 99.0);
        assert_eq!(found.packer_percent, Some(0.0), "one fragment has no company");
    }
}
