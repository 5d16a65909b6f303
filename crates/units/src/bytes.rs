//! Sizes in bytes. Suffixes are powers of 1024, as everywhere in the block layer; SI suffixes (`MB`, `GB`), as on a disk's box, are powers of 1000.

use crate::quantity::{QuantityError, split};

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    /// One kibibyte.
    pub const KIB: u64 = 1 << 10;
    /// One mebibyte.
    pub const MIB: u64 = 1 << 20;
    /// One gibibyte.
    pub const GIB: u64 = 1 << 30;

    /// Returns the size as error messages show it, without rounding: as it is displayed where that is exact, else in bytes.
    pub fn exact(self) -> String {
        let shown = self.to_string();
        if shown.parse() == Ok(self) { shown } else { format!("{} bytes", self.0) }
    }
}

impl std::str::FromStr for Bytes {
    type Err = QuantityError;

    /// Reads `4096`, `4k`, `1.5G`, `12GiB`, and `2GB` as 2,000,000,000; the result is a whole number of bytes.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = || QuantityError {
            text: text.to_owned(),
            what: "size",
            example: "a number with B, k, M, G, T or P (powers of 1024), as in 4k or 1.5G; GB is 1000 MB",
        };
        let (number, suffix) = split(text).ok_or_else(error)?;
        let suffix = suffix.to_ascii_lowercase();
        let (prefix, thousand) = match suffix.strip_suffix("ib") {
            Some(prefix) if !prefix.is_empty() => (prefix, 1024_u64),
            _ => match suffix.strip_suffix('b') {
                Some(prefix) => (prefix, 1000),
                None => (&*suffix, 1024),
            },
        };
        let power = match prefix {
            "" => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            "p" => 5,
            _ => return Err(error()),
        };
        let bytes = number * thousand.pow(power) as f64;
        if bytes >= u64::MAX as f64 {
            return Err(QuantityError {
                example: "one below 16384P, the most that is counted",
                ..error()
            });
        }
        if bytes.fract() != 0.0 {
            return Err(error());
        }
        Ok(Self(bytes as u64))
    }
}

impl std::fmt::Display for Bytes {
    /// Prints the size in binary units with three significant digits: `4 KiB`, `1.5 GiB`.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&crate::show::bytes(self.0 as f64))
    }
}

impl serde::Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(self.0)
    }
}

crate::read_as_text!(Bytes, "a size such as 4096, \"4k\" or \"1.5G\"");

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn reads_suffixes_as_powers_of_1024_and_those_of_the_si_of_1000() {
        for (text, bytes) in [
            ("0", 0),
            ("100B", 100),
            ("4k", 4096),
            ("1.5G", 3 << 29),
            ("12GiB", 12 << 30),
            ("7 MB", 7_000_000),
            ("2GB", 2_000_000_000),
            ("1.5kB", 1500),
            ("8TB", 8_000_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn what_a_refusal_shows_is_the_size_itself() {
        for (bytes, shown) in
            [(8_388_000, "8388000 bytes"), (4097 << 10, "4195328 bytes"), (8 << 20, "8 MiB")]
        {
            assert_eq!(Bytes(bytes).exact(), shown);
        }
        for bytes in (0..2_000_000u64).step_by(997).chain([u64::MAX, 3 << 29, (1 << 40) + 512]) {
            let shown = Bytes(bytes).exact();
            let read = shown.strip_suffix(" bytes").unwrap_or(&shown).parse();
            assert!(read == Ok(Bytes(bytes)) || bytes == u64::MAX, "{shown}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_size_and_says_how_to_write_one() {
        for text in ["", "k", "-4k", "4x", "1.3B", "1e400", "ib", "4ib"] {
            let error = text.parse::<Bytes>().expect_err(text);
            assert!(error.to_string().contains("4k"), "{error}");
        }
        let error = "99999P".parse::<Bytes>().unwrap_err().to_string();
        assert!(error.contains("below 16384P"), "{error}");
    }

    #[test]
    fn travels_through_json_as_a_number_and_is_read_from_text() {
        assert_eq!(serde_json::to_string(&Bytes(4096)).unwrap(), "4096");
        assert_eq!(serde_json::from_str::<Bytes>("\"4k\"").unwrap(), Bytes(4096));
        assert!(serde_json::from_str::<Bytes>("-1").is_err());
    }
}
