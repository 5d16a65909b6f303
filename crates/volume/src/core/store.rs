//! Storing a block whole, on which each of three zones may decide.

use crate::core::message::{Post, Then, ToLogical, ToPhysical};
use crate::core::request::{Failure, Task};
use crate::core::rules::{Rule, Rules};
use crate::core::settings::Policy;
use crate::core::vio::Vio;
use crate::format::Mapping;

/// Stores a block whole, in the block that was allocated for it.
pub(crate) fn store_whole(mut vio: Box<Vio>, policy: Policy, rules: Rules, post: &mut Post) {
    match (vio.home, vio.pin) {
        // It is stored already.
        (Some(_), _) if vio.agent => post.physical(ToPhysical::Hold(vio)),
        (Some(home), _) => {
            vio.new = home;
            post.logical(ToLogical::Locate(vio));
        }
        (None, Some(pbn)) => {
            vio.new = Mapping::whole(pbn);
            let fua = durable(policy, rules);
            let task = Task::Write { pbn, data: vio.data.clone(), fua };
            post.bio(task, Then::Stored(vio));
        }
        (None, None) => {
            vio.failed = Some(Failure::NoSpace);
            post.physical(ToPhysical::Drop(vio));
        }
    }
}

/// Tells if data is written durably, since no flush follows before the journal names it.
pub(crate) fn durable(policy: Policy, rules: Rules) -> bool {
    policy == Policy::Sync && rules.hold(Rule::DataDurable)
}
