//! The normal distribution by the ziggurat of G. Marsaglia and W. W. Tsang ("The Ziggurat Method for Generating Random
//! Variables", Journal of Statistical Software 5 (8), 2000), with 256 layers, 53 bits and separate bits for layer and
//! place (J. A. Doornik, 2005).

use units::SplitMix64;

const LAYERS: usize = 256;
/// The start of the tail; the next constant is the area of each layer (tail included). Both are for 256 layers.
const TAIL: f64 = 3.654_152_885_361_009;
const AREA: f64 = 0.004_928_673_233_997_087;

/// The edges of the layers, and the density at each edge without its constant factor.
#[derive(Debug, Clone)]
pub struct Ziggurat {
    x: Box<[f64; LAYERS + 1]>,
    density: Box<[f64; LAYERS + 1]>,
}

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

impl Default for Ziggurat {
    fn default() -> Self {
        Self::new()
    }
}

impl Ziggurat {
    /// Computes the tables of the layers.
    pub fn new() -> Self {
        let mut x = Box::new([0.0; LAYERS + 1]);
        x[0] = AREA / density(TAIL);
        x[1] = TAIL;
        for i in 2..LAYERS {
            x[i] = (-2.0 * (AREA / x[i - 1] + density(x[i - 1])).ln()).sqrt();
        }
        let mut densities = Box::new([0.0; LAYERS + 1]);
        for (density_at, x) in densities.iter_mut().zip(x.iter()) {
            *density_at = density(*x);
        }
        Self { x, density: densities }
    }

    /// A number with mean 0 and standard deviation 1.
    #[inline]
    pub fn draw(&self, rng: &mut SplitMix64) -> f64 {
        loop {
            let bits = rng.next_u64();
            let layer = (bits & (LAYERS as u64 - 1)) as usize;
            let z = (bits as i64 >> 11) as f64 * (1.0 / (1u64 << 52) as f64) * self.x[layer];
            if z.abs() < self.x[layer + 1] {
                return z;
            }
            if let Some(z) = self.edge(layer, z, rng) {
                return z;
            }
        }
    }

    /// Decides in the rare cases: the tail, and the part of a layer that the curve crosses.
    #[cold]
    fn edge(&self, layer: usize, z: f64, rng: &mut SplitMix64) -> Option<f64> {
        if layer > 0 {
            let (low, high) = (self.density[layer], self.density[layer + 1]);
            return (low + rng.unit() * (high - low) < density(z)).then_some(z);
        }
        loop {
            let x = -(1.0 - rng.unit()).ln() / TAIL;
            let y = -(1.0 - rng.unit()).ln();
            if 2.0 * y > x * x {
                return Some((TAIL + x).copysign(z));
            }
        }
    }
}
