//! Prices of storage: `ssd=0.1/GiB`.

use units::Bytes;

/// Highest price that is accepted; a higher one is a typing error.
const MOST: f64 = 1e9;

/// The price of a medium for a cache, in any currency.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The medium, as the user calls it.
    pub medium: String,
    /// The money that one byte costs.
    pub of_a_byte: f64,
}

impl Price {
    /// Returns the price of `bytes` bytes.
    pub fn cost(&self, bytes: f64) -> f64 {
        self.of_a_byte * bytes
    }
}

impl std::str::FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (medium, price) = text.split_once('=')?;
            let (money, size) = price.split_once('/')?;
            let (money, size): (f64, _) = (money.trim().parse().ok()?, size.trim());
            // A unit without a number, as GiB, means one of it; a size, as 4TiB, is taken as it is.
            let unit = size.starts_with(|first: char| !first.is_ascii_digit());
            let size = if unit { format!("1{size}") } else { size.into() };
            let bytes = size.parse::<Bytes>().ok().filter(|bytes| bytes.0 > 0)?.0;
            let good = !medium.trim().is_empty() && (0.0..=MOST).contains(&money);
            good.then(|| Self { medium: medium.trim().into(), of_a_byte: money / bytes as f64 })
        };
        read().ok_or_else(|| {
            format!(
                "'{text}' is not a price: name a medium and its price, as in ssd=0.1/GiB or ssd=80/TB"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_and_what_is_none_is_refused() {
        let price: Price = "ssd=0.1/GiB".parse().unwrap();
        assert!((price.cost(10.0 * (1u64 << 30) as f64) - 1.0).abs() < 1e-12);
        assert!(("nvme=80/TB".parse::<Price>().unwrap().cost(1e12) - 80.0).abs() < 1e-9);
        // A size with a number is that size, not one with a 1 before it.
        let price: Price = "ssd=100/4TiB".parse().unwrap();
        assert!((price.cost(4.0 * (1u64 << 40) as f64) - 100.0).abs() < 1e-9);
        for text in [
            "",
            "ssd",
            "ssd=1",
            "=1/GiB",
            "ssd=-1/GiB",
            "ssd=x/GiB",
            "ssd=1/hour",
            "ssd=inf/GiB",
            "ssd=1e10/GiB",
            "ssd=1/0GiB",
            "ssd=1/",
        ] {
            assert!(text.parse::<Price>().unwrap_err().contains("ssd=0.1/GiB"), "{text}");
        }
    }
}
