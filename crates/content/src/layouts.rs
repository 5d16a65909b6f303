//! The layouts of blocks, by their ids.

use units::Seed;

use crate::ordered_sizes::InOrder;
use crate::share::Share;
use crate::sizes::Sizes;
use crate::strata::Strata;
use crate::texture::{Body, Textures};
use crate::{ContentKind, Parts};

/// The layouts of blocks, by their ids.
#[derive(Debug, Clone)]
pub(crate) enum Layouts {
    One(Body),
    Mixed {
        share: Share,
        packed: Body,
        plain: Body,
    },
    /// `order` has the number of the layout of each size, in ascending order.
    Many {
        layouts: Vec<Body>,
        order: Vec<u16>,
        strata: Strata,
    },
    /// `order` has the number of the layout of each content.
    Ordered {
        layouts: Vec<Body>,
        order: Box<InOrder<u16>>,
    },
}

impl Layouts {
    pub fn new(sizes: &Sizes, textures: &mut Textures, seed: Seed) -> Self {
        match sizes {
            Sizes::One(bytes) => Self::One(textures.body(*bytes)),
            Sizes::Mixed(m) => Self::Mixed {
                share: Share::of(m.share),
                packed: textures.body(m.lz4_bytes),
                plain: Body::Runs(textures.of_block().layout),
            },
            Sizes::Many { sorted, runs } => {
                let mut different = sorted.clone();
                let layouts = bodies(&mut different, textures);
                let place = |size: &u32| different.partition_point(|other| other < size) as u16;
                let order = sorted.iter().map(place).collect();
                let strata = Strata::new(seed.derive("sizes")).in_runs(*runs);
                Self::Many { layouts, order, strata }
            }
            Sizes::Ordered(ordered) => {
                let mut sorted: Vec<_> = ordered.all().collect();
                let layouts = bodies(&mut sorted, textures);
                let place = |size: u32| sorted.partition_point(|&other| other < size) as u16;
                Self::Ordered { layouts, order: Box::new(ordered.map(place)) }
            }
        }
    }

    /// The layout of a content. `by_series`: its series says which size it has among all, in 4096ths.
    #[inline]
    pub fn body_of(&self, parts: &Parts, by_series: bool) -> Body {
        match self {
            Self::One(body) => *body,
            Self::Mixed { share, packed, plain } => {
                let takes = if by_series {
                    share.before(u64::from(parts.series) + 1)
                        > share.before(u64::from(parts.series))
                } else {
                    share.takes(parts.ordinal)
                };
                if takes { *packed } else { *plain }
            }
            Self::Many { layouts, order, strata } => {
                let at = if by_series { u64::from(parts.series) } else { strata.at(parts.ordinal) };
                layouts[usize::from(order[at as usize])]
            }
            Self::Ordered { layouts, order } => {
                let (ordinal, job) = (parts.ordinal, parts.series);
                let at = match parts.kind {
                    ContentKind::Pool => order.other(ordinal, job),
                    _ => order.at(ordinal, job),
                };
                layouts[usize::from(at)]
            }
        }
    }

    /// The layout of pool contents, which are not packed with others.
    pub fn of_pool(&self, parts: &Parts) -> Body {
        match self {
            Self::Mixed { plain, .. } => *plain,
            _ => self.body_of(&Parts { kind: ContentKind::New, ..*parts }, false),
        }
    }
}

/// The bodies of sizes, one for each that differs; leaves these in ascending order.
fn bodies(sizes: &mut Vec<u32>, textures: &mut Textures) -> Vec<Body> {
    sizes.sort_unstable();
    let bodies = textures.bodies(sizes);
    sizes.dedup();
    bodies
}
