//! Parser of a dm-crypt table line, as dmsetup shows it: without the key.

use super::names::TABLE;
use super::setup::SWITCHES;
use crate::settings::on_off;
use crate::{ParseError, Parsed};

/// Reads a table line, `CIPHER KEY IV-OFFSET DEVICE OFFSET [#OPTIONS [OPTION]...]`. Errors do not quote the line: a key may be in it.
pub(super) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, "");
    let (_, rest) = text.split_once(" crypt ").ok_or_else(|| wrong("no target 'crypt'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [cipher, key, _, _, _, options @ ..] = &words[..] else {
        return Err(wrong("fewer than 5 words"));
    };
    // `:BYTES:TYPE:NAME` for a key that the kernel keeps; else a hexadecimal key, four bits a character.
    let kept = key.strip_prefix(':').and_then(|key| key.split(':').next());
    let bits = match kept {
        Some(bytes) => bytes.parse::<usize>().map_err(|_| wrong("no length of a key"))? * 8,
        None => key.len() * 4,
    };
    let sector = options.iter().find_map(|option| option.strip_prefix("sector_size:"));
    let mut parsed = Parsed::default();
    let mut put = |name: &str, text: String| parsed.texts.insert(name.to_owned(), text);
    put("cipher", (*cipher).to_owned());
    put("key_bits", bits.to_string());
    put("sector_size", sector.unwrap_or("512").to_owned());
    for (key, _, word) in SWITCHES {
        put(key, on_off(options.contains(&word)));
    }
    Ok(parsed)
}

/// Finds, in the kernel's list of ciphers (`/proc/crypto`), the driver that the kernel prefers for a cipher, as text `driver`.
pub(super) fn parse_driver(text: &str, cipher: &str) -> Result<Parsed, ParseError> {
    let field = |entry: &str, field: &str| {
        let line =
            entry.lines().find_map(|line| line.strip_prefix(field)?.trim().strip_prefix(':'));
        line.map(|value| value.trim().to_owned())
    };
    let able = text.split("\n\n").filter(|entry| field(entry, "name").as_deref() == Some(cipher));
    let first =
        able.max_by_key(|entry| field(entry, "priority").and_then(|p| p.parse::<u32>().ok()));
    let driver = first.and_then(|entry| field(entry, "driver"));
    let mut parsed = Parsed::default();
    parsed.texts.insert("driver".to_owned(), driver.unwrap_or_else(|| "unknown".to_owned()));
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_carries_a_cipher_out_is_the_first_choice_of_those_that_can() {
        let listed = include_str!("recorded/crypto");
        let of = |cipher| parse_driver(listed, cipher).unwrap().texts["driver"].clone();
        assert_eq!(of("xts(aes)"), "xts-aes-aesni-avx");
        assert_eq!(of("essiv(cbc(aes),sha256)"), "essiv(cbc-aes-aesni,sha256-generic)");
        assert_eq!(of("xts(rot13)"), "unknown");
    }

    #[test]
    fn settings_are_read_and_the_key_is_not() {
        let line = "0 8 crypt aes-xts-plain64 :64:logon:cryptsetup:x-d0 0 254:0 32768 2 sector_size:4096 allow_discards";
        let texts = parse_table(line).unwrap().texts;
        let found = ["cipher", "key_bits", "sector_size", "discards", "same_cpu"]
            .map(|key| texts[key].as_str());
        assert_eq!(found, ["aes-xts-plain64", "512", "4096", "on", "off"]);
        let plain = format!("0 8 crypt aes-xts-plain64 {} 0 254:0 0", "0".repeat(64));
        let texts = parse_table(&plain).unwrap().texts;
        assert_eq!((&*texts["key_bits"], &*texts["sector_size"]), ("256", "512"));
        assert!(texts.values().all(|text| !text.contains("0000")));
        let error = parse_table("0 8 crypt aes 00ff").unwrap_err().to_string();
        assert!(!error.contains("00ff"), "{error}");
    }
}
