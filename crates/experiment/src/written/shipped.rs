//! The experiments that come with the program.

/// One experiment that comes with the program.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// All of them, by name.
pub const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "cache-chunk-size",
        text: include_str!("../../../../experiments/cache-chunk-size.toml"),
    },
    Shipped {
        name: "cache-data-size",
        text: include_str!("../../../../experiments/cache-data-size.toml"),
    },
    Shipped {
        name: "cache-first-look",
        text: include_str!("../../../../experiments/cache-first-look.toml"),
    },
    Shipped {
        name: "cache-long-run",
        text: include_str!("../../../../experiments/cache-long-run.toml"),
    },
    Shipped { name: "cache-tiers", text: include_str!("../../../../experiments/cache-tiers.toml") },
    Shipped { name: "copy-on-vdo", text: include_str!("../../../../experiments/copy-on-vdo.toml") },
    Shipped { name: "dedupe-cost", text: include_str!("../../../../experiments/dedupe-cost.toml") },
    Shipped {
        name: "dedupe-done-right",
        text: include_str!("../../../../experiments/dedupe-done-right.toml"),
    },
    Shipped {
        name: "dedupe-mixed",
        text: include_str!("../../../../experiments/dedupe-mixed.toml"),
    },
    Shipped {
        name: "disk-profiles",
        text: include_str!("../../../../experiments/disk-profiles.toml"),
    },
    Shipped { name: "fs-ageing", text: include_str!("../../../../experiments/fs-ageing.toml") },
    Shipped { name: "fs-compare", text: include_str!("../../../../experiments/fs-compare.toml") },
    Shipped { name: "hot-block", text: include_str!("../../../../experiments/hot-block.toml") },
    Shipped {
        name: "kernel-compare",
        text: include_str!("../../../../experiments/kernel-compare.toml"),
    },
    Shipped { name: "power-cut", text: include_str!("../../../../experiments/power-cut.toml") },
    Shipped {
        name: "request-size",
        text: include_str!("../../../../experiments/request-size.toml"),
    },
    Shipped { name: "slow-member", text: include_str!("../../../../experiments/slow-member.toml") },
    Shipped { name: "tar-trap", text: include_str!("../../../../experiments/tar-trap.toml") },
    Shipped { name: "thin-states", text: include_str!("../../../../experiments/thin-states.toml") },
    Shipped {
        name: "vdo-allocation",
        text: include_str!("../../../../experiments/vdo-allocation.toml"),
    },
    Shipped {
        name: "vdo-block-map-cache",
        text: include_str!("../../../../experiments/vdo-block-map-cache.toml"),
    },
    Shipped {
        name: "vdo-block-size",
        text: include_str!("../../../../experiments/vdo-block-size.toml"),
    },
    Shipped { name: "vdo-depth", text: include_str!("../../../../experiments/vdo-depth.toml") },
    Shipped {
        name: "vdo-discard-mix",
        text: include_str!("../../../../experiments/vdo-discard-mix.toml"),
    },
    Shipped {
        name: "vdo-discard-size",
        text: include_str!("../../../../experiments/vdo-discard-size.toml"),
    },
    Shipped {
        name: "vdo-durability",
        text: include_str!("../../../../experiments/vdo-durability.toml"),
    },
    Shipped { name: "vdo-filling", text: include_str!("../../../../experiments/vdo-filling.toml") },
    Shipped {
        name: "vdo-recovery",
        text: include_str!("../../../../experiments/vdo-recovery.toml"),
    },
    Shipped { name: "vdo-full", text: include_str!("../../../../experiments/vdo-full.toml") },
    Shipped { name: "vdo-index", text: include_str!("../../../../experiments/vdo-index.toml") },
    Shipped {
        name: "vdo-journal-device",
        text: include_str!("../../../../experiments/vdo-journal-device.toml"),
    },
    Shipped {
        name: "vdo-many-writers",
        text: include_str!("../../../../experiments/vdo-many-writers.toml"),
    },
    Shipped {
        name: "vdo-practice",
        text: include_str!("../../../../experiments/vdo-practice.toml"),
    },
    Shipped { name: "vdo-reclaim", text: include_str!("../../../../experiments/vdo-reclaim.toml") },
    Shipped {
        name: "vdo-steady-state",
        text: include_str!("../../../../experiments/vdo-steady-state.toml"),
    },
    Shipped { name: "vdo-threads", text: include_str!("../../../../experiments/vdo-threads.toml") },
    Shipped {
        name: "vdo-vs-plain",
        text: include_str!("../../../../experiments/vdo-vs-plain.toml"),
    },
    Shipped { name: "vm-images", text: include_str!("../../../../experiments/vm-images.toml") },
    Shipped {
        name: "writecache-burst",
        text: include_str!("../../../../experiments/writecache-burst.toml"),
    },
];

/// The shipped experiment called `name`.
pub fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|s| s.name == name)
}
