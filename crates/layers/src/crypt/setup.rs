//! The settings of an encrypted device, read and checked.

use toml::Table;
use units::Bytes;

use super::names::NAME;
use crate::key::Values::{Choice, Described, OneOf, Switch};
use crate::key::{Key, keys};
use crate::settings::{SettingError, Settings, size_text};

const VIAS: [&str; 2] = ["luks2", "plain"];
/// Ciphers, each with the lengths of key that it takes, the default first.
const CIPHERS: [(&str, &[u32]); 2] =
    [("aes-xts-plain64", &[512, 256]), ("aes-cbc-essiv:sha256", &[256, 128])];
const SECTORS: [u32; 4] = [512, 1024, 2048, 4096];
/// Space that LUKS2 takes at the start of the device, bytes.
const HEADER: u64 = 16 << 20;
/// The smallest encrypted device, bytes.
const SMALLEST: u64 = 1 << 20;

pub(super) const KEYS: &[Key] = keys! {
    "via", OneOf(&VIAS), "luks2: a header of 16 MiB holds the key, encrypted. plain: no header.";
    "cipher", Described(["aes-xts-plain64", "aes-xts-plain64 or aes-cbc-essiv:sha256", "\"aes-xts-plain64\""]),
        "The cipher, its mode, and the method that gives each sector its initialisation vector.";
    "key_bits", Described(["512, or 256 for aes-cbc-essiv:sha256", "\"512\" or \"256\"; for aes-cbc-essiv:sha256 \"256\" or \"128\"", "\"256\""]),
        "Length of the key. xts takes two, so that 512 bits are AES-256.";
    "sector_size", Choice(512, &SECTORS), "Bytes that are encrypted at once; I/Os must be multiples of it.";
    "discards", Switch(false), "Whether discards are passed to the device, which then reveals which blocks are in use.";
    "same_cpu", Switch(false), "Whether data is encrypted on the CPU that submitted it.";
    "submit_from_crypt_cpus", Switch(false), "Whether the threads that encrypt writes also submit them, instead of one thread that sorts them.";
    "no_read_workqueue", Switch(false), "Whether reads are decrypted where they complete, instead of in a work queue.";
    "no_write_workqueue", Switch(false), "Whether writes are encrypted where they are submitted, instead of in a work queue.";
};

/// Switches: the setting, cryptsetup's option, and the word of the table.
pub(super) const SWITCHES: [(&str, &str, &str); 5] = [
    ("discards", "--allow-discards", "allow_discards"),
    ("same_cpu", "--perf-same_cpu_crypt", "same_cpu_crypt"),
    ("submit_from_crypt_cpus", "--perf-submit_from_crypt_cpus", "submit_from_crypt_cpus"),
    ("no_read_workqueue", "--perf-no_read_workqueue", "no_read_workqueue"),
    ("no_write_workqueue", "--perf-no_write_workqueue", "no_write_workqueue"),
];

/// The settings of an encrypted device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) luks: bool,
    pub(super) cipher: &'static str,
    pub(super) key_bits: u32,
    pub(super) sector_size: u32,
    pub(super) switches: [bool; SWITCHES.len()],
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let names = CIPHERS.map(|(name, _)| name);
        let chosen = s.word_or("cipher", names[0], &names)?;
        let (cipher, lengths) = CIPHERS[usize::from(chosen != names[0])];
        let all = ["512", "256", "128"];
        let bits = s.word_or("key_bits", &lengths[0].to_string(), &all)?;
        let sector_size = s.number("sector_size")?;
        let key_bits = bits.parse().unwrap_or_default();
        if !lengths.contains(&key_bits) {
            let allowed = lengths.iter().map(|bits| format!("\"{bits}\"")).collect::<Vec<_>>();
            return Err(SettingError::new(
                "key_bits",
                format!("key_bits of layer 'crypt' cannot be {bits} with {cipher}"),
                format!("write key_bits = {}", allowed.join(" or ")),
            ));
        }
        let mut switches = [false; SWITCHES.len()];
        for (on, (key, ..)) in switches.iter_mut().zip(SWITCHES) {
            *on = s.switch(key)?;
        }
        let luks = s.word("via")? == VIAS[0];
        Ok(Self { luks, cipher, key_bits, sector_size, switches })
    }

    /// The way that it is made.
    pub(super) fn via(&self) -> &'static str {
        VIAS[usize::from(!self.luks)]
    }

    /// Returns the size of the encrypted data on a device of `bytes`.
    pub(super) fn bytes(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(if self.luks { HEADER } else { 0 })
    }

    pub(super) fn validate(&self, bytes: u64) -> Result<(), SettingError> {
        if self.bytes(bytes) < SMALLEST {
            return Err(SettingError::new(
                "on",
                format!("a device of {} is too small for layer 'crypt'", Bytes(bytes)),
                if self.luks {
                    "LUKS2 takes 16M for its header: take 17M or more, or write via = \"plain\""
                } else {
                    "take a device of 1M or more"
                },
            ));
        }
        if bytes.is_multiple_of(u64::from(self.sector_size)) {
            return Ok(());
        }
        Err(SettingError::new(
            "sector_size",
            format!(
                "the size of the device, {}, is not a multiple of sector_size {}",
                size_text(bytes),
                self.sector_size
            ),
            "write a smaller sector_size, or take another device",
        ))
    }
}
