//! Attributes of the kernel: written, read back, and looked at.

use std::io;

use layers::probe::Source;

use super::Executor;
use super::conditions::is_gone;

impl Executor {
    /// Writes an attribute of the kernel; returns the text that it has afterwards.
    pub(super) fn write(
        &mut self,
        path: &str,
        value: &str,
        reads: Option<&str>,
    ) -> io::Result<String> {
        let resolve = |text: &str| self.resolve(text).map_err(io::Error::other);
        let (path, value) = (resolve(path)?, resolve(value)?);
        let wanted = reads.map(resolve).transpose()?;
        self.machine.write(&path, &value)?;
        let Some(wanted) = wanted else { return Ok(String::new()) };
        let found = self.machine.read(&Source::File { path: path.clone() })?;
        match says(&found, &wanted) {
            true => Ok(found),
            false => Err(io::Error::other(format!(
                "{path} says '{}' after '{value}' was written; '{wanted}' was expected",
                found.trim()
            ))),
        }
    }

    /// Sets a value of the environment; returns that value. In an undo nothing is set where the device of the setting is gone.
    pub(super) fn set(
        &mut self,
        (setting, device): (&str, Option<&str>),
        value: &str,
        undo: bool,
    ) -> io::Result<String> {
        let resolve = |text: &str| self.resolve(text).map_err(io::Error::other);
        let (device, value) = (device.map(resolve).transpose()?, resolve(value)?);
        match self.machine.set(setting, device.as_deref(), &value) {
            Err(error) if undo && is_gone(&error) => Ok("it is gone".to_owned()),
            set => set.map(|()| value),
        }
    }

    /// Tells whether an attribute of the kernel, or a setting of the environment, has this value.
    pub fn has_value(&mut self, of: &Source, value: &str) -> bool {
        self.machine.read(of).is_ok_and(|found| says(&found, value))
    }
}

/// Tells whether the text of an attribute is a value, or has it in brackets among all possible values.
fn says(text: &str, value: &str) -> bool {
    let chosen = format!("[{value}]");
    text.trim() == value || text.split_whitespace().any(|word| word == chosen)
}
