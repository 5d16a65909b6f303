//! The mark of files that Fathom made and that nobody else has written to since: an extended attribute with the time of the last modification. Later
//! writes by others change that time, so that the mark no longer counts.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::XattrFlags;

/// The attribute.
pub const ATTRIBUTE: &str = "user.fathom.made";

/// Marks a file in its present state. A file system without user attributes keeps no mark.
///
/// # Errors
/// Fails if the file cannot be examined, or keeps no mark.
pub fn mark(file: &File) -> io::Result<()> {
    let value = changed_ns(file)?.to_string();
    Ok(rustix::fs::fsetxattr(file, ATTRIBUTE, value.as_bytes(), XattrFlags::empty())?)
}

/// Tells whether a file is unchanged since Fathom last marked it.
pub fn is_ours(file: &File) -> bool {
    let mut value = [0_u8; 48];
    let Ok(length) = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut value) else { return false };
    let marked = std::str::from_utf8(&value[..length]).ok().and_then(|text| text.parse().ok());
    marked.is_some_and(|marked: i128| changed_ns(file).is_ok_and(|now| now == marked))
}

/// The time of the last modification of the file's data, nanoseconds since 1970.
fn changed_ns(file: &File) -> io::Result<i128> {
    let found = file.metadata()?;
    Ok(i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_mark_counts_until_somebody_writes_into_the_file() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert!(!is_ours(&file));
        if mark(&file).is_err() {
            println!(
                "SKIP a_mark_counts_until_somebody_writes_into_the_file: no user attributes here"
            );
            return;
        }
        assert!(is_ours(&file));
        // The timestamps of some file systems have a resolution of 10 ms.
        std::thread::sleep(std::time::Duration::from_millis(30));
        file.write_all(b"theirs").unwrap();
        assert!(!is_ours(&file));
        mark(&file).unwrap();
        assert!(is_ours(&file));
    }
}
