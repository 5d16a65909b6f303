//! Reads a result: whatever a finished or a killed run left, and what is missing from it.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::checksums::{self, Seal};
use crate::frames::{self, Damage};
use crate::identity;
use crate::model::{CellEntry, CellRecord, CellState, Manifest, Row, SCHEMA, plain_and_raw};
use crate::packed;
use crate::parts::{self, LONGEST, LONGEST_EXPERIMENT};
use crate::proofs::{self, KeptProof};
use crate::recover::{RecoveredStage, recover};
use crate::sink::DirSink;
use crate::standing::progress;
use crate::transcript::{self, TranscriptEntry};
use crate::whole::{self, Lacks};
use crate::writer::{CELL_RECORD, CELLS, EXPERIMENT, LAB, MANIFEST, ROWS, TRANSCRIPT};

/// A result as read.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultSet {
    /// Its directory.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// The experiment as given; `None` when it was not kept.
    pub experiment_toml: Option<String>,
    /// Every cell of the plan in the order of running.
    pub cells: Vec<CellData>,
    /// Every external command and action.
    pub transcript: Vec<TranscriptEntry>,
    /// Number of lines of the transcript that could not be read.
    pub lost_lines: usize,
    /// Files of the lab by name (`console.log`, `kernel.log`), as text.
    pub lab_files: BTreeMap<String, String>,
    /// The proofs of its findings.
    pub proofs: Vec<KeptProof>,
    /// The reason why it is incomplete; `None` when it is complete.
    pub incomplete: Option<String>,
    /// The progress of the run that still writes it, in words; `None` if no run does, or if no lock can show it.
    pub going_on: Option<String>,
    /// The outcome of checking its files against the seal.
    pub seal: Seal,
}

/// A cell as read.
#[derive(Debug, Clone, PartialEq)]
pub struct CellData {
    /// The cell's entry in the manifest.
    pub entry: CellEntry,
    /// Its record; `None` when there is none or it cannot be read.
    pub record: Option<CellRecord>,
    /// Its rows in the order they were written.
    pub rows: Vec<Row>,
    /// The parts of its rows that were lost.
    pub damage: Vec<Damage>,
    /// For a cell that did not end: its stages as far as its rows tell. Empty when the record has them all.
    pub recovered: Vec<RecoveredStage>,
    /// Planned parts that are missing from its files; empty for a cell that is not done.
    pub lacks: Vec<String>,
}

impl CellData {
    /// Makes an undamaged cell that lacks nothing.
    pub fn new(entry: CellEntry, record: Option<CellRecord>, rows: Vec<Row>) -> Self {
        Self { entry, record, rows, damage: vec![], recovered: vec![], lacks: vec![] }
    }

    /// Tells whether it is done and complete, so that a continued run keeps it.
    pub fn is_whole(&self) -> bool {
        self.done() && self.damage.is_empty() && self.lacks.is_empty()
    }

    /// Returns its state, by its record and the manifest. These differ after a kill (the record is written
    /// first), and after the death of a guest, where the manifest decides that the cell failed.
    pub fn state(&self) -> CellState {
        let record = self.record.as_ref().map(|record| record.state);
        let either = |state| record == Some(state) || self.entry.state == state;
        match record {
            _ if either(CellState::Failed) => CellState::Failed,
            _ if either(CellState::Interrupted) => CellState::Interrupted,
            Some(CellState::Done) => CellState::Done,
            _ => self.entry.state,
        }
    }

    /// Tells whether its figures count: all stages ran, the stack is down, and there is a record of it.
    pub fn done(&self) -> bool {
        let recorded = self.record.as_ref().is_some_and(|record| record.state == CellState::Done);
        recorded && self.state() == CellState::Done
    }

    /// Returns why it failed or was interrupted.
    pub fn reason(&self) -> Option<&str> {
        let record = self.record.as_ref().and_then(|record| record.reason.as_deref());
        record.or(self.entry.reason.as_deref())
    }
}

impl ResultSet {
    /// Tells whether nothing is missing from it.
    pub fn complete(&self) -> bool {
        self.incomplete.is_none()
    }

    /// Returns the cells of one variant, in the order of repeats.
    pub fn cells_of<'a>(&'a self, variant: &'a str) -> impl Iterator<Item = &'a CellData> {
        let mut cells: Vec<_> = self.cells.iter().filter(|c| c.entry.variant == variant).collect();
        cells.sort_by_key(|cell| cell.entry.repeat);
        cells.into_iter()
    }
}

/// The reason why a directory cannot be read as a result.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing at this path.
    #[error("There is no result at {0}; name the directory that a run wrote (it holds {MANIFEST})")]
    Missing(PathBuf),
    /// It is something else.
    #[error(
        "{0} is not a result: it holds no {MANIFEST}; name the directory that a run wrote with --out"
    )]
    NotAResult(PathBuf),
    /// A run was killed before it wrote anything.
    #[error("{0} is empty: its run was cut off before it wrote anything; remove it and run again")]
    Empty(PathBuf),
    /// It was written by a later version.
    #[error(
        "{path} has layout {found} (written by fathom {written_by}), this fathom reads layouts up to \
         {SCHEMA}; read it with fathom {written_by} or later"
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Version of its layout.
        found: u64,
        /// The program that wrote it.
        written_by: String,
    },
    /// The manifest exists and cannot be parsed.
    #[error("{path} is damaged; it is replaced only whole, so something else changed it")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The manifest is readable, but contradicts itself.
    #[error(
        "{path} contradicts itself: {what}; it is replaced only whole, so something else changed it"
    )]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        what: String,
    },
    /// It is a packed result, and damaged.
    #[error(transparent)]
    Packed(#[from] packed::PackError),
    /// The system refused.
    #[error("Cannot read {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Reads the result in `dir`, a directory or a packed result. Whatever a kill leaves after the manifest was first written is readable;
/// [`ResultSet::incomplete`] then says what is missing.
pub fn open(dir: &Path) -> Result<ResultSet, ReadError> {
    if packed::is_packed(dir) {
        let unpacked = packed::unpacked(dir)?;
        return Ok(ResultSet { path: dir.to_owned(), ..read_from(unpacked.path(), false)? });
    }
    read_from(dir, false)
}

/// Reads the result in `dir`; with `held`, this process holds its lock.
fn read_from(dir: &Path, held: bool) -> Result<ResultSet, ReadError> {
    let manifest = read_manifest(dir)?;
    if let Some(what) = identity::contradiction(&manifest) {
        return Err(ReadError::Contradiction { path: dir.join(MANIFEST), what });
    }
    let mut missing = Missing::default();
    let (mut cells, mut foreign) = (Vec::with_capacity(manifest.cells.len()), Vec::new());
    for entry in &manifest.cells {
        let (mut cell, mut other) = read_cell(dir, &manifest, entry, &mut missing.lacks)?;
        let before = cells.iter().filter_map(|cell: &CellData| cell.record.as_ref());
        let copied =
            cell.record.as_ref().and_then(|record| identity::copied(&manifest, record, before));
        if let Some(what) = copied {
            other = Some(format!("{CELLS}/{}/{what}", entry.folder));
            cell = CellData::new(entry.clone(), None, Vec::new());
        }
        missing.note(&cell, other.is_some());
        foreign.extend(other);
        cells.push(cell);
    }
    let mut part = |name: &str, longest| {
        let path = dir.join(name);
        let read = parts::limited((&path, name), longest, &mut missing.lacks);
        read.map_err(|source| ReadError::Io { path, source })
    };
    let transcript = part(TRANSCRIPT, LONGEST)?;
    let experiment = part(EXPERIMENT, LONGEST_EXPERIMENT)?;
    let (transcript, lines_lost) =
        transcript.map_or((Vec::new(), 0), |text| transcript::read(&text));
    missing.transcript_lines = lines_lost;
    let experiment_toml = experiment.map(|bytes| text(&bytes));
    if experiment_toml.as_ref().is_none_or(String::is_empty) {
        missing.lacks.add("there is no experiment".to_owned(), EXPERIMENT);
    }
    let lacks: Vec<_> =
        cells.iter().map(|cell| lacks(&manifest, cell, &cells, &transcript)).collect();
    for (cell, lacks) in cells.iter_mut().zip(lacks) {
        lacks.iter().for_each(|what| missing.lacks.add(what.clone(), &cell.entry.folder));
        cell.lacks = lacks;
    }
    let lab_files = read_lab(&dir.join(LAB), &mut missing.lacks)?;
    let goes_on = if held { Some(false) } else { goes_on(dir, &manifest) };
    let incomplete = missing.reason(&manifest, goes_on);
    let going_on = goes_on.filter(|on| *on).map(|_| {
        let states: Vec<CellState> = cells.iter().map(CellData::state).collect();
        progress(&manifest, &states)
    });
    let seal = checksums::check(dir).map_err(|(path, source)| ReadError::Io { path, source })?;
    Ok(ResultSet {
        path: dir.to_owned(),
        experiment_toml,
        cells,
        transcript,
        lost_lines: lines_lost,
        lab_files,
        proofs: proofs::read(dir),
        seal: seal.with_faults(foreign),
        incomplete,
        going_on,
        manifest,
    })
}

/// Finds what a finished cell lacks, compared with its plan and with the other cells of its variant.
fn lacks(
    manifest: &Manifest,
    cell: &CellData,
    cells: &[CellData],
    transcript: &[TranscriptEntry],
) -> Vec<String> {
    let Some(record) = cell.record.as_ref().filter(|_| cell.done()) else { return Vec::new() };
    let rows = cell.damage.is_empty().then_some(&cell.rows[..]);
    let mut lacks = whole::lacking(manifest, record, rows, transcript);
    let alike = cells.iter().filter(|other| other.done()).filter_map(|other| other.record.as_ref());
    let alike: Vec<_> = alike.filter(|other| other.variant == record.variant).collect();
    lacks.extend(whole::fewer_figures(manifest, record, &alike));
    lacks
}

/// Reads the result that `sink` holds open, even if its path now leads elsewhere.
pub fn open_held(sink: &DirSink) -> Result<ResultSet, ReadError> {
    Ok(ResultSet { path: sink.name().to_owned(), ..read_from(sink.way(), true)? })
}

fn read_manifest(dir: &Path) -> Result<Manifest, ReadError> {
    let path = dir.join(MANIFEST);
    let read = parts::optional(&path, LONGEST);
    let Some(bytes) = read.map_err(|source| ReadError::Io { path: path.clone(), source })? else {
        return Err(why_no_manifest(dir));
    };
    let broken = |source| ReadError::Manifest { path: path.clone(), source };
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(broken)?;
    let found = value.get("schema").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found > u64::from(SCHEMA) {
        let written_by = value.get("tool_version").and_then(|v| v.as_str()).unwrap_or("unknown");
        let written_by = written_by.to_owned();
        return Err(ReadError::Newer { path: dir.to_owned(), found, written_by });
    }
    serde_json::from_value(value).map_err(broken)
}

fn why_no_manifest(dir: &Path) -> ReadError {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return ReadError::Missing(dir.into()),
        Err(_) => return ReadError::NotAResult(dir.into()),
    };
    let fresh = format!("{MANIFEST}.new");
    let all_ours = entries.flatten().all(|entry| entry.file_name().to_string_lossy() == fresh);
    if all_ours { ReadError::Empty(dir.into()) } else { ReadError::NotAResult(dir.into()) }
}

/// Reads a cell, and the reason why the files in its folder are not its own, if so: they are ignored then.
fn read_cell(
    dir: &Path,
    manifest: &Manifest,
    entry: &CellEntry,
    lacks: &mut Lacks,
) -> Result<(CellData, Option<String>), ReadError> {
    let folder = dir.join(CELLS).join(&entry.folder);
    let path = folder.join(CELL_RECORD);
    let name = format!("{CELLS}/{}/{CELL_RECORD}", entry.folder);
    let record = parts::limited((&path, &name), LONGEST, lacks);
    let record = record.map_err(|source| ReadError::Io { path, source })?;
    let record: Option<CellRecord> = record.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let (rows, damage) = rows(&folder.join(ROWS))?;
    let foreign =
        record.as_ref().and_then(|record| identity::foreign(manifest, entry, record, &rows));
    if let Some(what) = foreign {
        let entry = entry.clone();
        let what = format!("{CELLS}/{}/{what}", entry.folder);
        return Ok((CellData::new(entry, None, Vec::new()), Some(what)));
    }
    let ended = record.as_ref().is_some_and(|record| record.state.is_final());
    let recovered = if ended { Vec::new() } else { recover(&rows) };
    let cell = CellData { damage, recovered, ..CellData::new(entry.clone(), record, rows) };
    Ok((cell, None))
}

/// Tells whether a run still writes into a result; `None` if the directory cannot be locked, so that this is unknown.
fn goes_on(dir: &Path, manifest: &Manifest) -> Option<bool> {
    if manifest.outcome.is_some() {
        return Some(false);
    }
    match File::open(dir).ok()?.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Reads the rows of a log, which may be missing.
fn rows(path: &Path) -> Result<(Vec<Row>, Vec<Damage>), ReadError> {
    match sys::input::open(path).and_then(frames::read) {
        Ok(read) => Ok(read),
        Err(error) if parts::is_missing(&error) => Ok((Vec::new(), Vec::new())),
        Err(source) => Err(ReadError::Io { path: path.to_owned(), source }),
    }
}

fn read_lab(folder: &Path, lacks: &mut Lacks) -> Result<BTreeMap<String, String>, ReadError> {
    let broken = |source| ReadError::Io { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => return Err(broken(source)),
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(broken)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && !name.ends_with(".new") {
            let (path, place) = (entry.path(), format!("{LAB}/{name}"));
            let read = parts::limited((&path, &place), LONGEST, lacks);
            let read = read.map_err(|source| ReadError::Io { path, source })?;
            files.extend(read.map(|bytes| (name, text(&bytes))));
        }
    }
    Ok(files)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The description of a cell that had begun when its run was cut off.
const CUT_OFF: &str = "cut off while running";

/// Counts the parts that are missing from a result.
#[derive(Default)]
struct Missing {
    all: usize,
    /// For each state, the number of cells in it, and the first reason known for one of them.
    states: BTreeMap<&'static str, (usize, Option<String>)>,
    frames: usize,
    transcript_lines: usize,
    lacks: Lacks,
}

impl Missing {
    fn note(&mut self, cell: &CellData, foreign: bool) {
        self.frames += cell.damage.len();
        self.all += usize::from(cell.state() != CellState::Skipped);
        let state = match cell.state() {
            _ if foreign => "with the files of another cell",
            CellState::Done if cell.done() => return,
            CellState::Skipped => return,
            CellState::Done => "without a readable record",
            CellState::Pending => "not begun",
            CellState::Running => CUT_OFF,
            CellState::Failed => "failed",
            // A cell that the end of the run interrupted before it did anything.
            CellState::Interrupted if cell.record.is_none() && cell.rows.is_empty() => "not begun",
            CellState::Interrupted => "interrupted",
        };
        let (count, first_reason) = self.states.entry(state).or_default();
        *count += 1;
        if first_reason.is_none() && state != "not begun" {
            *first_reason = cell.reason().map(|reason| plain_and_raw(reason).0.to_owned());
        }
    }

    /// Returns all of it in one sentence without a full stop.
    fn reason(self, manifest: &Manifest, goes_on: Option<bool>) -> Option<String> {
        let mut parts = Vec::new();
        if manifest.outcome.is_none() {
            let why = match goes_on {
                Some(true) => "the run still goes on",
                Some(false) => "the run was killed, or this is a copy from before its end",
                None => "the run was killed, or still goes on",
            };
            parts.push(why.to_owned());
        }
        let not_listed = identity::not_listed(manifest);
        if not_listed > 0 {
            parts.push(format!("{not_listed} cells of the plan are not in {MANIFEST}"));
        }
        let lacking: usize = self.states.values().map(|(count, _)| count).sum();
        if lacking > 0 {
            let words = |(state, (count, why)): (_, (usize, Option<String>))| {
                let why = why.map_or_else(String::new, |why| format!(" ({why})"));
                let state =
                    if goes_on == Some(true) && state == CUT_OFF { "running" } else { state };
                format!("{count} {state}{why}")
            };
            let states: Vec<_> = self.states.into_iter().map(words).collect();
            parts.push(format!(
                "{lacking} of {} cells give no figures: {}",
                self.all,
                states.join(", ")
            ));
        }
        if self.frames > 0 {
            parts.push(format!("rows are damaged in {} places", self.frames));
        }
        if self.transcript_lines > 0 {
            parts.push(match self.transcript_lines {
                1 => "a line of the transcript is damaged".to_owned(),
                lines => format!("{lines} lines of the transcript are damaged"),
            });
        }
        parts.extend(self.lacks.text());
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
