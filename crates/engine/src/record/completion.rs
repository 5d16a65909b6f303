//! One I/O that has ended, as a worker tells it to its recorder.

/// The `error` of a transfer that ended before its full length without an error number.
pub(crate) const SHORT: i32 = -1;
/// The error of an operation that found a file which is not the one that the load made.
pub(crate) const NOT_OURS: i32 = -2;
/// The error of an operation that was done although it should have failed.
pub(crate) const UNFORESEEN: i32 = -3;

/// One I/O that has ended. All times are nanoseconds since the clock's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Completion {
    /// Place of its operation in the load's.
    pub operation: usize,
    /// Place of its target in the load's.
    pub target: usize,
    /// Its first byte on the target.
    pub offset: u64,
    /// Its length, bytes.
    pub length: u32,
    /// When it should have been submitted. In a closed loop the same as `submit_ns`.
    pub intended_ns: u64,
    /// Just before the call that submitted it.
    pub submit_ns: u64,
    /// Just after that call returned. Only looked at when the load asks for it (`split_latency`).
    pub submitted_ns: u64,
    /// Just after it was found to have completed.
    pub reaped_ns: u64,
    /// 0, [`SHORT`], or a positive error number.
    pub error: i32,
}

impl Completion {
    /// Returns what its latency counts from the intended start.
    #[inline]
    pub(crate) fn latency_ns(&self) -> u64 {
        self.reaped_ns.saturating_sub(self.intended_ns)
    }
}
