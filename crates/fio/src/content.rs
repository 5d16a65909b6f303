//! Content: the meaning of its options, and the content that fio really writes.

use crate::Problem;
use crate::ini::{Entry, Section};
use crate::job::Job;

/// Bytes of VDO's block that fragments can take.
const ROOM: f64 = 4060.0;
/// The most fragments of a block.
const MAX_FRAGMENTS: f64 = 14.0;

/// Returns the share that VDO's packer saves on blocks in which fio fills `percent` percent of every 512 bytes with zeros, percent. LZ4 makes
/// of such a block its random bytes and some 50 more (measured with fio 3.33 at 10 to 99 %).
fn packed(percent: u64) -> f64 {
    let fragment = 4096.0 * (1.0 - percent as f64 / 100.0) + 50.0;
    let slots = (ROOM / fragment).floor().min(MAX_FRAGMENTS);
    if slots < 2.0 { 0.0 } else { 100.0 * (1.0 - 1.0 / slots) }
}

pub(crate) fn content(section: &Section, job: &mut Job) -> Result<(), Problem> {
    if job.writes {
        return written(section, job);
    }
    // For a job that only reads, content matters where its file is written first.
    let mut of_files = Job::default();
    written(section, &mut of_files)?;
    job.laid_out = of_files.settings;
    Ok(())
}

fn written(section: &Section, job: &mut Job) -> Result<(), Problem> {
    let truth = |name| section.truth(name);
    let percent = |name| section.last(&[name]).map_or(Ok(0), Entry::percent);
    let (duplicates, compressed) =
        (percent("dedupe_percentage")?, percent("buffer_compress_percentage")?);
    if truth("zero_buffers")? || compressed == 100 {
        job.content("zero", "100%");
        if compressed == 100 {
            job.in_fio.push("buffer_compress_percentage=100 writes blocks of zeros, which VDO does not store at all: that does not test compression".to_owned());
        }
        return Ok(());
    }
    if duplicates > 0 {
        job.content("dedupe", format!("{duplicates}%"));
        job.in_fio.push(format!("fio repeats the block it wrote just before ({duplicates} % of the I/Os, whole I/Os): VDO finds such duplicates in flight, without its index; here they are blocks written some time before, of 4 KiB each"));
        if duplicates == 100 {
            job.in_fio.push("dedupe_percentage=100 makes blocks of one repeated segment of 512 bytes, which compress as well".to_owned());
        }
    }
    if compressed > 0 {
        job.content("compress", format!("{compressed}%"));
        job.in_fio.push(format!("every block of fio's compresses alike: VDO's packer saves {:.0} % at buffer_compress_percentage={compressed} (nothing up to 51, half from 52 on); a spread, as in --compress 1.5x..4x, is like real data", packed(compressed)));
    }
    let refilled = truth("refill_buffers")? || compressed > 0 || duplicates > 0;
    if !refilled {
        job.in_fio.push("without refill_buffers fio writes the same random buffers again and again, with 24 bytes changed in every 512: LZ4 saves 5 % of blocks of 4 KiB, and 93 % of the 128 KiB that btrfs and ZFS compress; here no two blocks are alike, and none compresses".to_owned());
    }
    let repeats = section.last(&["randrepeat", "allrandrepeat"]).map_or(Ok(true), Entry::truth)?;
    if repeats && section.last(&["randseed"]).is_none() {
        job.in_fio.push("run again, fio writes the same bytes: on a volume that still holds them everything is a duplicate (randrepeat=0 changes that); here every run writes new bytes".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::packed;

    #[test]
    fn the_packer_saves_what_was_measured_on_data_of_fio() {
        let measured = [
            (10, 0.0),
            (50, 0.0),
            (51, 0.0),
            (52, 50.0),
            (55, 50.0),
            (60, 50.0),
            (75, 66.7),
            (90, 87.5),
            (95, 92.9),
            (99, 92.9),
        ];
        for (wanted, saved) in measured {
            assert!((packed(wanted) - saved).abs() < 0.1, "{wanted}: {}", packed(wanted));
        }
    }
}
