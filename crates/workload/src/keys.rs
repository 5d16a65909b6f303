//! The keys of a load, with the values that each of them takes.

use content::ContentSpec;
use units::{Key, key};

use crate::LoadSpec;

const PATTERN: &str = "sequential, interleaved:CHUNK, strided:N, random, permutation, zipf:THETA, pareto:H, \
                       normal:SIGMA%, zones:SHARE%/SIZE,... or single:BLOCK";
const BLOCK_SIZE: &str =
    "a size, sizes with shares that sum to 100 (\"4k=70,64k=30\"), or a range (\"4k..64k\")";
const TIME: &str = "a time above 0 and up to a year (\"8760h\")";

impl LoadSpec {
    /// Descriptions of all keys except those of `content`.
    pub const KEYS: &[Key] = &[
        key("ops", "operations with shares that sum to 100", "{ randwrite = 70, randread = 30 }"),
        key("ops.*", "a share above 0 and up to 100 %", "100"),
        key("each", "tables of single operations", "{ write = { block_size = \"64k\" } }"),
        key("each.*", "block_size and pattern of the operation", "{ block_size = \"64k\" }"),
        key("each.*.block_size", BLOCK_SIZE, "\"64k\""),
        key("each.*.pattern", PATTERN, "\"random\""),
        key("pattern", PATTERN, "\"random\""),
        key("hot", "\"scattered\" or \"contiguous\"", "\"scattered\""),
        key("block_size", BLOCK_SIZE, "\"4k\""),
        key(
            "align",
            "a size of whole sectors of 512 B, up to 64M; any with direct = false",
            "\"4k\"",
        ),
        key("share", "\"split\", \"shared\", \"own\" or \"parts\"", "\"split\""),
        key("jobs", "a whole number from 1 to 1024", "4"),
        key("depth", "a whole number from 1 to 32768", "32"),
        key("depth_unit", "\"ios\" or \"4k\"", "\"ios\""),
        key("batch", "a whole number from 1 to the depth", "8"),
        key("think", "a time, and after how many I/Os if not after each", "\"1ms:8\""),
        key("rate", "I/Os or bytes per second", "\"5000/s\""),
        key("arrival", "\"fixed\" or \"poisson\"", "\"poisson\""),
        key("limit", "I/Os per second, bytes per second, or both", "\"5000/s,100M/s\""),
        key("ramp", "a time that is shorter than duration", "\"5s\""),
        key(
            "offset",
            "a size of whole sectors of 512 B (any with direct = false), or a share of the target",
            "\"1G\"",
        ),
        key("size", "a size, or a share of the target", "\"50%\""),
        key("duration", TIME, "\"60s\""),
        key("bytes", "a size", "\"10G\""),
        key("ios", "a whole number from 1 on", "100000"),
        key("passes", "a whole number from 1 on", "1"),
        key(
            "steady",
            "a metric (iops, throughput, latency, p99), a tolerance and a window",
            "\"iops:5%:60s\"",
        ),
        key("max_errors", "a whole number from 0 on", "100"),
        key("sync", "\"fsync:N\", \"fdatasync:N\", \"fua:N\" or \"dsync\"", "\"fsync:32\""),
        key("backend", "\"auto\", \"io_uring\", \"libaio\" or \"sync\"", "\"io_uring\""),
        key("cpus", "numbers of CPUs", "\"0-3\""),
        key("verify", "\"off\", \"read\", \"after\" or \"both\"", "\"both\""),
        key("content", "a table", "{ dedupe = \"50%\", compress = \"2.5x\" }"),
        key("direct", "true or false", "false"),
        key("interval", "a time from 1ms to 1h", "\"1s\""),
        key("per_job", "true or false", "true"),
        key("io_log", "true or false", "true"),
        key("last_block", "true or false", "true"),
    ];

    /// The key at `path`, whose parts are separated by dots: `depth`, `ops.randwrite`, `content.dedupe`.
    pub fn key(path: &str) -> Option<&'static Key> {
        match path.strip_prefix("content.") {
            Some(path) => ContentSpec::KEYS.iter().find(|key| key.is(path)),
            None => Self::KEYS.iter().find(|key| key.is(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that serde knows, taken from its message about an unknown one.
    fn known<T: serde::de::DeserializeOwned + std::fmt::Debug>() -> Vec<String> {
        let message = toml::from_str::<T>("nothing-of-this = 1").unwrap_err().to_string();
        message.split('`').skip(3).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn every_key_is_described_and_none_that_does_not_exist() {
        let names = |keys: &[Key]| -> Vec<String> {
            let of_load = keys.iter().filter(|key| !key.name.contains('.'));
            of_load.map(|key| key.name.to_owned()).collect()
        };
        for (mut known, mut described) in [
            (known::<LoadSpec>(), names(LoadSpec::KEYS)),
            (known::<ContentSpec>(), names(ContentSpec::KEYS)),
        ] {
            known.sort();
            described.sort();
            assert_eq!(known, described);
        }
        for op in crate::OpName::ALL {
            for path in [format!("ops.{op}"), format!("each.{op}.pattern")] {
                assert!(LoadSpec::key(&path).is_some(), "{path}");
            }
        }
    }

    #[test]
    fn every_example_is_taken() {
        let all = LoadSpec::KEYS.iter().map(|key| ("", key));
        let content = ContentSpec::KEYS.iter().map(|key| ("content.", key));
        for (before, key) in all.chain(content) {
            let text = format!("{before}{} = {}", key.name.replace('*', "write"), key.example);
            toml::from_str::<LoadSpec>(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
}
