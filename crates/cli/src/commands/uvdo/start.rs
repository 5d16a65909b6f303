//! `fathom uvdo start`

use std::process::ExitCode;

use host::TargetPermit;
use sys::interrupt::Interrupt;
use uvdo::{Backing, Ended, Place, Server, StartOptions};
use volume::{Discards, Policy, Settings};

use crate::args::{DiscardArg, PolicyArg, StartArgs};
use crate::failure::Failure;
use crate::terminal::{Text, answer, say};

/// Bytes of a leaf of the block map, and of a record of the index.
const LEAF: u64 = 4096;
const RECORD: u64 = 8;

pub fn run(args: &StartArgs) -> Result<ExitCode, Failure> {
    let options = options(args)?;
    // The volume is claimed before anything of it is read.
    let claim = host::claim_target(&args.backing, TargetPermit { destroy: true, create: false })?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let backing = Backing::through(&claim.way(), claim.path(), true)?;
    let place = Place::new(&args.dir);
    let server = Server::start(backing, &place, &options)?;
    let recovery = server.recovery();
    if recovery.needed {
        say(&format!("recovered: {} journal entries replayed", recovery.entries));
    }
    let policy = server.policy().name();
    answer(&Text::from(format!("serving ({policy}): {}", place.uri())));
    let ended = server.run(&interrupt, claim).map_err(Failure::environment)?;
    match ended {
        Ended::Clean => Ok(ExitCode::SUCCESS),
        Ended::AtOnce => {
            say("ended at once: the next start recovers");
            Ok(ExitCode::from(130))
        }
        Ended::ReadOnly(fault) => {
            let fault = fault.unwrap_or_else(|| "its backing failed earlier".into());
            Err(Failure::data(format!("The volume is read-only: {fault}"))
                .with_help("look into the kernel's log (dmesg), copy the data away, and check it"))
        }
    }
}

fn options(args: &StartArgs) -> Result<StartOptions, Failure> {
    let leaves = (args.block_map_cache.0 / LEAF) as usize;
    if leaves < 2 {
        let message = format!("--block-map-cache: {} bytes are too few", args.block_map_cache.0);
        return Err(Failure::usage(message).with_help("give at least 8k, two pages of the map"));
    }
    uvdo::whole_blocks("--max-discard", args.max_discard)?;
    let settings = Settings {
        cache_pages: leaves,
        index_records: (args.index_memory.0 / RECORD) as usize,
        deduplication: !args.no_deduplication,
        compression: !args.no_compression,
        discards: match args.discard {
            DiscardArg::Serial => Discards::Serial,
            DiscardArg::Batch => Discards::Batch,
        },
        ..Settings::default()
    };
    let policy = args.policy.into();
    let (max_discard, memory) = (args.max_discard, args.memory);
    Ok(StartOptions { settings, policy, max_discard, memory })
}

impl From<PolicyArg> for Option<Policy> {
    fn from(arg: PolicyArg) -> Self {
        match arg {
            PolicyArg::Auto => None,
            PolicyArg::Sync => Some(Policy::Sync),
            PolicyArg::Async => Some(Policy::Async),
            PolicyArg::AsyncUnsafe => Some(Policy::AsyncUnsafe),
        }
    }
}
