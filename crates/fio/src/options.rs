//! Every option of fio that is known, with what becomes of it.

use crate::Problem;
use crate::ini::Section;

/// The fate of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Translated, by the part that reads it.
    Done,
    /// Without effect on what is measured, with the reason, for the user.
    Idle(&'static str),
    /// Without counterpart here, with the remedy.
    Not(&'static str),
}

use Role::{Done, Idle, Not};

const ALWAYS: &str = "always so here";
const REPORTS: &str = "figures are reported in Fathom's own way, with every percentile";
const ROWS: &str = "rows of each interval are in the output of --json";
const LAID_OUT: &str = "files that are missing are written first, and measured afterwards";
const FRESH: &str =
    "content comes from a fresh seed for each run, and is never written alike twice";
const NO_PROGRAMS: &str = "run the program before or after fathom fio";
const ONE_FILE: &str = "give each file with filename=A:B";
const DEVICE: &str = "take it out; Fathom has no such mode";
const VERIFY: &str =
    "take it out: verify checks every block that was written, from its address and its history";

pub(crate) const OPTIONS: &[(&str, Role)] = &[
    ("allow_file_create", Idle(LAID_OUT)),
    ("allow_mounted_write", Idle("Fathom writes to nothing that is mounted")),
    ("allrandrepeat", Idle(FRESH)),
    ("ba", Done),
    ("blockalign", Done),
    ("blocksize", Done),
    ("blocksize_range", Done),
    ("bs", Done),
    ("bs_unaligned", Not(DEVICE)),
    ("bsrange", Done),
    ("bssplit", Done),
    ("buffer_compress_chunk", Idle("content counts in blocks of 4 KiB")),
    ("buffer_compress_percentage", Done),
    (
        "buffer_pattern",
        Not("say how the data reduces: dedupe_percentage, buffer_compress_percentage"),
    ),
    ("buffered", Done),
    ("bwavgtime", Idle(REPORTS)),
    ("clat_percentiles", Idle(REPORTS)),
    ("clocksource", Idle("Fathom checks its clock and says which it is")),
    ("cpus_allowed", Done),
    ("cpus_allowed_policy", Idle("workers may run on each of the CPUs")),
    ("create_on_open", Idle(LAID_OUT)),
    (
        "create_only",
        Not("run it without; fathom load FILE --ops write=100 --passes 1 writes a file"),
    ),
    ("create_serialize", Idle(LAID_OUT)),
    ("dedupe_global", Idle("duplicates are those of a job's own blocks")),
    ("dedupe_mode", Idle("originals are blocks written recently, as --dedupe-distance can say")),
    ("dedupe_percentage", Done),
    ("dedupe_working_set_percentage", Idle("originals are blocks written recently")),
    ("description", Idle("a description")),
    ("direct", Done),
    ("directory", Done),
    ("disable_bw_measurement", Idle(REPORTS)),
    ("disable_clat", Idle(REPORTS)),
    ("disable_lat", Idle(REPORTS)),
    ("disable_slat", Idle(REPORTS)),
    ("disk_util", Idle(REPORTS)),
    ("do_verify", Done),
    (
        "end_fsync",
        Not(
            "write fsync=N in its place, or take it out: then no figure covers what is still in the page cache",
        ),
    ),
    ("eta", Idle(REPORTS)),
    ("exec_postrun", Not(NO_PROGRAMS)),
    ("exec_prerun", Not(NO_PROGRAMS)),
    ("exitall", Idle("one load ends at once")),
    ("fallocate", Idle(LAID_OUT)),
    ("fdatasync", Done),
    ("file_append", Not("take it out, and say where with offset")),
    ("file_service_type", Idle("I/Os go to all files alike")),
    ("filename", Done),
    ("filename_format", Not(ONE_FILE)),
    ("filesize", Done),
    ("fill_device", Not("take it out: a pass fills what size says")),
    ("fsync", Done),
    ("fsync_on_close", Not("write fsync=N in its place, or take it out")),
    ("group_reporting", Idle("figures are of all jobs together; --per-job has each")),
    ("gtod_reduce", Idle(REPORTS)),
    ("hipri", Not(DEVICE)),
    ("invalidate", Idle("reads past the page cache need none")),
    ("io_limit", Done),
    ("io_size", Done),
    ("iodepth", Done),
    ("iodepth_batch", Done),
    ("iodepth_batch_complete_max", Idle("completions are taken as they come")),
    ("iodepth_batch_complete_min", Not("take it out: completions are taken as they come")),
    ("iodepth_batch_submit", Done),
    ("iodepth_low", Not("take it out: the depth is kept full")),
    ("ioengine", Done),
    ("lat_percentiles", Idle(REPORTS)),
    ("latency_target", Not("fathom load --rate, at several rates, finds the knee")),
    ("log_avg_msec", Done),
    ("log_hist_msec", Done),
    ("log_offset", Idle(ROWS)),
    ("log_unix_epoch", Idle(ROWS)),
    ("loops", Done),
    ("max_latency", Not("take it out: every latency is kept, and the longest are named")),
    ("name", Idle("the name stands in brackets")),
    ("nice", Not("run it under nice")),
    ("norandommap", Done),
    ("nrfiles", Done),
    ("number_ios", Done),
    ("numjobs", Done),
    ("offset", Done),
    ("offset_increment", Not("fathom load --share parts gives each job its part of the range")),
    ("overwrite", Idle(LAID_OUT)),
    ("per_job_logs", Idle("fathom load --per-job has the figures of each job")),
    ("percentage_random", Done),
    ("percentile_list", Idle(REPORTS)),
    ("pre_read", Not("take it out, or read the file before")),
    ("prio", Not("run it under ionice")),
    ("prioclass", Not("run it under ionice")),
    ("ramp_time", Done),
    ("random_distribution", Done),
    ("random_generator", Idle("places come from permutations that need no map")),
    ("randrepeat", Idle(FRESH)),
    ("randseed", Idle(FRESH)),
    ("rate", Done),
    ("rate_iops", Done),
    ("rate_min", Not("take it out: a load says if it did not keep its rate")),
    ("rate_process", Done),
    ("read_iolog", Not("fathom disk replay drives a modelled disk from a trace")),
    ("readwrite", Done),
    ("refill_buffers", Idle(ALWAYS)),
    ("registerfiles", Idle(ALWAYS)),
    ("fixedbufs", Idle(ALWAYS)),
    ("replay_redirect", Not(DEVICE)),
    ("runtime", Done),
    ("rw", Done),
    ("rwmixread", Done),
    ("rwmixwrite", Done),
    ("scramble_buffers", Idle(ALWAYS)),
    ("size", Done),
    ("softrandommap", Done),
    ("sqthread_poll", Not(DEVICE)),
    ("ss", Not("fathom load --steady METRIC:TOLERANCE:WINDOW")),
    ("startdelay", Not("take it out: a load begins at once")),
    ("steadystate", Not("fathom load --steady METRIC:TOLERANCE:WINDOW")),
    ("stonewall", Done),
    ("sync", Done),
    ("thinktime", Done),
    ("thinktime_blocks", Done),
    ("thinktime_spin", Not("take it out: a pause sleeps")),
    ("thread", Idle("workers are threads")),
    ("time_based", Done),
    ("timeout", Done),
    ("unified_rw_reporting", Idle(REPORTS)),
    ("unlink", Idle("files stay: remove them yourself")),
    ("verify", Done),
    ("verify_async", Idle("the jobs check what they read")),
    ("verify_backlog", Not(VERIFY)),
    ("verify_dump", Idle("a wrong block is reported with what it holds")),
    ("verify_fatal", Idle("a wrong block ends with exit code 5")),
    ("verify_interval", Idle(VERIFY)),
    ("verify_pattern", Not(VERIFY)),
    ("wait_for_previous", Done),
    ("write_bw_log", Idle(ROWS)),
    ("write_hist_log", Idle("fathom load --latency-log has the histogram of each interval")),
    ("write_iops_log", Idle(ROWS)),
    ("write_lat_log", Idle("fathom load --io-log has every I/O")),
    ("zero_buffers", Done),
    ("zonemode", Not(DEVICE)),
];

/// Checks every option of a job, and returns notes on those that change nothing, each once.
///
/// # Errors
/// Every option that is not known, or has no counterpart here.
pub(crate) fn known(section: &Section) -> Result<Vec<String>, Vec<Problem>> {
    let (mut notes, mut problems) = (Vec::<String>::new(), Vec::new());
    for entry in &section.entries {
        let name = entry.name.as_str();
        match OPTIONS.iter().find(|(known, _)| *known == name).map(|(_, role)| *role) {
            Some(Done) => {}
            Some(Idle(why)) => {
                let note = format!("{name}: {why}");
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            // Switched off, it asks for nothing.
            Some(Not(_)) if entry.value.as_deref() == Some("0") => {}
            Some(Not(remedy)) => {
                let what = format!("{name} has no counterpart: {remedy}");
                problems.push(Problem::new(entry.line, what));
            }
            None => problems.push(Problem::new(entry.line, unknown(name))),
        }
    }
    if problems.is_empty() { Ok(notes) } else { Err(problems) }
}

fn unknown(name: &str) -> String {
    let near = OPTIONS.iter().map(|(known, _)| (strsim::damerau_levenshtein(known, name), *known));
    match near.min().filter(|(distance, _)| *distance <= 2) {
        Some((_, near)) => format!("{name} is not known: {near}?"),
        None => format!("{name} is not known; take it out, or run it with fio"),
    }
}
