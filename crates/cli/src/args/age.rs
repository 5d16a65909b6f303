//! `fathom age`

use std::path::PathBuf;

use clap::Args;

/// `fathom age`
#[derive(Debug, Args)]
#[command(after_help = "\
Only data that waits for the disk already is written out (syncfs), since it has no place on the disk before that. No link is followed, \
and no other file system is entered. Exit code 5: something could not be looked at.

Examples:
  fathom age /srv                  files in pieces, the worst of them, and free space by size
  fathom age /srv --json           the same for programs")]
pub struct AgeArgs {
    /// A directory on XFS, ext4, btrfs, or another file system that tells where files lie.
    pub directory: PathBuf,
    /// JSON on standard output, text for people on standard error.
    #[arg(long)]
    pub json: bool,
}
