//! Options that are one of a few words.

use crate::text::choice;

choice! {
    /// The way in which jobs divide the work on the range.
    Share is a "share", Split unless said:
    /// Jobs divide each pass: contiguous parts of an ordered pattern, every n-th place of a permutation. Patterns that draw at random use the whole
    /// range in each job.
    Split = "split",
    /// Jobs work on one stream: each takes the next chunk of it.
    Shared = "shared",
    /// Each job does the whole load by itself, over the whole range.
    OperationOverride = "own",
    /// Each job has a contiguous part of the range to itself, whatever the pattern.
    Parts = "parts",
}

choice! {
    /// The places of the hot spots: the blocks that a skewed pattern visits often.
    Hot is a "placement of hot blocks", Contiguous unless said:
    /// All over the range, scattered by a permutation.
    Scattered = "scattered",
    /// Side by side, the most visited first.
    Contiguous = "contiguous",
}

choice! {
    /// The interface of the kernel that drives the target.
    Backend is a "backend", Auto unless said:
    /// Whatever a short probe finds best.
    Auto = "auto",
    /// io_uring.
    IoUring = "io_uring",
    /// Linux native asynchronous I/O.
    Libaio = "libaio",
    /// System calls that wait, on as many threads as the depth.
    Sync = "sync",
}

choice! {
    /// The time at which written data is checked.
    Verify is a "verification", Off unless said:
    /// Never.
    Off = "off",
    /// At each read by the load itself.
    Read = "read",
    /// In a separate pass after the load.
    After = "after",
    /// While the load runs, and after it.
    Both = "both",
}

choice! {
    /// The unit that depth counts.
    DepthUnit is a "unit of depth", Ios unless said:
    /// I/Os in flight.
    Ios = "ios",
    /// Units of 4 KiB in flight.
    Blocks4k = "4k",
}

choice! {
    /// The distances between the intended starts of I/Os of a load with a rate.
    Arrival is a "kind of arrival", Fixed unless said:
    /// At equal distances.
    Fixed = "fixed",
    /// At random, independent of each other (a Poisson process).
    Poisson = "poisson",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_others_are_answered_with_those_there_are() {
        for &backend in Backend::ALL {
            assert_eq!(backend.to_string().parse(), Ok(backend));
            let json = serde_json::to_string(&backend).unwrap();
            assert_eq!(serde_json::from_str::<Backend>(&json).unwrap(), backend);
        }
        let error = "uring".parse::<Backend>().unwrap_err().to_string();
        assert!(
            error.contains("'uring'") && error.contains("auto io_uring libaio sync"),
            "{error}"
        );
        assert_eq!("4k".parse(), Ok(DepthUnit::Blocks4k));
    }
}
