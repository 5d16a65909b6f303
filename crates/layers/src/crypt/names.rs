//! Names of the layer and its parser.

/// Its word in an experiment.
pub(super) const NAME: &str = "crypt";
/// Parser of the kernel's list of ciphers: the driver that carries out aes-xts-plain64.
pub(super) const XTS: &str = "crypt.xts";
/// The same for aes-cbc-essiv:sha256.
pub(super) const ESSIV: &str = "crypt.essiv";
/// Parser of a dm-crypt table line: the settings, as text.
pub(super) const TABLE: &str = "crypt.table";
