//! The chart library as it travels in a page: plotly's own script, gzip, base64.

use std::io::Write;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, write::GzEncoder};

/// plotly's script, packed. Empty when the crate carries none or packing fails; the page then keeps its
/// sketches and says so.
pub fn packed() -> &'static str {
    static PACKED: OnceLock<String> = OnceLock::new();
    PACKED.get_or_init(|| pack(&script()).unwrap_or_default())
}

/// The crate hands out two script elements, plotly and a typesetter of formulas that is not wanted here:
/// the text of the first.
fn script() -> String {
    let both = plotly::Plot::offline_js_sources();
    let inner = both.split_once('>').and_then(|(_, rest)| rest.split_once("</script>"));
    inner.map(|(script, _)| script.to_owned()).unwrap_or_default()
}

fn pack(script: &str) -> std::io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(script.as_bytes())?;
    Ok(STANDARD.encode(encoder.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_plotly_alone_and_fits_the_page() {
        let script = script();
        assert!(script.contains("plotly.js v"), "no banner of plotly");
        assert!(script.len() < 5_500_000, "{} B: the typesetter came along", script.len());
        assert!((1_000_000..2_200_000).contains(&packed().len()), "{} B", packed().len());
    }
}
