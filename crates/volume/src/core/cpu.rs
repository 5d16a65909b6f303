//! The CPU zone: fingerprints, LZ4, comparison. It keeps nothing.

use reduce::{Fingerprint, LARGEST_FRAGMENT, Lz4};

use crate::block::Data;
use crate::core::message::{Post, ToCpu, ToHash, ToLogical, ToPacker, ToPhysical};
use crate::core::rules::{Rule, Rules};
use crate::core::settings::Settings;
use crate::format::block_at;

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
                let found = vio.candidate.and_then(|candidate| block_at(candidate, block));
                let equal = found.is_some_and(|found| *found == *vio.data);
                let equal = equal || !self.rules.hold(Rule::Compared);
                post.physical(ToPhysical::Compared(vio, equal));
            }
            ToCpu::Unpack(vio, block) => {
                let bytes = block_at(vio.old, block).map(|block| Data::new(*block));
                post.logical(ToLogical::ReadDone(vio, bytes));
            }
        }
    }
}
