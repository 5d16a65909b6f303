//! Faults on purpose: a run that fails or is interrupted at a given step, so that teardown can be tested
//! on the real thing.

use serde::{Deserialize, Serialize};

/// Fault that a test injects at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectedFault {
    /// The step is executed and then reported as failed.
    Fail,
    /// The user's interrupt arrives before the step.
    Interrupt,
    /// In the lab: the guest's kernel crashes before the step.
    Crash,
    /// In the lab: the guest hangs before the step.
    Hang,
    /// The start of the target is overwritten while the load of the stage runs, as another program would do it.
    Spoil,
}

/// A fault at one step of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// Position of the cell.
    pub cell: usize,
    /// Index of the step in the cell, waits and stages counted too.
    pub step: usize,
    /// The fault that happens there.
    pub fault: InjectedFault,
}

/// `fail@CELL:STEP`, `interrupt@...`, `crash@...`, `hang@...` or `spoil@...`.
impl std::str::FromStr for Injection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not a fault; write fail, interrupt, crash, hang or spoil, then @CELL:STEP"
            )
        };
        let (fault, place) = text.split_once('@').ok_or_else(wrong)?;
        let (cell, step) = place.split_once(':').ok_or_else(wrong)?;
        let fault = match fault {
            "fail" => InjectedFault::Fail,
            "interrupt" => InjectedFault::Interrupt,
            "crash" => InjectedFault::Crash,
            "hang" => InjectedFault::Hang,
            "spoil" => InjectedFault::Spoil,
            _ => return Err(wrong()),
        };
        let number = |n: &str| n.parse().map_err(|_| wrong());
        Ok(Self { cell: number(cell)?, step: number(step)?, fault })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_from_its_text() {
        let fault: Injection = "fail@2:7".parse().unwrap();
        assert_eq!(fault, Injection { cell: 2, step: 7, fault: InjectedFault::Fail });
        assert!("fail@2".parse::<Injection>().is_err());
    }
}
