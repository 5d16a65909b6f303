//! Facts of the devices under a stack that figures depend on: how the kernel queues their I/Os.

use layers::probe::Source;

use super::Executor;

/// Attributes of the queue of a device.
const ATTRIBUTES: [&str; 3] = ["scheduler", "nr_requests", "read_ahead_kb"];

impl Executor {
    /// Keeps as facts how the kernel queues the I/Os of every device that is bound (`data.scheduler`). Asked `again`, it keeps both values
    /// of what has changed since. What a device does not tell is left out.
    pub fn note_queues(&mut self, again: bool) {
        let devices = self.names.iter().filter_map(|(name, path)| {
            Some((name.strip_prefix("device.")?.to_owned(), path.clone()))
        });
        for (role, device) in devices.collect::<Vec<_>>() {
            for attribute in ATTRIBUTES {
                let source =
                    Source::Queue { device: device.clone(), attribute: attribute.to_owned() };
                let Ok(text) = self.machine.read(&source) else { continue };
                let (name, value) = (format!("{role}.{attribute}"), chosen(&text));
                let before = self.facts.get(&name).filter(|before| again && **before != value);
                let both = before.map(|before| format!("{before}, then {value}"));
                self.facts.insert(name, both.unwrap_or(value));
            }
        }
    }
}

/// The value that holds: of several that the kernel lists, the one in brackets.
fn chosen(text: &str) -> String {
    let held = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    held.map_or(text.trim(), |(held, _)| held).to_owned()
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn of_a_list_the_value_in_brackets_holds() {
        assert_eq!(chosen("none [mq-deadline] kyber\n"), "mq-deadline");
        assert_eq!(chosen("[none]\n"), "none");
        assert_eq!(chosen("256\n"), "256");
    }
}
