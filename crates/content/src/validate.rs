//! Checks that a content can be written, and warns about doubtful requests.

use reduce::BLOCK;
use units::{Bytes, Percent};

use crate::rounds::min_distance;
use crate::sizes::Sizes;
use crate::texture::{TOLERANCE, Textures};
use crate::written::Written;
use crate::{
    BlockLayout, Compress, ContentError, ContentSpec, Distance, Domain, Popularity, ProfileSource,
    Scope, Texture, Warning, saving,
};

/// References to one physical block that VDO can count.
const MOST_REFERENCES: u64 = 254;
/// Records that other layers compress at a time, bytes.
const RECORD: u64 = 128 * Bytes::KIB;
/// Largest block.
const LARGEST: u64 = 64 * Bytes::MIB;
/// Largest cost of the beginning of a load to the packer's saving that needs no warning, percentage points.
const SHORT_POINTS: f64 = 0.5;

impl ContentSpec {
    /// Tells whether this content can be written.
    pub fn validate(&self) -> Result<(), ContentError> {
        self.validate_block()?;
        self.validate_profile()?;
        self.validate_scope()?;
        self.validate_duplicates()?;
        self.validate_saving()?;
        self.validate_compress()
    }

    fn validate_block(&self) -> Result<(), ContentError> {
        let block = self.block;
        if !block.0.is_power_of_two() || !(512..=LARGEST).contains(&block.0) {
            return Err(ContentError::Block { block });
        }
        match self.misaligned {
            Some(by) if by.0 == 0 || by.0 >= block.0 => {
                return Err(ContentError::Misaligned { by, block });
            }
            _ => {}
        }
        match self.texture() {
            Texture::Natural if block.0 != BLOCK as u64 => Err(ContentError::Contradiction {
                key: "texture",
                beside: "block",
                why: "natural blocks are of 4 KiB",
            }),
            Texture::Interleaved(chunk)
                if !chunk.0.is_power_of_two()
                    || !(BlockLayout::GRAIN as u64..=block.0 / 2).contains(&chunk.0) =>
            {
                Err(ContentError::Chunk { chunk: chunk.0, block: block.0 })
            }
            _ => Ok(()),
        }
    }

    fn validate_profile(&self) -> Result<(), ContentError> {
        let Some(profile) = &self.profile else { return Ok(()) };
        let others = [
            ("dedupe", self.dedupe.0 > 0.0),
            ("zero", self.zero.0 > 0.0),
            ("compress", self.compress != Compress::None),
            ("vdo_saving", self.vdo_saving.is_some()),
            ("distance", self.distance.is_some()),
            ("window", self.window.is_some()),
            ("popularity", self.popularity != Popularity::Uniform),
            ("misaligned", self.misaligned.is_some()),
            ("scope", self.scope == Scope::Live),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, given)| *given) {
            let why = "the profile says it all, in the order of writing";
            return Err(ContentError::Contradiction { key, beside: "profile", why });
        }
        match profile.loaded() {
            None => Err(ContentError::ProfileUnread {
                profile: match profile {
                    ProfileSource::File(path) => path.display().to_string(),
                    ProfileSource::Loaded(_) => String::new(),
                },
                why: "nobody has loaded it".into(),
            }),
            Some(profile) if profile.block_bytes != self.block.0 => {
                Err(ContentError::Contradiction {
                    key: "block",
                    beside: "profile",
                    why: "the profile was taken with blocks of another size",
                })
            }
            _ => Ok(()),
        }
    }

    fn validate_scope(&self) -> Result<(), ContentError> {
        if self.scope == Scope::Written {
            return Ok(());
        }
        let refused =
            |key, why| Err(ContentError::Contradiction { key, beside: "scope = \"live\"", why });
        if self.distance.is_some() || self.window.is_some() {
            let key = if self.distance.is_some() { "distance" } else { "window" };
            return refused(
                key,
                "live duplicates are drawn from a pool at each write, \
                 so that overwrites keep their share; how far back they reach follows from that",
            );
        }
        if self.popularity != Popularity::Uniform {
            return refused(
                "popularity",
                "a pool content that is rarely drawn would die out at times",
            );
        }
        if self.domain == Domain::All {
            return refused("domain", "the share is of what one target's addresses hold");
        }
        if self.misaligned.is_some() {
            return refused("misaligned", "a pool content has no neighbour to be shifted into");
        }
        Ok(())
    }

    fn validate_duplicates(&self) -> Result<(), ContentError> {
        let dedupe = self.dedupe.0;
        if dedupe > 0.0 && dedupe + self.zero.0 >= 100.0 || self.zero.0 > 100.0 {
            return Err(ContentError::NothingUnique { dedupe: self.dedupe, zero: self.zero });
        }
        let near = match &self.distance {
            Some(Distance::Previous) => Some("distance = \"previous\""),
            Some(Distance::All) => Some("distance = \"all\""),
            Some(Distance::Histogram(_)) => Some("distance, a histogram"),
            Some(Distance::Recent) | None => None,
        };
        if let (Some(beside), Some(_)) = (near, self.window) {
            let why = "a window belongs to distance = \"recent\"";
            return Err(ContentError::Contradiction { key: "window", beside, why });
        }
        if self.window == Some(0) {
            return Err(ContentError::NoWindow);
        }
        match (&self.distance, self.popularity) {
            (_, Popularity::Uniform) => Ok(()),
            (Some(Distance::Previous), _) => Err(ContentError::Contradiction {
                key: "popularity",
                beside: "distance = \"previous\"",
                why: "repeating the newest content repeats all equally often",
            }),
            (Some(Distance::Histogram(_)), _) => Err(ContentError::Contradiction {
                key: "popularity",
                beside: "distance, a histogram",
                why: "distances of a histogram come with contents that are equally popular",
            }),
            (_, Popularity::Cap(most)) if self.again_per_new() > (most - 1) as f64 + 1e-9 => {
                Err(ContentError::Contradiction {
                    key: "popularity",
                    beside: "dedupe",
                    why: "so many duplicates need contents that come more often than the cap allows",
                })
            }
            _ => Ok(()),
        }
    }

    fn again_per_new(&self) -> f64 {
        let (again, zero) = self.shares();
        again / (1.0 - zero - again).max(f64::MIN_POSITIVE)
    }

    fn validate_saving(&self) -> Result<(), ContentError> {
        let Some(wanted) = self.vdo_saving else { return Ok(()) };
        if self.compress != Compress::None {
            return Err(ContentError::Contradiction {
                key: "vdo_saving",
                beside: "compress",
                why: "each of them says how large compressed blocks are",
            });
        }
        if self.unit() != BLOCK {
            return Err(ContentError::Contradiction {
                key: "vdo_saving",
                beside: "block",
                why: "VDO compresses and packs blocks of 4 KiB",
            });
        }
        let live = self.scope == Scope::Live;
        let most = saving::most(live) * self.new_among_distinct();
        // A request with few digits may mean exactly the most.
        if wanted.fraction() > most + 5e-4 {
            let nearest = Percent((1000.0 * most).floor() / 10.0);
            let why = if live {
                "under random overwrites a physical block stays until the last of its 14 fragments is dead"
            } else {
                "a physical block holds at most 14 fragments"
            };
            return Err(ContentError::SavingUnreachable { asked: wanted, nearest, why });
        }
        Ok(())
    }

    fn validate_compress(&self) -> Result<(), ContentError> {
        let unit = self.unit();
        let Some(bytes) = self.compress.lz4_bytes(unit) else { return self.validate_sizes(unit) };
        let lz4_bytes = Textures::of(self).of_size(bytes).lz4_bytes;
        if lz4_bytes.abs_diff(bytes) <= TOLERANCE {
            return Ok(());
        }
        Err(ContentError::Unreachable {
            asked: self.compress.clone(),
            bytes,
            unit,
            nearest: if lz4_bytes == unit {
                Compress::None
            } else {
                self.compress.with_bytes(lz4_bytes, unit)
            },
        })
    }

    /// Sizes that were listed have to be what LZ4 can give; the ends of a normal distribution are cut.
    fn validate_sizes(&self, unit: usize) -> Result<(), ContentError> {
        let sizes: Vec<usize> = match &self.compress {
            Compress::Sizes(shares) => shares.iter().map(|s| s.lz4_bytes as usize).collect(),
            Compress::Normal { mean_bytes, .. } => vec![mean_bytes.round() as usize],
            _ => Vec::new(),
        };
        let mut textures = Textures::of(self);
        for bytes in sizes {
            let lz4_bytes = textures.of_size(bytes).lz4_bytes;
            if bytes > unit || lz4_bytes.abs_diff(bytes) > TOLERANCE {
                let nearest = Compress::Sizes(vec![crate::SizeShare {
                    lz4_bytes: lz4_bytes as u32,
                    weight: 100.0,
                }]);
                let asked = self.compress.clone();
                return Err(ContentError::Unreachable { asked, bytes, unit, nearest });
            }
        }
        Ok(())
    }

    /// Returns the keys about duplicates that have no effect because the content has no duplicates.
    pub fn idle(&self) -> Vec<&'static str> {
        let keys = [
            ("scope", self.scope != Scope::Written && self.zero.0 == 0.0),
            ("distance", self.distance.is_some()),
            ("window", self.window.is_some()),
            ("popularity", self.popularity != Popularity::Uniform),
            ("domain", self.domain != Domain::Job),
            ("misaligned", self.misaligned.is_some()),
        ];
        let none = self.dedupe.0 == 0.0 && self.profile.is_none();
        keys.into_iter().filter(|(_, given)| none && *given).map(|(key, _)| key).collect()
    }

    /// Returns warnings about requests that will not do what people expect. Costs of flushes are in [`Self::flush_warning`].
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let (sizes, unit) = (self.sizes(), self.unit());
        if let (Sizes::One(bytes), BLOCK) = (&sizes, unit)
            && *bytes < BLOCK
            && sizes.most_sharing() < 2
        {
            warnings.push(Warning::CompressNotPackable {
                asked: self.compress.to_string(),
                lz4_bytes: *bytes,
                nearest: self.compress.with_bytes(reduce::PAYLOAD / 2, BLOCK).to_string(),
            });
        }
        self.warn_of_duplicates(&sizes, &mut warnings);
        if let (Compress::Normal { .. }, Sizes::Many { sorted, .. }) = (&self.compress, &sizes) {
            let least = Textures::of(self).of_size(1).lz4_bytes;
            let cut = sorted
                .iter()
                .filter(|&&size| (size as usize) < least || size as usize >= unit)
                .count();
            let percent = 100.0 * cut as f64 / sorted.len() as f64;
            if percent > 0.1 {
                warnings.push(Warning::SizesCut { percent });
            }
        }
        warnings
    }

    fn warn_of_duplicates(&self, sizes: &Sizes, warnings: &mut Vec<Warning>) {
        let (again, _) = self.shares();
        if again <= 0.0 || self.scope == Scope::Live {
            return;
        }
        let written = Written::new(self, units::Seed(0));
        let sharing = if self.unit() == BLOCK { sizes.most_sharing() } else { 1 };
        let references = written.most_references().unwrap_or(0).saturating_mul(sharing);
        if references > MOST_REFERENCES {
            warnings.push(Warning::ReferencesCapped { references, most: MOST_REFERENCES });
        }
        if let (true, Popularity::Cap(most)) = (Written::capped_to_previous(self), self.popularity)
        {
            let enough = (self.again_per_new() / 0.97).floor() as u64 + 2;
            warnings.push(Warning::CapMeansPrevious { most, enough });
        }
        self.warn_of_packing(again, sizes, warnings);
        let reach = match &self.distance {
            Some(Distance::Previous) => Some(1),
            Some(Distance::Recent) | None => Some(self.window_blocks()),
            Some(Distance::All) => None,
            Some(Distance::Histogram(shares)) => shares.iter().map(|share| share.from).min(),
        };
        let profile = self.profile.as_ref().and_then(ProfileSource::loaded).is_some();
        let record_blocks = RECORD / self.block.0;
        match reach {
            Some(blocks) if blocks < record_blocks && !profile && self.misaligned.is_none() => {
                warnings.push(Warning::NearDuplicates { blocks, record_blocks });
            }
            _ => {}
        }
    }

    fn warn_of_packing(&self, again: f64, sizes: &Sizes, warnings: &mut Vec<Warning>) {
        if self.vdo_saving.is_none_or(|saving| saving.0 <= 0.0) {
            return;
        }
        let enough_blocks =
            min_distance(again / (1.0 - self.zero.fraction()).max(f64::MIN_POSITIVE));
        let nearest_blocks = match (&self.distance, self.popularity) {
            (Some(Distance::Previous), _) | (_, Popularity::Cap(_)) => 1,
            (Some(Distance::Histogram(shares)), _) => {
                shares.iter().map(|share| share.from).min().unwrap_or(1)
            }
            (Some(Distance::All), _) => u64::MAX,
            (Some(Distance::Recent) | None, _) => (self.window_blocks() / 4).max(1),
        };
        if nearest_blocks < enough_blocks {
            let without_percent = sizes.packer_saving_percent();
            warnings.push(Warning::DuplicatesUnderWay {
                nearest_blocks,
                enough_blocks,
                without_percent,
            });
        }
    }

    /// Returns a warning about the saving that VDO's packer loses because `jobs` jobs write only `blocks` blocks in all: contents that are
    /// repeated at the beginning of a load are stored whole. `None` where that is next to nothing, or the packer has nothing to save.
    pub fn length_warning(&self, blocks: u64, jobs: u32) -> Option<Warning> {
        if self.scope == Scope::Live || self.unit() != BLOCK {
            return None;
        }
        let (again, zero) = self.shares();
        let contents = Written::new(self, units::Seed(0)).beginning()?;
        let orders = if self.domain == Domain::Job { u64::from(jobs.max(1)) } else { 1 };
        let distinct = blocks as f64 * (1.0 - again - zero);
        let contents = (contents as f64 * orders as f64).min(distinct);
        let without_percent = self.sizes().packer_saving_percent();
        let with_percent = without_percent * (1.0 - contents / distinct.max(1.0));
        (without_percent - with_percent > SHORT_POINTS).then_some(Warning::ShortForPacking {
            contents: contents as u64,
            distinct_blocks: distinct as u64,
            without_percent,
            with_percent,
        })
    }
}
