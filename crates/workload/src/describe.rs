//! A load in words.

use std::fmt::Write as _;

use crate::LoadSpec;

impl LoadSpec {
    /// The load on one line: `randwrite=100, permutation, 4 KiB, 1 job x depth 32, for 1 pass; dedupe 50%, compress 2.5x`.
    pub fn describe(&self) -> String {
        let mut text = self.ops.to_string();
        if let Some(pattern) = self.pattern {
            let _ = write!(text, ", {pattern}");
        }
        let jobs = if self.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", self.jobs) };
        let _ = write!(text, ", {}, {jobs} x depth {}", self.block_size, self.depth);
        let passes =
            self.passes.map(|n| if n == 1 { "1 pass".into() } else { format!("{n} passes") });
        let stops = [
            self.duration.map(|time| time.to_string()),
            self.bytes.map(|bytes| bytes.to_string()),
            passes,
        ];
        let stops: Vec<_> = stops.into_iter().flatten().collect();
        if !stops.is_empty() {
            let _ = write!(text, ", for {}", stops.join(" or "));
        }
        if self.writes() && !self.content.is_plain() {
            let content = &self.content;
            let parts = [
                (content.dedupe.0 > 0.0).then(|| format!("dedupe {}", content.dedupe)),
                (content.lz4_target_bytes() < content::BLOCK)
                    .then(|| format!("compress {}", content.compress)),
                (content.zero.0 > 0.0).then(|| format!("zero {}", content.zero)),
            ];
            let parts: Vec<_> = parts.into_iter().flatten().collect();
            let _ = write!(text, "; {}", parts.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use content::ContentSpec;
    use units::{Bytes, Nanos, Percent};

    use crate::{LoadSpec, Ops, Pattern};

    #[test]
    fn a_load_reads_as_one_line() {
        let spec = LoadSpec {
            ops: "randwrite=100".parse::<Ops>().unwrap(),
            pattern: Some(Pattern::Permutation),
            duration: Some(Nanos::from_secs(60)),
            passes: Some(1),
            content: ContentSpec {
                dedupe: Percent(50.0),
                compress: "2.5x".parse().unwrap(),
                ..ContentSpec::default()
            },
            block_size: Bytes(4096),
            ..LoadSpec::default()
        };
        assert_eq!(
            spec.describe(),
            "randwrite=100, permutation, 4 KiB, 1 job x depth 32, for 60 s or 1 pass; dedupe 50%, compress 2.5x"
        );
    }
}
