//! Progress of a push, and its end.

/// News of a push under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// The store has so many bytes of it; the number falls when sending begins anew.
    At(u64),
    /// A sentence for people: a retry, or what is not sent again.
    Note(&'a str),
}

/// State of a store after a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is new there.
    Stored,
    /// It took the place of other bytes.
    Replaced,
    /// The same bytes were there already; nothing was sent.
    AlreadyThere,
}
