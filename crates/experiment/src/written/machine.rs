//! `[machine]`: the machine of the lab that a cell runs in. A variant may have another one: `set."machine.memory"`.

use toml::Spanned;
use units::{Bytes, Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;
use plan::Machine;

/// `[machine]`.
pub(crate) const MACHINE: Key = key("machine", "a table", "{ memory = \"2G\", cpus = 2 }");
const MEMORY: Key = key("memory", "a size from 256M on, in whole MiB", "\"2G\"");
const CPUS: Key = key("cpus", "a whole number from 1 to 256", "2");
/// The kernel of a machine.
pub(crate) const KERNEL: Key = key(
    plan::KERNEL,
    "a version or release that fathom lab kernels lists, or the path of a kernel with its modules",
    "\"6.1\"",
);

/// The least memory of a machine.
const LEAST_MEMORY: Bytes = Bytes(256 << 20);
/// The most CPUs of a machine.
const MOST_CPUS: u32 = 256;

/// Reads the machine of a variant.
pub(crate) fn read(table: &Table) -> Result<Machine, Diagnostic> {
    let mut table = table.clone();
    let memory: Option<Spanned<Bytes>> = table.take(&MEMORY)?;
    let cpus: Option<Spanned<u32>> = table.take(&CPUS)?;
    let kernel: Option<Spanned<String>> = table.take(&KERNEL)?;
    table.finish()?;
    if let Some(wrong) = kernel.as_ref().filter(|kernel| !may_be_kernel(kernel.get_ref())) {
        let message = format!("'{}' is not the name of a kernel", wrong.get_ref());
        return Err(Diagnostic::of_key(wrong.span(), message, &KERNEL));
    }
    if let Some(wrong) = memory
        .as_ref()
        .filter(|size| *size.get_ref() < LEAST_MEMORY || !size.get_ref().0.is_multiple_of(1 << 20))
    {
        let message = format!("A machine cannot have {} of memory", wrong.get_ref().exact());
        return Err(Diagnostic::of_key(wrong.span(), message, &MEMORY));
    }
    if let Some(wrong) = cpus.as_ref().filter(|cpus| !(1..=MOST_CPUS).contains(cpus.get_ref())) {
        let message = format!("A machine cannot have {} CPUs", wrong.get_ref());
        return Err(Diagnostic::of_key(wrong.span(), message, &CPUS));
    }
    Ok(Machine {
        memory: memory.map(Spanned::into_inner),
        cpus: cpus.map(Spanned::into_inner),
        kernel: kernel.map(Spanned::into_inner),
    })
}

/// Tells whether a text can name a kernel: a version, a release, or a path.
fn may_be_kernel(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+~".contains(c);
    let is_path = text.contains('/') && !text.contains(char::is_control);
    is_path || text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(plain)
}
