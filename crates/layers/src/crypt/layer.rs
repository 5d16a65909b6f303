//! An encrypted device as a layer: its implementation of [`Layer`].

use std::collections::BTreeMap;

use super::names::{ESSIV, TABLE, XTS};
use super::setup::{SWITCHES, Setup};
use crate::dm;
use crate::layer::{Layer, Offer, Place, RaisePlan};
use crate::probe::{NamedDevice, Source};
use crate::read_back::read_back;
use crate::settings::{SettingError, on_off};
use crate::step::{Action, Mark, Step};

/// The place of the UUID in the header of LUKS2.
const UUID_AT: u64 = 168;
/// Bytes of the key that opens the device.
const KEY_BYTES: u32 = 64;

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let entries = [
            ("via", self.via().to_owned()),
            ("cipher", self.cipher.to_owned()),
            ("key_bits", self.key_bits.to_string()),
            ("sector_size", self.sector_size.to_string()),
        ];
        let switches = SWITCHES.iter().zip(self.switches).map(|((key, ..), on)| (*key, on_off(on)));
        entries.into_iter().chain(switches).map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let (device, bytes) = at.block("data");
        self.validate(bytes)?;
        let node = at.tagged();
        let key = format!("{}.key", at.mount_directory());
        let mut up = vec![make_key(&key)];
        up.extend(self.luks.then(|| self.format(at, device, &key)));
        up.push(self.open(&node, device, &key));
        // dmsetup shows zeros for the key, which the kernel itself would show.
        let argv = ["dmsetup", "table", &node].map(str::to_owned).to_vec();
        up.extend(read_back(&Source::Command { argv }, TABLE, self.wanted()));
        up.push(Step {
            about: "note which driver carries out the cipher".into(),
            action: Action::Bind {
                source: Source::File { path: "/proc/crypto".into() },
                parser: self.drivers().into(),
                prefix: at.name.to_owned(),
            },
            undo: Vec::new(),
            deadline_s: 30,
        });
        let path = dm::path(&node);
        Ok(RaisePlan {
            up,
            nodes: vec![NamedDevice { name: at.name.to_owned(), path: path.clone() }],
            probes: Vec::new(),
            ready: Vec::new(),
            settle: vec![Step::flush(&path)],
            offer: Offer::Block { device: path, bytes: self.bytes(bytes) },
            allocate: None,
            memory_bytes: 16 << 20,
            computed: Vec::new(),
        })
    }
}

/// The step that makes the key of the run; its undo removes it. The key is kept in memory, and no result contains it.
fn make_key(key: &str) -> Step {
    let made = format!("umask 077 && head -c {KEY_BYTES} /dev/urandom > {key}");
    Step {
        about: "make a key for this run alone".into(),
        action: command(&["sh", "-c", &made], None),
        undo: vec![command(&["rm", "-f", key], Some(key))],
        deadline_s: 30,
    }
}

fn command(argv: &[&str], removes: Option<&str>) -> Action {
    let argv = argv.iter().map(ToString::to_string).collect();
    Action::Command { argv, removes: removes.map(str::to_owned) }
}

impl Setup {
    /// Returns the options of cryptsetup for the cipher.
    fn cipher_arguments(&self) -> [String; 6] {
        let (bits, sector) = (self.key_bits.to_string(), self.sector_size.to_string());
        ["--cipher", self.cipher, "--key-size", &bits, "--sector-size", &sector].map(str::to_owned)
    }

    /// The step that makes the header; its undo wipes it.
    fn format(&self, at: &Place, device: &str, key: &str) -> Step {
        let uuid = at.uuid_text();
        let cipher = self.cipher_arguments();
        // The key is random, not a password: slowing down guesses would gain nothing.
        let quick = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
        let start =
            ["cryptsetup", "luksFormat", "--batch-mode", "--type", "luks2", "--uuid", &uuid];
        let cipher: Vec<&str> = cipher.iter().map(String::as_str).collect();
        let argv = [&start[..], &quick, &cipher, &["--key-file", key, device]].concat();
        Step {
            about: "make the header with the key of the device".into(),
            action: command(&argv, None),
            undo: vec![Action::Wipe {
                device: device.to_owned(),
                mark: Some(Mark { at: UUID_AT, bytes: uuid.clone().into_bytes() }),
            }],
            deadline_s: 120,
        }
    }

    /// The step that opens the device; its undo removes the node.
    fn open(&self, node: &str, device: &str, key: &str) -> Step {
        let mut argv: Vec<String> =
            ["cryptsetup", "open", "--type", self.via()].map(str::to_owned).to_vec();
        if !self.luks {
            argv.extend(self.cipher_arguments());
        }
        let on = SWITCHES.iter().zip(self.switches).filter(|(_, on)| *on);
        argv.extend(on.map(|((_, option, _), _)| (*option).to_owned()));
        argv.extend(["--key-file", key, device, node].map(str::to_owned));
        Step {
            about: "open the encrypted device".into(),
            action: Action::Command { argv, removes: None },
            undo: vec![Action::RemoveNodes { nodes: vec![node.to_owned()] }],
            deadline_s: 120,
        }
    }

    /// The parser that finds the driver that carries out the cipher.
    fn drivers(&self) -> &'static str {
        if self.cipher.starts_with("aes-xts") { XTS } else { ESSIV }
    }

    /// The settings that the table must have.
    fn wanted(&self) -> Vec<(&'static str, String)> {
        let own_settings = [
            ("cipher", self.cipher.to_owned()),
            ("key_bits", self.key_bits.to_string()),
            ("sector_size", self.sector_size.to_string()),
        ];
        let on = SWITCHES.iter().zip(self.switches).filter(|(_, on)| *on);
        own_settings.into_iter().chain(on.map(|((key, ..), on)| (*key, on_off(on)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    fn raised(text: &str, bytes: u64) -> Result<RaisePlan, SettingError> {
        let inputs = on_device("{device.data}", bytes);
        let at = Place { name: "c", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap())?.raise(&at)
    }

    #[test]
    fn the_key_is_made_for_the_run_and_removed_and_no_step_shows_it() {
        let raised = raised("no_read_workqueue = true", 1 << 30).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        let key = "/run/fathom_0badcafe_c.key";
        assert!(shown[0].ends_with(&format!("/dev/urandom > {key}'")), "{}", shown[0]);
        assert_eq!(raised.up[0].undo[0].show(), format!("rm -f {key}"));
        assert!(
            shown[1].contains("luksFormat")
                && shown[1].ends_with(&format!("{key} {{device.data}}"))
        );
        let open = "cryptsetup open --type luks2 --perf-no_read_workqueue --key-file ";
        assert_eq!(shown[2], format!("{open}{key} {{device.data}} fathom_0badcafe_c"));
        assert_eq!(raised.offer.bytes(), (1 << 30) - (16 << 20));
        assert!(shown[6].starts_with("wait until no_read_workqueue is on in dmsetup table"));
    }

    #[test]
    fn a_plain_one_has_no_header_and_its_cipher_when_it_is_opened() {
        let raised = raised("via = \"plain\"\nsector_size = 4096", 1 << 30).unwrap();
        let open = raised.up[1].action.show();
        assert!(
            open.contains(
                "--type plain --cipher aes-xts-plain64 --key-size 512 --sector-size 4096"
            )
        );
        assert_eq!(raised.offer.bytes(), 1 << 30);
    }

    #[test]
    fn what_cannot_work_names_its_key_its_value_and_a_remedy() {
        for (text, bytes, key, value, remedy) in [
            ("sector_size = 1000", 1 << 30, "sector_size", "1000", "4096"),
            ("key_bits = \"128\"", 1 << 30, "key_bits", "128", "\"512\" or \"256\""),
            ("cipher = \"rot13\"", 1 << 30, "cipher", "rot13", "aes-xts-plain64"),
            ("", 10 << 20, "on", "10 MiB", "plain"),
            ("sector_size = 4096", (1 << 30) + 512, "sector_size", "4096", "smaller"),
        ] {
            let error = raised(text, bytes).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }
}
