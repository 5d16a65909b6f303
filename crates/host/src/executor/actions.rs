//! Actions that need names resolved in several places: mounts, traces, processes.

use std::io;

use layers::step::Action;

use super::Executor;

impl Executor {
    pub(super) fn mount(&mut self, action: &Action) -> io::Result<()> {
        let resolve = |text: &str| self.resolve(text).map_err(io::Error::other);
        match action {
            Action::Mount { device, directory, filesystem, options } => {
                let [device, directory] = [resolve(device)?, resolve(directory)?];
                self.machine.mount(&device, &directory, filesystem, options)
            }
            Action::Unmount { directory, device } => {
                let directory = resolve(directory)?;
                let device = device.as_deref().map(resolve).transpose()?;
                self.machine.unmount(&directory, device.as_deref())
            }
            _ => Ok(()),
        }
    }

    /// Starts or stops counting a kernel event; returns the reason if it cannot be counted, else an empty string.
    pub(super) fn trace(&mut self, action: &Action) -> io::Result<String> {
        let resolve = |text: &str| self.resolve(text).map_err(io::Error::other);
        match action {
            Action::Trace { instance, event, writes_to } => {
                let instance = resolve(instance)?;
                let device = writes_to.as_deref().map(resolve).transpose()?;
                let absent = self.machine.trace(&instance, event, device.as_deref());
                absent.map(Option::unwrap_or_default)
            }
            Action::Untrace { instance } => {
                let instance = resolve(instance)?;
                self.machine.untrace(&instance).map(|()| String::new())
            }
            _ => Ok(String::new()),
        }
    }

    pub(super) fn start(&mut self, name: &str, argv: &[String]) -> io::Result<()> {
        let argv = argv.iter().map(|word| self.resolve(word)).collect::<Result<Vec<_>, _>>();
        self.machine.start(name, &argv.map_err(io::Error::other)?)
    }
}
