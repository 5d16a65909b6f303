//! The machine's stand-in: its devices and processors exist, but their work is not modelled.

use std::fmt::Write;

use results::model::AskedContent;

use crate::probe::Source;
use crate::{Twin, TwinAnswer, Writes};

/// Answers what [`super::probes`] reads, for devices of any name, but without figures: the work of a device depends on the layers
/// above it, and the work of a processor on everything.
#[derive(Debug, Default)]
pub struct MachineTwin;

impl Twin for MachineTwin {
    fn command(&mut self, _argv: &[String]) -> TwinAnswer {
        TwinAnswer::NotMine
    }

    fn read(&mut self, source: &Source) -> Option<String> {
        match source {
            Source::Diskstats { devices } => {
                let mut text = String::new();
                for device in devices {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{} -", device.name);
                }
                Some(text)
            }
            Source::File { path } if path == "/proc/stat" => Some("cpu \n".to_owned()),
            _ => None,
        }
    }

    fn wrote(&mut self, _writes: &Writes, _content: &AskedContent) {}

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
    fn the_real_parsers_read_what_the_twin_says_and_find_no_figure() {
        let mut twin = MachineTwin;
        twin.wrote(&Writes::fresh(1000), &AskedContent::default());
        let nodes = [NamedDevice { name: "data".into(), path: "/dev/x".into() }];
        for probe in super::super::probes(&nodes) {
            let parsed = parse(&probe.parser, &twin.read(&probe.source).unwrap()).unwrap();
            assert!(parsed.numbers.values().all(Option::is_none), "{}", probe.id);
        }
    }
}
