//! Pages of the kernel's ring buffer, as `trace_pipe_raw` gives them, and the events in them.

/// Places of the fields of an event in its record, as the kernel describes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// The number that records of the event begin with.
    pub id: u16,
    device: DeviceAt,
    sector: usize,
    sectors: usize,
    rwbs: usize,
}

/// The place of the device in a record, and the way in which its sectors are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeviceAt {
    /// Its number in the kernel's own form.
    Whole(usize),
    /// Major and minor number of a device whose driver maps the I/O to the device below, `further` sectors later.
    Above { major: usize, minor: usize, further: u64 },
}

/// Sectors of its backing device that bcache keeps for itself by default (BDEV_DATA_START_DEFAULT in the kernel).
const BCACHE_KEEPS: u64 = 16;

/// One record of an event of the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// The device number in the kernel's own form.
    pub dev: u32,
    pub sector: u64,
    pub sectors: u64,
    /// Tells whether it is a write or discard; `None` where it moves no data.
    pub write: Option<bool>,
}

impl Format {
    /// Reads the text of a `format` file; `None` where a field is missing.
    pub(super) fn of(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        let place = |name: &str| {
            let is = |line: &&str| {
                let declared = line.trim_start().strip_prefix("field:").unwrap_or_default();
                let declared = declared.split(';').next().unwrap_or_default();
                let last = declared.rsplit(' ').next().unwrap_or_default();
                last.split('[').next() == Some(name)
            };
            let line = text.lines().find(is)?;
            let offset = line.split(';').find_map(|part| part.trim().strip_prefix("offset:"))?;
            offset.parse().ok()
        };
        let above = place("orig_major").zip(place("orig_minor"));
        let device = match above {
            Some((major, minor)) => DeviceAt::Above { major, minor, further: BCACHE_KEEPS },
            None => DeviceAt::Whole(place("dev")?),
        };
        Some(Self {
            id,
            device,
            sector: place("sector")?,
            sectors: place("nr_sector")?,
            rwbs: place("rwbs")?,
        })
    }

    /// Reads one record; `None` where it is too short.
    pub(super) fn read(&self, record: &[u8]) -> Option<Record> {
        let rwbs = record.get(self.rwbs..)?;
        // The first letter may say that a flush comes before.
        let letters = rwbs.iter().take(8).take_while(|letter| **letter != 0);
        let mut write = None;
        for letter in letters {
            match letter {
                b'W' | b'D' => write = Some(true),
                b'R' if write.is_none() => write = Some(false),
                _ => {}
            }
        }
        let sector = u64_at(record, self.sector)?;
        let (dev, sector) = match self.device {
            DeviceAt::Whole(at) => (u32_at(record, at)?, sector),
            DeviceAt::Above { major, minor, further } => {
                let dev = kernel_number(u32_at(record, major)?, u32_at(record, minor)?);
                (dev, sector.checked_sub(further)?)
            }
        };
        Some(Record { dev, sector, sectors: u64::from(u32_at(record, self.sectors)?), write })
    }
}

/// Returns a device number in the kernel's own form (MKDEV in linux/kdev_t.h).
pub(super) fn kernel_number(major: u32, minor: u32) -> u32 {
    major << 20 | minor
}

/// Returns the number that a record begins with.
pub(super) fn id_of(record: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(record.get(..2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Offset of the data of a page: after its time, and a `long` with their length.
const DATA: usize = 16;
/// Bits of that `long` that hold the length.
const LENGTH: u64 = 0x000f_ffff;
/// Bits of the time difference that stand in a record's first word.
const DELTA_BITS: u32 = 27;
/// High bits of the time that a record with an absolute time lacks.
const HIGH_TIME: u64 = !((1 << 59) - 1);

/// Calls `on` with the time of each record of a page, nanoseconds of the buffer's clock, and the record.
pub(super) fn records(page: &[u8], mut on: impl FnMut(u64, &[u8])) {
    let (Some(mut time), Some(commit)) = (u64_at(page, 0), u64_at(page, 8)) else { return };
    let end = (DATA + (commit & LENGTH) as usize).min(page.len());
    let mut at = DATA;
    while at + 4 <= end {
        let Some(head) = u32_at(page, at) else { return };
        let (kind, delta) = (head & 0x1f, u64::from(head >> 5));
        let next = u32_at(page, at + 4).map(u64::from);
        let (from, length) = match (kind, next) {
            // The rest of the page is empty.
            (29, _) if delta == 0 => return,
            (29, Some(length)) => {
                at += 4 + length as usize;
                continue;
            }
            (30, Some(high)) => {
                time += (high << DELTA_BITS) + delta;
                at += 8;
                continue;
            }
            (31, Some(high)) => {
                time = (time & HIGH_TIME) | ((high << DELTA_BITS) + delta);
                at += 8;
                continue;
            }
            (0, Some(length)) if length >= 4 => (at + 8, length as usize - 4),
            (1..=28, _) => (at + 4, 4 * kind as usize),
            _ => return,
        };
        time += delta;
        let Some(record) = page.get(from..from + length).filter(|_| from + length <= end) else {
            return;
        };
        on(time, record);
        at = from + length;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::latency) const FORMAT: &str = "name: block_bio_queue
ID: 2097
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:38;\tsize:16;\tsigned:0;
";

    fn record(sector: u64, rwbs: &str) -> Vec<u8> {
        let mut bytes = vec![0; 40];
        bytes[..2].copy_from_slice(&2097_u16.to_le_bytes());
        bytes[8..12].copy_from_slice(&(7 << 20 | 1_u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&sector.to_le_bytes());
        bytes[24..28].copy_from_slice(&8_u32.to_le_bytes());
        bytes[28..28 + rwbs.len()].copy_from_slice(rwbs.as_bytes());
        bytes
    }

    fn head(kind: u32, delta: u32) -> [u8; 4] {
        (delta << 5 | kind).to_le_bytes()
    }

    fn page(time: u64, data: &[Vec<u8>], flags: u64) -> Vec<u8> {
        let data = data.concat();
        let mut page = time.to_le_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_le_bytes());
        page.extend(data);
        page.resize(4096, 0xff);
        page
    }

    #[test]
    fn the_format_of_an_event_says_where_its_fields_are() {
        let format = Format::of(FORMAT).unwrap();
        assert_eq!((format.id, format.device), (2097, DeviceAt::Whole(8)));
        assert_eq!((format.sector, format.rwbs), (16, 28));
        assert_eq!(Format::of(&FORMAT.replace("nr_sector", "length")), None);
        let read = format.read(&record(2048, "FWS")).unwrap();
        assert_eq!(
            (read.dev, read.sector, read.sectors, read.write),
            (7 << 20 | 1, 2048, 8, Some(true))
        );
        let write = |rwbs| format.read(&record(0, rwbs)).unwrap().write;
        assert_eq!(
            ["R", "RA", "DS", "FF", "N", "WFS"].map(write),
            [Some(false), Some(false), Some(true), None, None, Some(true)]
        );
        assert_eq!(format.read(&record(0, "R")[..20]), None);
    }

    #[test]
    fn records_of_a_page_have_their_times_whatever_stands_between_them() {
        let small = |delta, sector| [&head(10, delta)[..], &record(sector, "R")].concat();
        let large = {
            let body = record(3, "W");
            [&head(0, 5)[..], &(body.len() as u32 + 4).to_le_bytes(), &body].concat()
        };
        let data = [
            small(0, 1),
            // 2^27 nanoseconds and 7.
            [&head(30, 7)[..], &1_u32.to_le_bytes()].concat(),
            small(1, 2),
            [&head(29, 3)[..], &8_u32.to_le_bytes(), &[0; 4]].concat(),
            large,
            [&head(31, 9)[..], &2_u32.to_le_bytes()].concat(),
            small(0, 4),
        ];
        let mut found = Vec::new();
        let sector = |record: &[u8]| u64_at(record, 16).unwrap();
        records(&page(1 << 60 | 100, &data, 1 << 31), |time, record| {
            assert_eq!(id_of(record), Some(2097));
            found.push((time, sector(record)));
        });
        let base = 1_u64 << 60;
        let second = base + 100 + (1 << 27) + 8;
        assert_eq!(
            found,
            [(base + 100, 1), (second, 2), (second + 5, 3), (base + (2 << 27) + 9, 4)]
        );
    }

    #[test]
    fn an_io_of_bcache_ends_under_its_own_name_and_at_its_own_sector() {
        let place = |text: &str, offset: u32| {
            format!("\tfield:{text};\toffset:{offset};\tsize:4;\tsigned:0;\n")
        };
        let text = [
            ("dev_t dev", 8),
            ("unsigned int orig_major", 12),
            ("unsigned int orig_minor", 16),
            ("sector_t sector", 24),
            ("dev_t orig_sector", 32),
            ("unsigned int nr_sector", 36),
            ("char rwbs[6]", 40),
        ]
        .map(|(field, offset)| place(field, offset));
        let format = Format::of(&format!("ID: 7\n{}", text.concat())).unwrap();
        let mut record = vec![0; 48];
        for (at, number) in [(8, 7 << 20 | 1), (12, 251), (16, 3), (24, 2064), (36, 8)] {
            record[at..at + 4].copy_from_slice(&u32::to_le_bytes(number));
        }
        record[40] = b'W';
        let read = format.read(&record).unwrap();
        assert_eq!((read.dev, read.sector, read.sectors), (251 << 20 | 3, 2048, 8));
        // An I/O before the data of bcache is not one of its I/Os.
        record[24..28].copy_from_slice(&8_u32.to_le_bytes());
        assert_eq!(format.read(&record), None);
    }

    #[test]
    fn a_page_that_is_cut_off_gives_what_is_whole() {
        let data = [[&head(10, 0)[..], &record(1, "R")].concat(), head(10, 0).to_vec()];
        let mut count = 0;
        records(&page(0, &data, 0), |_, _| count += 1);
        for length in [0, 8, 16, 18] {
            records(&page(0, &data, 0)[..length], |_, _| count += 100);
        }
        assert_eq!(count, 1);
        records(&page(0, &[head(29, 0).to_vec(), data[0].clone()], 0), |_, _| count += 1);
        assert_eq!(count, 1, "nothing follows an empty rest");
    }
}
