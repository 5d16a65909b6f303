//! Checks the needs of a plan against what this machine has.

use crate::capabilities::program;
use crate::modules::module;

/// The kernel modules and programs among these that this machine does not have, in words.
pub fn missing(modules: &[String], tools: &[String]) -> Vec<String> {
    let modules = modules.iter().filter(|m| !module(m)).map(|m| format!("kernel module {m}"));
    let tools = tools.iter().filter(|t| program(t).is_none()).map(|t| format!("program {t}"));
    modules.chain(tools).collect()
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn what_nobody_has_is_named_and_what_everybody_has_is_not() {
        let named = missing(&["no-such-module".into()], &["sh".into(), "no-such-program".into()]);
        assert_eq!(named, ["kernel module no-such-module", "program no-such-program"]);
        assert_eq!(missing(&["proc".into()], &[]), [""; 0], "built into every kernel");
    }
}
