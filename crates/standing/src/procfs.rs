//! Numbers of a machine, out of the kernel's texts.

/// The processors that `/proc/cpuinfo` lists.
pub fn processors(cpuinfo: &str) -> u64 {
    cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u64
}

/// The memory that `/proc/meminfo` tells, bytes.
pub fn memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}
