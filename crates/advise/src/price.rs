//! Prices of storage: `ssd=0.1/GiB`.

use units::Bytes;

/// The price of a medium that a cache could lie on, in whatever money.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The medium, as the user calls it.
    pub medium: String,
    /// The money that one byte costs.
    pub of_a_byte: f64,
}

impl Price {
    /// Returns what so many bytes cost.
    pub fn of(&self, bytes: f64) -> f64 {
        self.of_a_byte * bytes
    }
}

impl std::str::FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (medium, price) = text.split_once('=')?;
            let (money, unit) = price.split_once('/')?;
            let money: f64 = money.trim().parse().ok()?;
            let bytes = format!("1{}", unit.trim()).parse::<Bytes>().ok()?.0;
            let good = !medium.trim().is_empty() && money.is_finite() && money >= 0.0;
            good.then(|| Self { medium: medium.trim().into(), of_a_byte: money / bytes as f64 })
        };
        read().ok_or_else(|| {
            format!(
                "'{text}' is no price: name a medium and its price, as in ssd=0.1/GiB or ssd=80/TB"
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
        assert!((price.of(10.0 * (1u64 << 30) as f64) - 1.0).abs() < 1e-12);
        assert!(("nvme=80/TB".parse::<Price>().unwrap().of(1e12) - 80.0).abs() < 1e-9);
        for text in
            ["", "ssd", "ssd=1", "=1/GiB", "ssd=-1/GiB", "ssd=x/GiB", "ssd=1/hour", "ssd=inf/GiB"]
        {
            assert!(text.parse::<Price>().unwrap_err().contains("ssd=0.1/GiB"), "{text}");
        }
    }
}
