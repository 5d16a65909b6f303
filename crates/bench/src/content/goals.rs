//! Goals of the generator in relation to plain stores and to fio, and the verdicts on its best path.

use crate::content::peer::PeerSpeed;
use crate::content::speed::{Speed, WrittenKind};
use crate::goal::{Goal, Judged};

/// Goal for filling one block that stays in the nearest cache, as a share of the speed of plain stores.
const HOT: f64 = 0.6;
/// Goal for filling many buffers, as a share of the speed of plain stores.
const MANY_BUFFERS_SHARE: f64 = 0.8;
/// Goal for natural blocks, as a share of the speed of plain stores: they are copied from 2 MiB of texts, which have to be read and do not fit into
/// the nearest cache.
const NATURAL: f64 = 0.15;
/// Goal as a multiple of fio's speed.
const FIO: f64 = 10.0;

/// Compares the speed of new blocks, and of blocks half of which are duplicates and which LZ4 halves, with that of plain stores in all places, and
/// with fio's where that was measured.
pub fn judged(speeds: &[Speed], peers: &[PeerSpeed]) -> Vec<Judged> {
    let fills = || speeds.iter().filter(|speed| speed.what == "fill");
    let wanted = [WrittenKind::Unique, WrittenKind::Reduced, WrittenKind::Natural];
    // Paths stand fastest first.
    let best = fills().find(|speed| speed.content.is_some()).map(|speed| speed.path.as_str());
    let best_fills = fills().filter(|speed| Some(speed.path.as_str()) == best);
    let beside_stores = best_fills.filter_map(|speed| {
        let kind = speed.content.filter(|kind| wanted.contains(kind))?;
        let goal = Goal::AtLeast(match (kind, speed.place.buffers) {
            (WrittenKind::Natural, _) => NATURAL,
            (_, 1) => HOT,
            _ => MANY_BUFFERS_SHARE,
        });
        let name = format!("{}, {} into {}, of plain stores", speed.path, kind.text(), speed.place);
        Some(Judged::new(name, "", goal, speed.of_stores))
    });
    let beside_fio = peers.iter().map(|peer| {
        let name = format!("{}, times fio's speed", peer.content.text());
        Judged::new(name, "", Goal::AtLeast(FIO), peer.fathom_times_as_fast(speeds))
    });
    beside_stores.chain(beside_fio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::speed::Place;
    use crate::goal::GoalVerdict;
    use stats::figure;

    fn speed(path: &str, content: Option<WrittenKind>, place: Place, of_stores: f64) -> Speed {
        Speed {
            path: path.into(),
            what: "fill".into(),
            content,
            place,
            bytes_per_second: figure(&[of_stores * 100e9; 5]),
            best_bytes_per_second: None,
            of_stores: figure(&[of_stores; 5]),
        }
    }

    #[test]
    fn the_best_path_is_held_against_stores_in_every_place_and_against_fio() {
        let [hot, many, large] = Place::ALL;
        let speeds = [
            speed("stores", None, hot, 1.0),
            speed("wide", Some(WrittenKind::Unique), hot, 0.9),
            speed("wide", Some(WrittenKind::HalfZero), hot, 0.1),
            speed("wide", Some(WrittenKind::Reduced), hot, 0.7),
            speed("narrow", Some(WrittenKind::Unique), hot, 0.2),
            speed("wide", Some(WrittenKind::Unique), many, 0.9),
            speed("wide", Some(WrittenKind::Reduced), many, 0.7),
            speed("wide", Some(WrittenKind::Reduced), large, 0.85),
            speed("wide", Some(WrittenKind::Natural), many, 0.2),
            speed("wide", Some(WrittenKind::Natural), large, 0.1),
        ];
        let peer = |content, speed: f64| PeerSpeed {
            content,
            line: String::new(),
            block_size: "128k".into(),
            bytes_per_second: figure(&[speed, 1.01 * speed, 1.02 * speed]),
        };
        let peers = [peer(WrittenKind::Unique, 8e9), peer(WrittenKind::Reduced, 8e9)];
        let words = |peers: &[PeerSpeed]| {
            let judged = judged(&speeds, peers);
            judged.iter().map(|judged| judged.word).collect::<Vec<_>>()
        };
        use GoalVerdict::{NotReached, Reached};
        let stores = [Reached, Reached, Reached, NotReached, Reached, Reached, NotReached];
        assert_eq!(words(&[]), stores);
        assert_eq!(words(&peers), [&stores[..], &[Reached, NotReached]].concat());
        let times = judged(&speeds, &peers).pop().unwrap().found;
        assert!((times.median.unwrap() - 70.0 / 8.08).abs() < 1e-9);
        assert!((times.low.unwrap() - 70.0 / 8.16).abs() < 1e-9);
    }
}
