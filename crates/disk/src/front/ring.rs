//! A request as it lies in the guest's memory (virtio 1.2, section 5.2.6): header, bytes, status.

use std::io::{Read, Write};

use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD,
    VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
};
use virtio_queue::DescriptorChain;
use vm_memory::{GuestMemoryLoadGuard, GuestMemoryMmap};

use crate::request::Op;

/// Descriptors of a request.
pub(super) type Chain = DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>;

/// Bytes of the answer to a request for the serial number.
const SERIAL: usize = 20;

/// The request of the guest, read from its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuestRequest {
    /// An operation on the disk.
    Disk { op: Op, offset: u64, length: u64 },
    /// A request for its serial number.
    Serial,
    /// A request that is not known, or cannot be read.
    Unknown,
}

/// Reads what is asked for, and for a write its bytes.
pub(super) fn read_request(chain: &Chain, bytes: &mut Vec<u8>) -> GuestRequest {
    read(chain, bytes).unwrap_or(GuestRequest::Unknown)
}

fn read(chain: &Chain, bytes: &mut Vec<u8>) -> Option<GuestRequest> {
    let mut reader = chain.clone().reader(chain.memory()).ok()?;
    let mut header = [0; 16];
    reader.read_exact(&mut header).ok()?;
    let word = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?));
    let long = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
    let offset = long(&header[8..])?.checked_mul(512)?;
    bytes.clear();
    let disk = |op, offset, length| Some(GuestRequest::Disk { op, offset, length });
    match word(&header)? {
        VIRTIO_BLK_T_IN => disk(Op::Read, offset, room(chain)?),
        VIRTIO_BLK_T_OUT => {
            reader.read_to_end(bytes).ok()?;
            disk(Op::Write, offset, bytes.len() as u64)
        }
        VIRTIO_BLK_T_FLUSH => disk(Op::Flush, 0, 0),
        VIRTIO_BLK_T_DISCARD => {
            let mut segment = [0; 16];
            reader.read_exact(&mut segment).ok()?;
            let length = u64::from(word(&segment[8..])?) * 512;
            disk(Op::Discard, long(&segment)?.checked_mul(512)?, length)
        }
        VIRTIO_BLK_T_GET_ID => Some(GuestRequest::Serial),
        _ => Some(GuestRequest::Unknown),
    }
}

/// Returns the number of bytes that the guest wants, without the status behind them.
fn room(chain: &Chain) -> Option<u64> {
    let writer = chain.clone().writer(chain.memory()).ok()?;
    (writer.available_bytes() as u64).checked_sub(1)
}

/// Writes the answer: bytes and status; returns their length.
pub(super) fn answer(chain: &Chain, bytes: &[u8], well: bool) -> u32 {
    let status = if well { VIRTIO_BLK_S_OK } else { VIRTIO_BLK_S_IOERR };
    put(chain, bytes, status).unwrap_or(0)
}

/// Replies that the disk does not know this request.
pub(super) fn refuse(chain: &Chain) -> u32 {
    put(chain, &[], VIRTIO_BLK_S_UNSUPP).unwrap_or(0)
}

/// Answers with a serial number.
pub(super) fn serial(chain: &Chain, role: &str) -> u32 {
    let mut bytes = [0; SERIAL];
    let length = role.len().min(SERIAL);
    bytes[..length].copy_from_slice(&role.as_bytes()[..length]);
    put(chain, &bytes, VIRTIO_BLK_S_OK).unwrap_or(0)
}

fn put(chain: &Chain, bytes: &[u8], status: u32) -> Option<u32> {
    let mut writer = chain.clone().writer(chain.memory()).ok()?;
    let before = writer.available_bytes().checked_sub(1)?;
    let mut last = writer.split_at(before).ok()?;
    writer.write_all(&bytes[..bytes.len().min(before)]).ok()?;
    last.write_all(&[status as u8]).ok()?;
    u32::try_from(writer.bytes_written() + 1).ok()
}
