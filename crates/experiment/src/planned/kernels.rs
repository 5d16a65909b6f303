//! Kernels as something that is compared: a factor from the command line, and one format of file systems for all of them.

use layers::FORMAT;
use toml::Value;

use crate::written::scale::{quoted, with_set};
use crate::written::stacks::VariantStack;
use plan::{KERNEL, Machine};

/// Returns the text of an experiment that runs each variant on each of these kernels, with values that override all others.
pub fn with_kernels(text: String, kernels: &[String], set: &[(String, String)]) -> String {
    match kernels {
        [] => with_set(text, set),
        [one] => {
            let one = (format!("machine.{KERNEL}"), quoted(one));
            with_set(text, &[std::slice::from_ref(&one), set].concat())
        }
        several => with_set(with_factor(text, several), set),
    }
}

fn with_factor(mut text: String, kernels: &[String]) -> String {
    let levels: Vec<_> = kernels.iter().map(|kernel| quoted(kernel)).collect();
    let key = format!("machine.{KERNEL}");
    text.push_str(&format!(
        "\n[[factor]]\nname = \"kernel\"\nkey = \"{key}\"\nlevels = [{}]\n",
        levels.join(", ")
    ));
    text
}

/// Gives every file system a format that the oldest kernel of all variants can mount, unless the experiment sets one: file systems in
/// different formats for different kernels could not be compared.
pub(crate) fn fix_formats(machines: &[Machine], stacks: &mut [VariantStack]) {
    let Some(oldest) = oldest(machines) else { return };
    for layer in stacks.iter_mut().flat_map(|stack| &mut stack.layers) {
        let keys = layers::kind(&layer.kind).map_or(&[][..], |kind| kind.keys);
        if keys.iter().any(|key| key.name == FORMAT.name) {
            let format = || Value::String(oldest.clone());
            layer.settings.entry(FORMAT.name).or_insert_with(format);
        }
    }
}

/// Returns the first two numbers of the oldest kernel that is named by its version.
fn oldest(machines: &[Machine]) -> Option<String> {
    let version = |machine: &Machine| -> Option<(u64, u64)> {
        let mut numbers = machine.kernel.as_ref()?.split(|c: char| !c.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    let (major, minor) = machines.iter().filter_map(version).min()?;
    Some(format!("{major}.{minor}"))
}
