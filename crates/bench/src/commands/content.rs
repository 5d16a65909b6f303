//! `fathom-bench content`: the speed at which content is made, how exactly it is as asked for, and how dm-vdo stores it.

use std::process::ExitCode;

use crate::content::accuracy::{self, Accuracy, Found};
use crate::content::goals;
use crate::content::grid::{Ask, DUPLICATES, SAVINGS, grid};
use crate::content::peer::{self, PeerSpeed};
use crate::content::speed::{self, Speed, WrittenKind};
use crate::content::vdo::{self, Stored};
use crate::fio::Fio;
use serde_json::json;
use sys::interrupt::Interrupt;

use super::engine_record::failure;
use super::goal;
use crate::args::ContentArgs;
use cli::execute_own;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json_line, say};

/// Shares of duplicates and savings of the quick grid, percent.
const QUICK: [[f64; 3]; 2] = [[0.0, 50.0, 90.0], [SAVINGS[1], SAVINGS[4], SAVINGS[5]]];
/// Bytes of the file that is written for each ask, and for each of the quick grid.
const FILE_BYTES: [u64; 2] = [64 << 20, 32 << 20];
/// Blocks written for each ask in the lab that are not duplicates.
const LAB_DISTINCT: u64 = 12_288;
/// Distance from what was asked for above which the command fails, percentage points.
const MOST_POINTS: f64 = 1.0;
/// Repeats of fio, whose runs are long.
const FIO_REPEATS: usize = 3;

pub fn content(args: &ContentArgs) -> Result<ExitCode, Failure> {
    match (args.lab, args.accuracy) {
        (true, _) => on_vdo(args),
        (_, true) => accuracies(args),
        _ => speeds(args),
    }
}

/// Writes the grid into files and looks at them.
fn accuracies(args: &ContentArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let fio = fio(args)?;
    let folder = match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let folder = folder.map_err(Failure::environment)?;
    let bytes = FILE_BYTES[usize::from(args.quick)];
    let cells = accuracy::measure(&asks(args), bytes, fio.as_ref(), folder.path(), &interrupt)
        .map_err(failure)?;
    if args.json {
        let fio = fio.map(|fio| fio.describe());
        json_line(&json!({ "schema": 1, "bytes": bytes, "fio": fio, "asks": cells }));
    } else {
        answer(&Text::lines_of(&accuracy_table(&cells)));
    }
    let error = |cell: &Accuracy| cell.error_points(&cell.fathom);
    let worst = cells.iter().map(error).fold(0.0, f64::max);
    say(&format!("worst of {} asks: {worst:.2} points from what was asked for", cells.len()));
    Ok(if worst > MOST_POINTS { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn accuracy_table(cells: &[Accuracy]) -> String {
    let mut text = String::from(
        "| asked: duplicates, packer saving, % | Fathom: duplicates | LZ4 | packer | fio: duplicates | LZ4 | packer |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for cell in cells {
        let row = |found: Option<&Found>| {
            let number =
                |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.2}"));
            format!(
                "{} | {} | {}",
                number(found.map(|found| found.duplicate_percent)),
                number(found.and_then(|found| found.lz4_percent)),
                number(found.and_then(|found| found.packer_percent)),
            )
        };
        text.push_str(&format!(
            "| {}, {} | {} | {} |\n",
            cell.ask.duplicate_percent,
            cell.ask.packer_percent,
            row(Some(&cell.fathom)),
            row(cell.fio.as_ref()),
        ));
    }
    text
}

fn speeds(args: &ContentArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let fio = fio(args)?;
    let speeds = speed::measure(args.repeat as usize, &interrupt).map_err(failure)?;
    let peers = match &fio {
        None => Vec::new(),
        Some(fio) => peer::measure(fio, FIO_REPEATS, &interrupt).map_err(failure)?,
    };
    let judged = goals::judged(&speeds, &peers);
    if args.json {
        let peers: Vec<_> = peers.iter().map(|peer| peer_json(peer, &speeds)).collect();
        let fio = fio.map(|fio| json!({ "build": fio.describe(), "speeds": peers }));
        let document = json!({
            "schema": 1, "repeats": args.repeat, "speeds": speeds, "fio": fio, "goals": judged
        });
        json_line(&document);
    } else {
        answer(&Text::lines_of(&speed_table(&speeds)));
        answer(&Text::lines_of(&peer_table(&speeds, &peers)));
        answer(&Text::lines_of(&judged.iter().map(goal::line).collect::<String>()));
    }
    Ok(ExitCode::SUCCESS)
}

fn fio(args: &ContentArgs) -> Result<Option<Fio>, Failure> {
    let wanted = args.against.map(|_| Fio::find(args.fio.as_deref()).map_err(failure));
    wanted.transpose()
}

fn speed_table(speeds: &[Speed]) -> String {
    let mut text = String::from(
        "path      what   content    buffers        GB/s (best)  of plain stores, 95 % interval\n",
    );
    for speed in speeds {
        let number = |value: Option<f64>, unit: f64| {
            value.map_or_else(
                || "–".into(),
                |value| format!("{:.*}", if unit > 1.0 { 1 } else { 2 }, value / unit),
            )
        };
        text.push_str(&format!(
            "{:9} {:6} {:10} {:13} {:>5} ({:>5})  {:>5}  {} to {}\n",
            speed.path,
            speed.what,
            speed.content.map_or("", WrittenKind::text),
            speed.place.to_string(),
            number(speed.bytes_per_second.median, 1e9),
            number(speed.best_bytes_per_second, 1e9),
            number(speed.of_stores.median, 1.0),
            number(speed.of_stores.low, 1.0),
            number(speed.of_stores.high, 1.0),
        ));
    }
    text
}

/// Returns fio's speed as JSON: its own figures, and the ratio.
fn peer_json(peer: &PeerSpeed, speeds: &[Speed]) -> serde_json::Value {
    let mut value = json!(peer);
    value["fathom_times_as_fast"] = json!(peer.fathom_times_as_fast(speeds).median);
    value
}

/// fio's speeds, and how many times as fast the fastest path into one hot block is.
fn peer_table(speeds: &[Speed], peers: &[PeerSpeed]) -> String {
    let mut text = String::new();
    for peer in peers {
        let times = peer.fathom_times_as_fast(speeds).median;
        let (Some(times), Some(theirs)) = (times, peer.bytes_per_second.median) else { continue };
        text.push_str(&format!(
            "fio       fill   {:10} {:13} {:>5.1}          Fathom is {times:.1} times as fast: {}\n",
            peer.content.text(),
            peer.block_size,
            theirs / 1e9,
            peer.line,
        ));
    }
    text
}

fn asks(args: &ContentArgs) -> Vec<Ask> {
    if args.quick { grid(&QUICK[0], &QUICK[1]) } else { grid(&DUPLICATES, &SAVINGS) }
}

/// Runs the grid in the lab, reads its result, and compares.
fn on_vdo(args: &ContentArgs) -> Result<ExitCode, Failure> {
    let asks = asks(args);
    let folder = tempfile::tempdir().map_err(Failure::environment)?;
    let text = vdo::experiment(&asks, LAB_DISTINCT);
    let experiment = ("generator-on-vdo.toml", text.as_str());
    let result = match execute_own(experiment, folder.path(), args.out.as_deref(), &args.machine)? {
        Ok(result) => result,
        Err(code) => return Ok(code),
    };
    let stored = vdo::stored(&result, &asks, LAB_DISTINCT).map_err(Failure::data)?;
    let worst = stored.iter().map(|cell| cell.error_points).fold(0.0, f64::max);
    if args.json {
        json_line(&json!({ "schema": 1, "asks": stored, "worst_points": worst }));
    } else {
        answer(&Text::lines_of(&vdo_table(&stored)));
    }
    say(&format!("worst of {} asks: {worst:.2} points from what was asked for", stored.len()));
    Ok(if worst > MOST_POINTS { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn vdo_table(stored: &[Stored]) -> String {
    let mut text = String::from(
        "| duplicates asked, % | on VDO, % | packer saving asked, % | on VDO, % | saved in all, % | error, points |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for cell in stored {
        text.push_str(&format!(
            "| {} | {:.2} | {:.1} | {:.2} | {:.2} | {:.2} |\n",
            cell.ask.duplicate_percent,
            cell.duplicate_percent,
            cell.ask.packer_percent,
            cell.packer_percent,
            cell.saving_percent,
            cell.error_points,
        ));
    }
    text
}
