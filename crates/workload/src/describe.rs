//! A load in words.

use std::fmt::Write as _;

use crate::{DepthUnit, LoadSpec, Share, Verify, text};

impl LoadSpec {
    /// The load on one line: `randwrite=100, permutation, 4k, 1 job x depth 32, for 1 pass; dedupe 50%, compress 2.5x, texture tail`.
    pub fn describe(&self) -> String {
        let mut text = self.ops.to_string();
        if let Some(pattern) = &self.pattern {
            let _ = write!(text, ", {pattern}");
        }
        if let Some(hot) = self.hot {
            let _ = write!(text, " {hot}");
        }
        let sizes = self.block_size.fixed().map(|size| size.to_string());
        let _ = write!(text, ", {}", sizes.unwrap_or_else(|| self.block_size.to_string()));
        if !self.each.is_empty() {
            let _ = write!(text, " ({})", self.each);
        }
        if let Some(align) = self.align {
            let _ = write!(text, " at multiples of {align}");
        }
        self.describe_driving(&mut text);
        self.describe_stops(&mut text);
        if self.has_content() && !self.content.is_plain() {
            let _ = write!(text, "; {}", self.content.describe());
        }
        text
    }

    fn describe_driving(&self, text: &mut String) {
        let jobs = if self.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", self.jobs) };
        let _ = write!(text, ", {jobs}");
        if self.share != Share::default() {
            let _ = write!(text, " ({})", self.share);
        }
        let _ = write!(text, " x depth {}", self.depth);
        if self.depth_unit == DepthUnit::Blocks4k {
            text.push_str(" x 4 KiB");
        }
        if self.batch > 1 {
            let _ = write!(text, ", batches of {}", self.batch);
        }
        let parts = [
            self.rate.map(|rate| format!("{} arrivals at {rate}", self.arrival)),
            self.limit.map(|limit| format!("at most {limit}")),
            self.think.map(|think| format!("think {think}")),
            self.sync.map(|sync| sync.to_string()),
            self.cpus.as_ref().map(|cpus| format!("on CPUs {cpus}")),
            (self.verify != Verify::Off).then(|| format!("verify {}", self.verify)),
            self.per_job.then(|| "figures per job".to_owned()),
            self.io_log.then(|| "every I/O logged".to_owned()),
        ];
        for part in parts.into_iter().flatten() {
            let _ = write!(text, ", {part}");
        }
        let deck = self.deck_len();
        if deck > 1 {
            let _ = write!(text, ", shares exact in every {deck} I/Os");
        }
    }

    fn describe_stops(&self, text: &mut String) {
        let passes =
            self.passes.map(|n| if n == 1 { "1 pass".into() } else { format!("{n} passes") });
        let stops = [
            self.duration.map(|time| time.to_string()),
            self.bytes.map(|bytes| bytes.to_string()),
            self.ios.map(|ios| format!("{ios} I/Os")),
            passes,
            self.steady.map(|steady| format!("until {steady}")),
            self.max_errors.map(|n| format!("until more than {n} errors")),
        ];
        let stops: Vec<_> = stops.into_iter().flatten().collect();
        if !stops.is_empty() {
            let _ = write!(text, ", for {}", stops.join(" or "));
        }
        if let Some(ramp) = self.ramp {
            let _ = write!(text, ", the first {} not counted", text::duration(ramp));
        }
    }
}

#[cfg(test)]
mod tests {
    use content::ContentSpec;
    use units::{Nanos, Percent};

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
            ..LoadSpec::default()
        };
        assert_eq!(
            spec.describe(),
            "randwrite=100, permutation, 4 KiB, 1 job x depth 32, for 60 s or 1 pass; dedupe 50%, compress 2.5x, texture tail"
        );
    }

    #[test]
    fn a_load_with_every_option_reads_as_one_line_too() {
        let spec: LoadSpec = toml::from_str(
            "ops = { randread = 70, write = 30 }\npattern = \"zipf:1.2\"\nhot = \"contiguous\"\n\
             block_size = \"4k=50,64k=50\"\neach.write.pattern = \"sequential\"\njobs = 2\nshare = \"shared\"\n\
             depth_unit = \"4k\"\nbatch = 2\nlimit = \"5000/s,100M/s\"\nthink = \"1ms:8\"\nsync = \"fsync:8\"\n\
             steady = \"iops:5%:60s\"\nmax_errors = 3\nramp = \"5s\"\nios = 1000\ncpus = \"1,0\"",
        )
        .unwrap();
        assert_eq!(
            spec.describe(),
            "randread=70,write=30, zipf:1.2 contiguous, 4k=50,64k=50 (write.pattern=sequential), 2 jobs (shared) x \
             depth 32 x 4 KiB, batches of 2, at most 5000/s,100M/s, think 1ms:8, fsync:8, on CPUs 0,1, shares exact in every 20 \
             I/Os, for 1000 I/Os or until iops:5%:60s or until more than 3 errors, the first 5s not counted"
        );
    }
}
