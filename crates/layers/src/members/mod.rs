//! Several devices of one size that lvm joins into one volume: shared code of the layers on equal members.

mod health;
mod rules;
mod set;

pub(crate) use health::{FAILED, count_health};
pub(crate) use rules::{CROWDED, FAILED_MEMBER, SLOW};
pub(crate) use set::{INPUTS, MemberSet, SIZE, VOLUME, power_of_two};
