//! One I/O that has ended, as a worker passes it to its recorder.

/// The `error` of a transfer that ended before its full length without an error number.
pub(crate) const SHORT: i32 = -1;
/// The error of an operation that found a file which is not the one that the load made.
pub(crate) const NOT_OURS: i32 = -2;
/// The error of an operation that was done although it should have failed.
pub(crate) const UNFORESEEN: i32 = -3;

/// One I/O that has ended. All times are nanoseconds since the clock's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Completion {
    /// Index of its operation among the load's operations.
    pub operation: usize,
    /// Index of its target among the load's targets.
    pub target: usize,
    /// Its offset on the target, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub length: u32,
    /// Time at which it should have been submitted. In a closed loop the same as `submit_ns`.
    pub intended_ns: u64,
    /// Time just before the call that submitted it.
    pub submit_ns: u64,
    /// Time just after that call returned. Used only when the load asks for it (`split_latency`).
    pub submitted_ns: u64,
    /// Time just after it was found to have completed.
    pub reaped_ns: u64,
    /// 0, [`SHORT`], or a positive error number.
    pub error: i32,
}

impl Completion {
    /// Returns its latency, which counts from the intended start.
    #[inline]
    pub(crate) fn latency_ns(&self) -> u64 {
        self.reaped_ns.saturating_sub(self.intended_ns)
    }
}
