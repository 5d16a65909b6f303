//! The size of a guest's memory.

use units::Bytes;

use crate::{Error, LEAST_MEMORY, Result};

/// The memory that the guest takes in addition to its layers: kernel, root, the program, its buffers.
const BASE: Bytes = Bytes(640 * Bytes::MIB);
/// The least memory of a guest for which the user gives no amount.
const USUAL: Bytes = Bytes(Bytes::GIB);
/// The memory grows in steps of this, so that small changes of a plan do not change the machine.
const STEP: u64 = 256 * Bytes::MIB;

/// Returns the memory of a guest whose layers take `layers`: the amount that the user gives, if it is enough for both, or else the usual.
pub fn memory(layers: Bytes, given: Option<Bytes>) -> Result<Bytes> {
    let Some(given) = given else {
        let wanted = (layers.0 + BASE.0).next_multiple_of(STEP);
        return Ok(Bytes(wanted.max(USUAL.0)));
    };
    let least = Bytes((LEAST_MEMORY.0 + layers.0).next_multiple_of(Bytes::MIB));
    if given < least { Err(Error::LittleMemory { given, layers, least }) } else { Ok(given) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_refused_below_what_guest_and_layers_take_and_the_least_is_named() {
        let given = |mib: u64| Some(Bytes(mib << 20));
        let layers = Bytes(446 << 20);
        assert!(memory(layers, given(10)).is_err());
        let error = memory(layers, given(701)).unwrap_err();
        assert!(error.to_string().contains("and its layers 446 MiB"), "{error}");
        assert!(error.help().unwrap().contains("--memory 702M"));
        assert_eq!(memory(layers, given(702)).unwrap(), Bytes(702 << 20));
        assert!(memory(Bytes(0), given(256)).is_ok());
        assert!(!memory(Bytes(0), given(255)).unwrap_err().to_string().contains("layers"));
    }

    #[test]
    fn a_guest_has_a_gibibyte_or_what_its_layers_take_beside_it() {
        assert_eq!(memory(Bytes(0), None).unwrap(), Bytes(1 << 30));
        assert_eq!(memory(Bytes(1 << 30), None).unwrap(), Bytes((1 << 30) + (768 << 20)));
    }
}
