//! Failed I/Os by kind.

use crate::record::{NOT_OURS, SHORT, UNFORESEEN};

/// Kinds of errors that one tally keeps apart; further kinds share the last entry.
const KINDS: usize = 12;

/// Failed I/Os by error number, in a fixed array so that counting never allocates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Errors([(i32, u64); KINDS]);

impl Errors {
    /// Counts `count` failures of the kind `errno`: [`SHORT`], [`NOT_OURS`], [`UNFORESEEN`], or a positive error number.
    pub(crate) fn add(&mut self, errno: i32, count: u64) {
        let last = KINDS - 1;
        let at = self.0.iter().position(|&(e, n)| e == errno || n == 0).unwrap_or(last);
        if self.0[at].1 == 0 {
            self.0[at].0 = errno;
        } else if self.0[at].0 != errno {
            self.0[at].0 = 0;
        }
        self.0[at].1 += count;
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|&(_, n)| n).sum()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for &(errno, count) in other.0.iter().filter(|&&(_, n)| n > 0) {
            self.add(errno, count);
        }
    }

    /// Counts by name (`ENOSPC`, `short`, `other`).
    pub(crate) fn by_name(&self) -> std::collections::BTreeMap<String, u64> {
        let mut names = std::collections::BTreeMap::new();
        for &(errno, count) in self.0.iter().filter(|&&(_, n)| n > 0) {
            *names.entry(name(errno)).or_default() += count;
        }
        names
    }
}

/// The name of an error number as programmers write it.
fn name(errno: i32) -> String {
    let known = match errno {
        SHORT => "short",
        NOT_OURS => "not ours",
        UNFORESEEN => "done against the books",
        0 => "other",
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EINVAL => "EINVAL",
        libc::EAGAIN => "EAGAIN",
        libc::EINTR => "EINTR",
        libc::ENOMEM => "ENOMEM",
        libc::EPERM => "EPERM",
        libc::EACCES => "EACCES",
        libc::EROFS => "EROFS",
        libc::EFBIG => "EFBIG",
        libc::EDQUOT => "EDQUOT",
        libc::EBUSY => "EBUSY",
        libc::ENODEV => "ENODEV",
        libc::ENXIO => "ENXIO",
        libc::EBADF => "EBADF",
        libc::EFAULT => "EFAULT",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::ECANCELED => "ECANCELED",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EILSEQ => "EILSEQ",
        libc::ENODATA => "ENODATA",
        libc::EREMOTEIO => "EREMOTEIO",
        libc::ENOLINK => "ENOLINK",
        libc::EBADE => "EBADE",
        libc::ENOENT => "ENOENT",
        libc::EEXIST => "EEXIST",
        libc::ENOTDIR => "ENOTDIR",
        libc::EISDIR => "EISDIR",
        libc::ENOTEMPTY => "ENOTEMPTY",
        libc::ELOOP => "ELOOP",
        libc::EXDEV => "EXDEV",
        libc::EMLINK => "EMLINK",
        libc::EMFILE => "EMFILE",
        libc::ENFILE => "ENFILE",
        libc::ENAMETOOLONG => "ENAMETOOLONG",
        libc::ESPIPE => "ESPIPE",
        libc::ESHUTDOWN => "ESHUTDOWN",
        libc::ESTALE => "ESTALE",
        _ => return format!("errno {errno}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_kind_and_none_is_lost_when_kinds_run_out() {
        let mut errors = Errors::default();
        for errno in 1..=30 {
            errors.add(errno, u64::from(errno.unsigned_abs()));
        }
        errors.add(libc::EIO, 1);
        assert_eq!(errors.total(), 30 * 31 / 2 + 1);
        let names = errors.by_name();
        assert_eq!(names["EIO"], 6);
        assert_eq!(names.values().sum::<u64>(), errors.total());
        assert!(names.contains_key("other"), "{names:?}");
    }
}
