//! Sequential streams of one operation, told apart while they run side by side.

/// Number of recent I/O ends that are remembered: the largest number of sequential streams that are told apart.
const STREAMS: usize = 32;

/// A stream of I/Os, each of which began where the one before ended.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    /// The first byte behind its last I/O; 0 is an unused entry.
    end: u64,
    /// The bytes of all its I/Os.
    bytes: u64,
}

/// The place of an I/O among the streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Tells whether it continues a stream.
    pub goes_on: bool,
    /// The length in bytes of the stream that was forgotten for it.
    pub ended: Option<u64>,
}

/// The last streams of one operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams([Stream; STREAMS]);

impl Streams {
    /// Takes the next I/O, which has a length. If it begins no known stream, it replaces the stream that has been idle longest.
    pub fn take(&mut self, offset: u64, bytes: u64) -> Placed {
        // A first I/O at offset 0 continues no stream.
        let found = self.0.iter().position(|stream| stream.end == offset && stream.end > 0);
        let at = found.unwrap_or(STREAMS - 1);
        let before = self.0[at];
        let goes_on = found.is_some();
        let ended = (!goes_on && before.bytes > 0).then_some(before.bytes);
        let so_far = if goes_on { before.bytes } else { 0 };
        // The stream that continued last comes first.
        self.0[..=at].rotate_right(1);
        self.0[0] =
            Stream { end: offset.saturating_add(bytes), bytes: so_far.saturating_add(bytes) };
        Placed { goes_on, ended }
    }

    /// Returns the lengths in bytes of the streams that may still go on.
    pub fn lengths(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|stream| stream.bytes).filter(|bytes| *bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_tells_its_length_when_it_is_forgotten() {
        let mut streams = Streams::default();
        for step in 0..10 {
            streams.take(step * 4096, 4096);
        }
        assert_eq!(streams.lengths().collect::<Vec<_>>(), [40960]);
        let jumps = (1..=STREAMS as u64).map(|jump| streams.take(jump << 30, 512).ended);
        let ended: Vec<_> = jumps.flatten().collect();
        assert_eq!(ended, [40960], "the oldest gives way to the last of {STREAMS} jumps");
        assert_eq!(streams.lengths().sum::<u64>(), STREAMS as u64 * 512);
        assert_eq!(streams.take((5 << 30) + 512, 512), Placed { goes_on: true, ended: None });
    }
}
