//! Accelerators, which run the guest's instructions.

use serde::{Deserialize, Serialize};

/// The kind of an accelerator, which runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AcceleratorKind {
    /// The processor, through the kernel.
    Kvm,
    /// QEMU's emulator: shapes and ratios count, not absolute speed.
    Tcg,
}

impl AcceleratorKind {
    /// `kvm` or `tcg`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// An accelerator and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accelerator {
    /// The kind.
    pub kind: AcceleratorKind,
    /// The reason for the choice, in words; for emulation, with what could be done about it.
    pub reason: String,
}

/// The accelerator that the caller asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceleratorChoice {
    /// KVM where it works, emulation otherwise.
    #[default]
    Best,
    /// KVM or nothing.
    Kvm,
    /// Emulation, though KVM may work.
    Tcg,
}
