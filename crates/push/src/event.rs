//! Progress of a push.

/// News of a push under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// The store has so many bytes of it; the number falls when sending begins anew.
    At(u64),
    /// A sentence for people: a retry, or what is not sent again.
    Note(&'a str),
}
