//! Words of fio, with their counterparts here, for messages to users who wrote a word of fio.

/// Options of fio with their counterparts in a load, as a key with an example or as a sentence; on the command line the keys are options.
const OPTIONS: &[(&str, &str)] = &[
    ("blocksize", BLOCK_SIZE),
    ("blocksize_range", "block_size = \"4k..64k\""),
    ("bs", BLOCK_SIZE),
    ("bsrange", "block_size = \"4k..64k\""),
    ("bssplit", "block_size = \"4k=70,64k=30\""),
    ("blockalign", "align = \"4k\""),
    (
        "buffer_compress_percentage",
        "compress = \"2x\", how far LZ4 compresses a block; it is part of content",
    ),
    ("buffered", "direct = false"),
    ("cpus_allowed", "cpus = \"0-3\""),
    ("dedupe_percentage", "dedupe = \"50%\", which is part of content"),
    ("direct", "direct = false for I/Os through the page cache; else they go past it"),
    ("directory", "the target, which a load names"),
    ("end_fsync", "an operation flush, or sync"),
    ("fdatasync", "sync = \"fdatasync:1\""),
    ("filename", "the target, which a load names"),
    ("fsync", "sync = \"fsync:1\""),
    ("group_reporting", "always so: figures are of all jobs together"),
    ("io_size", "bytes = \"10G\""),
    ("iodepth", "depth = 32"),
    ("iodepth_batch", "batch = 8"),
    ("iodepth_batch_submit", "batch = 8"),
    ("ioengine", "backend = \"io_uring\" (or libaio, sync)"),
    ("loops", "passes = 1"),
    ("norandommap", "pattern = \"random\"; permutation visits each block once"),
    ("number_ios", "ios = 100000"),
    ("numjobs", "jobs = 4"),
    ("percentage_random", "ops = \"read=50,randread=50\""),
    ("ramp_time", "ramp = \"5s\""),
    ("randseed", "seed = 1, of a whole run"),
    ("random_distribution", "pattern = \"zipf:1.2\""),
    ("rate_iops", "limit = \"5000/s\"; rate = \"5000/s\" is an open loop"),
    ("readwrite", OPS),
    ("refill_buffers", "always so: content says what is written"),
    ("runtime", "duration = \"60s\""),
    ("rw", OPS),
    ("rwmixread", OPS),
    ("rwmixwrite", OPS),
    ("thinktime", "think = \"1ms\""),
    ("time_based", "always so with duration = \"60s\""),
    ("write_hist_log", "latency_log = FILE, of fathom load"),
    ("write_iolog", "io_log = FILE, of fathom load"),
    ("write_lat_log", "io_log = FILE, of fathom load"),
    ("zero_buffers", "zero = \"100%\", which is part of content"),
];

const BLOCK_SIZE: &str = "block_size = \"4k\"";
const OPS: &str = "ops = \"randread=70,randwrite=30\"";

/// Values of fio's `rw` with the corresponding operations.
const OPERATIONS: &[(&str, &str)] = &[
    ("randrw", "randread=50,randwrite=50"),
    ("randtrim", "randdiscard"),
    ("readwrite", "read=50,write=50"),
    ("rw", "read=50,write=50"),
    ("trim", "discard"),
];

/// Returns the counterpart of fio's option `word` in a load.
pub fn fio_option(word: &str) -> Option<&'static str> {
    OPTIONS.iter().find(|(fio, _)| *fio == word).map(|(_, here)| *here)
}

/// Returns the operations that correspond to fio's name `word`.
pub(crate) fn fio_operation(word: &str) -> Option<&'static str> {
    OPERATIONS.iter().find(|(fio, _)| *fio == word).map(|(_, here)| *here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadSpec, OpName};

    #[test]
    fn no_word_of_fio_but_one_that_is_no_option_is_a_key_of_a_load_and_each_names_one_that_is() {
        for (fio, here) in OPTIONS {
            // As an option it is --buffered.
            let is_key = |name: &str| name == *fio && name != "direct";
            assert!(!LoadSpec::KEYS.iter().any(|key| is_key(key.name)), "{fio}");
            let Some((key, _)) = here.split_once(" = ") else { continue };
            let key = key.rsplit(' ').next().unwrap();
            let content = ["compress", "dedupe", "zero", "seed", "latency_log", "io_log"];
            let known = LoadSpec::KEYS.iter().any(|known| known.name == key);
            assert!(known || content.contains(&key), "{fio}: {key}");
        }
    }

    #[test]
    fn an_operation_of_fio_is_told_as_the_one_that_it_means() {
        for (fio, here) in OPERATIONS {
            let error = fio.parse::<OpName>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("; write {here}")), "{error}");
            for part in here.split(',') {
                part.split('=').next().unwrap().parse::<OpName>().unwrap();
            }
        }
    }
}
