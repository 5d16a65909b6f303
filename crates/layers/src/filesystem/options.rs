//! Options that are passed to the tools as written. Only options are allowed that cannot lead a tool to a device or file other than the one below
//! the layer, and that do not change the UUID by which the file system is known.

use super::keys::MOUNT_OPTIONS;
use crate::settings::{SettingError, Settings};

/// A flag of a program that makes file systems, with the words that may stand before an equals sign in its value; none where the value is one word.
pub(crate) type Flag = (&'static str, &'static [&'static str]);

/// Options that an experiment adds to those of the layer.
pub(crate) struct Options {
    /// Options of the program that makes the file system.
    pub(crate) make: Vec<String>,
    /// Options of the mount.
    pub(crate) mount: Vec<String>,
}

impl Options {
    /// Reads both; the program that makes the file system may get only `flags`.
    pub(crate) fn read(settings: &Settings, flags: &[Flag]) -> Result<Self, SettingError> {
        let make = settings.words("mkfs_options", ' ', |words| are_of(words, flags));
        let mount = settings
            .words(MOUNT_OPTIONS.name, ',', |words| words.iter().all(|word| is_harmless(word)));
        Ok(Self { make: make?, mount: mount? })
    }

    /// Reads the key `extended_options` of mkfs.ext4.
    pub(crate) fn extended(settings: &Settings) -> Result<Vec<String>, SettingError> {
        settings.words("extended_options", ',', |words| words.iter().all(|word| is_harmless(word)))
    }

    /// The entries of [`crate::Layer::settings`] for them.
    pub(crate) fn settings(&self) -> [(String, String); 2] {
        [
            ("mkfs_options".to_owned(), self.make.join(" ")),
            (MOUNT_OPTIONS.name.to_owned(), self.mount.join(",")),
        ]
    }
}

/// Tells whether a word names neither a path nor a device (`logdev=`, `rtdev=`, `journal_dev=`).
fn is_harmless(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    !word.is_empty()
        && word.chars().all(|c| is_plain(c) || c == ':')
        && !(name != word && name.contains("dev"))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.=,^".contains(c)
}

/// Tells whether the words are flags of the list, each with its value.
fn are_of(words: &[String], flags: &[Flag]) -> bool {
    words.chunks(2).all(|pair| {
        let [flag, value] = pair else { return false };
        let known = flags.iter().find(|(name, _)| name == flag);
        known.is_some_and(|(_, keys)| {
            let of_key = |part: &str| match keys {
                [] => !part.is_empty() && !part.contains('='),
                keys => keys.contains(&part.split('=').next().unwrap_or_default()),
            };
            !value.starts_with('-') && value.chars().all(is_plain) && value.split(',').all(of_key)
        })
    })
}
