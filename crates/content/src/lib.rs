//! The content of written bytes: content ids, how often each comes again, and the bytes that it stands for.
//!
//! Every block is a pure function of a 64-bit [`ContentId`] and of the [`ContentSpec`]. [`Contents`] are made of a spec
//! once for a target; a [`Source`] of them says which id a job writes next, so that the shares of duplicates, of
//! zero blocks and of LZ4 sizes are exact, and fills buffers with the bytes of these ids.

mod compress;
mod contents;
mod described;
mod distance;
mod durable;
mod error;
mod expected;
mod fill;
mod id;
mod identity;
mod keys;
mod layouts;
mod live;
mod look_ahead;
mod near;
mod neighbours;
mod next_block;
mod ordered_sizes;
mod profile;
mod quantiles;
mod repeats;
mod rounds;
mod saving;
mod sequences;
mod share;
mod shares;
mod sizes;
mod source;
mod spec;
mod strata;
mod streams;
mod texts;
mod texture;
mod validate;
mod warning;
mod written;

pub use compress::{Compress, SizeShare};
pub use contents::{Contents, Part};
pub use distance::{Distance, DistanceShare, Popularity};
pub use durable::Durable;
pub use error::ContentError;
pub use expected::Expected;
pub use fill::{BlockCheck, BlockLayout, Generator, Mismatch, Path, Root};
pub use id::{ContentId, ContentKind, Parts};
pub use identity::{LANE, LANE_STEP, identify, identify_lane};
pub use keys::{Domain, Scope, Texture};
pub use profile::{
    Profile, ProfileBlocks, ProfileNeighbours, ProfileReuse, ProfileSize, ProfileSource,
};
pub use reduce::BLOCK;
pub use sequences::{ProfileSequences, ProfileTexture, SequenceCounter};
pub use source::Source;
pub use spec::ContentSpec;
pub use warning::Warning;
