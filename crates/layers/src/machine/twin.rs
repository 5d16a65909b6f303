//! The machine's stand-in: diskstats and CPU that follow from what was written.

use std::fmt::Write;

use results::model::AskedContent;

use crate::probe::Source;
use crate::{Twin, TwinAnswer, Writes};

/// Answers what [`super::probes`] reads, for any names of devices.
#[derive(Debug, Default)]
pub struct MachineTwin {
    blocks: u64,
}

impl Twin for MachineTwin {
    fn command(&mut self, _argv: &[String]) -> TwinAnswer {
        TwinAnswer::NotMine
    }

    fn read(&mut self, source: &Source) -> Option<String> {
        match source {
            Source::Diskstats { devices } => {
                let blocks = self.blocks;
                let mut text = String::new();
                for device in devices {
                    let (name, sectors) = (&device.name, blocks * 8);
                    // A string takes whatever is written to it.
                    let _ = writeln!(
                        text,
                        "{name} 0 0 0 0 {blocks} 0 {sectors} {blocks} 0 {blocks} {blocks} 0 0 0 0 0 0"
                    );
                }
                Some(text)
            }
            Source::File { path } if path == "/proc/stat" => {
                let busy = self.blocks / 500;
                Some(format!("cpu  {busy} 0 {busy} 1000 0 0 0 0 0 0\n"))
            }
            _ => None,
        }
    }

    fn wrote(&mut self, writes: &Writes, _content: &AskedContent) {
        self.blocks += writes.blocks;
    }

    fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::probe::NamedDevice;

    #[test]
    fn the_real_parsers_read_what_the_twin_says() {
        let mut twin = MachineTwin::default();
        twin.wrote(&Writes::fresh(1000), &AskedContent::default());
        let nodes = [NamedDevice { name: "data".into(), path: "/dev/x".into() }];
        for probe in super::super::probes(&nodes) {
            let parsed = parse(&probe.parser, &twin.read(&probe.source).unwrap()).unwrap();
            assert!(!parsed.numbers.is_empty(), "{}", probe.id);
        }
    }
}
