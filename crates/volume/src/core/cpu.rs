//! The CPU zone: fingerprints, LZ4, comparison. It keeps nothing.

use reduce::{Fingerprint, LARGEST_FRAGMENT, Lz4};

use crate::block::{BLOCK, Block, Data};
use crate::core::message::{Post, ToCpu, ToHash, ToLogical, ToPacker, ToPhysical};
use crate::core::rules::{Rule, Rules};
use crate::core::settings::Settings;
use crate::format::{self, Mapping};

/// The CPU zone.
pub(crate) struct Cpu {
    lz4: Lz4,
    rules: Rules,
}

impl Cpu {
    pub fn new(settings: &Settings) -> Self {
        Self { lz4: Lz4::new(), rules: settings.rules() }
    }

    pub fn take(&mut self, message: ToCpu, post: &mut Post) {
        match message {
            ToCpu::Fingerprint(mut vio) => {
                vio.print = Fingerprint::of(&vio.data.0);
                post.hash(ToHash::Enter(vio));
            }
            ToCpu::Compress(mut vio) => {
                let packed = self.lz4.compressed(&vio.data.0).ok();
                // Without a fragment the packer has it stored whole.
                let bytes = packed.filter(|bytes| bytes.len() <= LARGEST_FRAGMENT);
                vio.fragment = bytes.unwrap_or_default().to_vec();
                post.packer(ToPacker::Pack(vio));
            }
            ToCpu::Compare(vio, block) => {
                let found = vio.candidate.and_then(|candidate| bytes_at(candidate, block));
                let equal = found.is_some_and(|found| *found == *vio.data);
                let equal = equal || !self.rules.hold(Rule::Compared);
                post.physical(ToPhysical::Compared(vio, equal));
            }
            ToCpu::Unpack(vio, block) => {
                let bytes = bytes_at(vio.old, block).map(|block| Data::new(*block));
                post.logical(ToLogical::ReadDone(vio, bytes));
            }
        }
    }
}

/// The block that a mapping means, from the block on the device.
fn bytes_at(mapping: Mapping, block: Box<Block>) -> Option<Box<Block>> {
    let Some(slot) = mapping.slot() else { return Some(block) };
    let mut whole = Box::<Block>::default();
    let out: &mut [u8; BLOCK] = &mut whole.0;
    reduce::expand(format::fragment(&block, slot)?, out).then_some(whole)
}
