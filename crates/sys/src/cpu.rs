//! Extensions of the CPU that matter for generating and moving data.

/// The CPU's extensions that Fathom uses or that explain its figures, as text (`sse4.2 aes avx2`); `none` when there is none.
pub fn features() -> String {
    let found: Vec<_> =
        known().into_iter().filter_map(|(name, here)| here.then_some(name)).collect();
    if found.is_empty() { "none".into() } else { found.join(" ") }
}

#[cfg(target_arch = "x86_64")]
fn known() -> [(&'static str, bool); 8] {
    [
        ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
        ("aes", std::is_x86_feature_detected!("aes")),
        ("avx", std::is_x86_feature_detected!("avx")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("vaes", std::is_x86_feature_detected!("vaes")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
        ("bmi2", std::is_x86_feature_detected!("bmi2")),
        ("sha", std::is_x86_feature_detected!("sha")),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn known() -> [(&'static str, bool); 0] {
    []
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_the_kernel_lists_too_is_named() {
        let listed = std::fs::read_to_string("/proc/cpuinfo").unwrap().replace('_', ".");
        let flags: std::collections::HashSet<_> = listed.split_whitespace().collect();
        for feature in super::features().split(' ').filter(|f| !["none", "sha"].contains(f)) {
            assert!(flags.contains(feature), "{feature}");
        }
    }
}
