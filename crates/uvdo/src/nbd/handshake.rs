//! The agreement before requests: options, until the client has chosen the one export there is.

use std::io::{self, Read, Write};

use crate::nbd::export::Export;
use crate::nbd::wire::{self, MOST, broken};

const NBD: &[u8; 8] = b"NBDMAGIC";
const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const REPLY: u64 = 0x0003_e889_0455_65a9;

// Flags of the handshake, of both sides.
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

// Options.
const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;

// Replies to options.
const ACK: u32 = 1;
const SERVER: u32 = 2;
const DESCRIBED: u32 = 3;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const INVALID: u32 = 1 << 31 | 3;
const UNKNOWN: u32 = 1 << 31 | 6;

// Kinds of information.
const EXPORT: u16 = 0;
const BLOCK_SIZE: u16 = 3;

// Flags of the export.
const HAS_FLAGS: u16 = 1;
const READ_ONLY: u16 = 1 << 1;
const FLUSH: u16 = 1 << 2;
const FUA: u16 = 1 << 3;
const TRIM: u16 = 1 << 5;
const WRITE_ZEROES: u16 = 1 << 6;
const MULTI_CONN: u16 = 1 << 8;

/// The longest option that is read.
const MAX_OPTION_BYTES: u32 = 1 << 16;

/// Negotiates with a client; tells if it goes on to requests.
pub fn agree(from: &mut impl Read, to: &mut impl Write, export: Export) -> io::Result<bool> {
    to.write_all(NBD)?;
    to.write_all(&OPTION.to_be_bytes())?;
    to.write_all(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes())?;
    to.flush()?;
    let flags = wire::u32(from)?;
    if flags & u32::from(FIXED_NEWSTYLE) == 0 {
        return Err(broken("flags without the fixed newstyle handshake"));
    }
    loop {
        if wire::u64(from)? != OPTION {
            return Err(broken("something other than an option"));
        }
        let (option, length) = (wire::u32(from)?, wire::u32(from)?);
        if length > MAX_OPTION_BYTES {
            return Err(broken("an option that is too long"));
        }
        let mut data = vec![0; length as usize];
        from.read_exact(&mut data)?;
        match option {
            // This option has no error reply: a name that is not served can only be cut off.
            EXPORT_NAME if !data.is_empty() => return Ok(false),
            EXPORT_NAME => {
                to.write_all(&export.bytes.to_be_bytes())?;
                to.write_all(&flags_of(export).to_be_bytes())?;
                let zeroes = if flags & u32::from(NO_ZEROES) == 0 { 124 } else { 0 };
                to.write_all(&[0; 124][..zeroes])?;
                to.flush()?;
                return Ok(true);
            }
            ABORT => {
                reply(to, option, ACK, &[])?;
                return Ok(false);
            }
            LIST if data.is_empty() => {
                // One export, whose name is empty.
                reply(to, option, SERVER, &[0; 4])?;
                reply(to, option, ACK, &[])?;
            }
            LIST => reply(to, option, INVALID, b"this option takes no data")?,
            INFO | GO => match name(&data) {
                Some([]) => {
                    describe(to, option, export)?;
                    if option == GO {
                        return Ok(true);
                    }
                }
                Some(_) => reply(to, option, UNKNOWN, b"the only export is the default one, ''")?,
                None => reply(to, option, INVALID, b"the lengths in this option do not fit")?,
            },
            _ => reply(to, option, UNSUPPORTED, &[])?,
        }
    }
}

/// The export's name in an INFO or GO, when its lengths fit.
fn name(data: &[u8]) -> Option<&[u8]> {
    let (length, rest) = data.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, rest) = rest.split_first_chunk()?;
    (rest.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some(name)
}

fn describe(to: &mut impl Write, option: u32, export: Export) -> io::Result<()> {
    let size = export.bytes.to_be_bytes();
    let flags = flags_of(export).to_be_bytes();
    reply(to, option, DESCRIBED, &[&EXPORT.to_be_bytes()[..], &size, &flags].concat())?;
    let [least, preferred, most] = [1, 4096, MOST].map(u32::to_be_bytes);
    let sizes = [&BLOCK_SIZE.to_be_bytes()[..], &least, &preferred, &most].concat();
    reply(to, option, DESCRIBED, &sizes)?;
    reply(to, option, ACK, &[])
}

fn flags_of(export: Export) -> u16 {
    let all = HAS_FLAGS | FLUSH | FUA | TRIM | WRITE_ZEROES | MULTI_CONN;
    if export.read_only { all | READ_ONLY } else { all }
}

fn reply(to: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    to.write_all(&REPLY.to_be_bytes())?;
    to.write_all(&option.to_be_bytes())?;
    to.write_all(&kind.to_be_bytes())?;
    to.write_all(&(data.len() as u32).to_be_bytes())?;
    to.write_all(data)?;
    to.flush()
}
