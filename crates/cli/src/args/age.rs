//! `fathom age`

use std::path::PathBuf;

use clap::Args;

/// `fathom age`
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is written but what waits for the disk already (syncfs), since it has no place before. No link is followed, and no other file system entered. Exit code 5: something could not be \
looked at.

Examples:
  fathom age /srv                  files in pieces, the worst of them, and free space by size
  fathom age /srv --json           the same for programs")]
pub struct AgeArgs {
    /// A directory on XFS, ext4, btrfs, or another file system that tells where files lie.
    pub directory: PathBuf,
    /// JSON on standard output, people's text on standard error.
    #[arg(long)]
    pub json: bool,
}
