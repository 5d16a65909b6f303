//! The ack zone: replies to clients.

use crate::core::message::{Post, ToAck};

/// Hands a reply out.
pub(crate) fn take(message: ToAck, post: &mut Post) {
    let ToAck::Reply(reply) = message;
    post.replies.push(reply);
}
