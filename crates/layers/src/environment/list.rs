//! The list of settings, in the order in which they are set: a tuned profile also sets the governor, a scheduler the number of requests.

use units::Key;

use super::setting::{EnvironmentSetting, SettingPlace, SettingValues};
use SettingPlace::{Each, Program, Queue};
use SettingValues::{Among, Plain, Whole};

/// A setting that takes any value of its kind.
const fn plain(key: Key, place: SettingPlace, values: SettingValues) -> EnvironmentSetting {
    EnvironmentSetting { key, place, values, listed: None, modules: &[], resets: &[] }
}

/// All settings of a machine and of the queues of its devices.
pub static SETTINGS: &[EnvironmentSetting] = &[
    plain(
        Key {
            name: "tuned_profile",
            takes: "the name of a tuned profile",
            example: "\"throughput-performance\"",
        },
        Program {
            file: "/etc/tuned/active_profile",
            set: &["tuned-adm", "profile"],
            unset: &["tuned-adm", "off"],
            works: &["tuned-adm", "active"],
            known: &[
                "/etc/tuned/profiles",
                "/etc/tuned",
                "/usr/lib/tuned/profiles",
                "/usr/lib/tuned",
            ],
            package: "tuned",
        },
        Plain,
    ),
    EnvironmentSetting {
        listed: Some("scaling_available_governors"),
        ..plain(
            Key {
                name: "cpu_governor",
                takes: "the name of a CPU frequency governor",
                example: "\"performance\"",
            },
            Each {
                directory: "/sys/devices/system/cpu/cpufreq",
                prefix: "policy",
                file: "scaling_governor",
            },
            Plain,
        )
    },
    EnvironmentSetting {
        listed: Some("scheduler"),
        modules: &[("mq-deadline", "mq-deadline"), ("kyber", "kyber-iosched"), ("bfq", "bfq")],
        resets: &["nr_requests"],
        ..plain(
            Key {
                name: "scheduler",
                takes: "the name of an I/O scheduler",
                example: "\"mq-deadline\"",
            },
            Queue("scheduler"),
            Plain,
        )
    },
    plain(
        Key {
            name: "nomerges",
            takes: "0 (requests are merged), 1 (only where that is simple) or 2 (never)",
            example: "2",
        },
        Queue("nomerges"),
        Among(&["0", "1", "2"]),
    ),
    EnvironmentSetting {
        listed: Some("max_hw_sectors_kb"),
        ..plain(
            Key {
                name: "max_sectors_kb",
                takes: "the largest request, a whole number of KiB from 4 on",
                example: "128",
            },
            Queue("max_sectors_kb"),
            Whole { least: 4, step: 1 },
        )
    },
    plain(
        Key {
            name: "nr_requests",
            takes: "a whole number from 4 on: requests that wait in the queue",
            example: "64",
        },
        Queue("nr_requests"),
        Whole { least: 4, step: 1 },
    ),
    plain(
        Key {
            name: "read_ahead_kb",
            takes: "what is read ahead, a whole number of KiB, a multiple of 4",
            example: "128",
        },
        Queue("read_ahead_kb"),
        Whole { least: 0, step: 4 },
    ),
    plain(
        Key {
            name: "write_cache_mode",
            takes: "\"write back\" (the kernel flushes the device's write cache) or \"write through\" (it assumes that there is none)",
            example: "\"write through\"",
        },
        Queue("write_cache"),
        Among(&["write back", "write through"]),
    ),
];
