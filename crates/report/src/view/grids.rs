//! Tables of many similar figures: points of a sweep by variants, levels of one factor by those of others, or many variants by their
//! figures.

use results::model::{FactorFacts, PlanFacts, SweepFacts, VariantFacts};

use super::{CROWD, FigureRow, Scope};
use analysis::own_name;

/// Returns the level of a factor in a variant.
pub(super) fn level<'a>(factor: &FactorFacts, variant: &'a VariantFacts) -> Option<&'a str> {
    variant.levels.get(&factor.name).map(String::as_str)
}

/// The metrics that are shown first if nothing is asked about.
const MAIN: [&str; 3] = ["iops", "throughput_bytes_per_s", "latency_p99_ns"];

/// A table of figures, in which each line is a point, a combination of levels, or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Its figures: `IOPS of randread in read`.
    pub title: String,
    /// The meaning of a line's names: swept keys, factors.
    pub keys: Vec<String>,
    /// The name of the factor whose levels are the columns; `None` where the heads say it themselves.
    pub across: Option<String>,
    /// Heads of the columns, in order.
    pub columns: Vec<String>,
    /// The lines from top to bottom.
    pub lines: Vec<GridLine>,
    /// Tells whether it has figures that are asked about, or that measure a layer's purpose.
    pub headline: bool,
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridLine {
    /// A name for each of the table's keys.
    pub names: Vec<String>,
    /// A cell for each of its columns; `None` where nothing is known.
    pub cells: Vec<Option<GridCell>>,
}

/// The place of a cell's figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridCell {
    /// Index of the row among all figures.
    pub row: usize,
    /// Index of the variant.
    pub variant: usize,
}

impl Grid {
    /// Returns the indices of the rows that it shows.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        let cells = self.lines.iter().flat_map(|line| &line.cells);
        cells.flatten().map(|cell| cell.row)
    }
}

/// Returns a table for each figure of a sweep; for the other rows a matrix of factor levels or, with many variants, a line for each variant. A row is
/// in at most one table.
pub fn grids(plan: &PlanFacts, rows: &[FigureRow]) -> Vec<Grid> {
    let any_asked = rows.iter().any(|row| row.asked);
    let first =
        |row: &FigureRow| row.headline() || !any_asked && MAIN.contains(&row.metric.as_str());
    let mut grids = of_sweeps(plan, rows, &first);
    let swept = |row: &FigureRow| sweep_of(plan, row).is_some();
    let others = || rows.iter().enumerate().filter(|(_, row)| !swept(row) && row.known());
    if let Some(matrix) = Matrix::of(plan) {
        grids.extend(others().map(|(index, row)| matrix.of_row(index, row, first(row))));
    } else if plan.variants.len() > CROWD {
        grids.extend(of_variants(plan, others(), &first));
    }
    grids.retain(|grid| !grid.lines.is_empty());
    grids.sort_by_key(|grid| !grid.headline);
    grids
}

/// Returns the point of a sweep that a row belongs to.
fn sweep_of<'a>(plan: &'a PlanFacts, row: &FigureRow) -> Option<&'a SweepFacts> {
    let stage = row.scope.stage.as_deref()?;
    let mut stages = plan.variants.iter().flat_map(|variant| &variant.stages);
    stages.find(|known| known.name == stage && known.sweep.is_some())?.sweep.as_ref()
}

/// The common properties of one table's rows (scope, metric if they share one, whether they are shown first), and these rows with their
/// points.
type Swept<'a> = (Scope, Option<&'a str>, bool, Vec<(usize, &'a SweepFacts)>);

/// Returns a table for each figure of a sweep, with points as lines and variants as columns; with a single variant, its figures are the columns.
fn of_sweeps(
    plan: &PlanFacts,
    rows: &[FigureRow],
    first: &dyn Fn(&FigureRow) -> bool,
) -> Vec<Grid> {
    let alone = plan.variants.len() < 2;
    let mut tables: Vec<Swept> = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.known()) {
        let Some(sweep) = sweep_of(plan, row) else { continue };
        let scope = Scope { stage: Some(sweep.stage.clone()), of: row.scope.of.clone() };
        let metric = (!alone).then_some(row.metric.as_str());
        let headline = first(row);
        let same = |(of, other, head, _): &Swept| (of, *other, *head) == (&scope, metric, headline);
        match tables.iter_mut().find(|table| same(table)) {
            Some((.., all)) => all.push((index, sweep)),
            None => tables.push((scope, metric, headline, vec![(index, sweep)])),
        }
    }
    let table = |(scope, metric, headline, all): Swept| {
        let label = all.first().map_or("", |(row, _)| rows[*row].label.as_str());
        let mut grid = Grid {
            title: metric.map_or_else(|| scope.name(), |_| format!("{label} of {}", scope.name())),
            keys: keys(&all),
            across: None,
            columns: plan.variants.iter().map(|variant| variant.name.clone()).collect(),
            lines: Vec::new(),
            headline,
        };
        if alone {
            grid.columns.clear();
        }
        for (row, sweep) in all {
            let name = |key: &String| sweep.point.get(key).cloned().unwrap_or_default();
            let line = grid.line(grid.keys.iter().map(name).collect());
            if alone {
                let at = grid.column(&rows[row].label);
                grid.lines[line].set(at, row, 0);
            } else {
                (0..plan.variants.len()).for_each(|at| grid.lines[line].set(at, row, at));
            }
        }
        grid.keep_known(rows)
    };
    tables.into_iter().map(table).collect()
}

/// Returns the swept keys; the one with the most values is last, as it changes from line to line.
fn keys(points: &[(usize, &SweepFacts)]) -> Vec<String> {
    let mut keys: Vec<(&String, Vec<&String>)> = Vec::new();
    for (key, value) in points.iter().flat_map(|(_, sweep)| &sweep.point) {
        match keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => keys.push((key, vec![value])),
        }
    }
    keys.sort_by_key(|(_, values)| values.len());
    keys.into_iter().map(|(key, _)| key.clone()).collect()
}

impl Grid {
    /// Returns the line with these names, a new one if there is none yet.
    fn line(&mut self, names: Vec<String>) -> usize {
        let known = self.lines.iter().position(|line| line.names == names);
        known.unwrap_or_else(|| {
            self.lines.push(GridLine { names, cells: vec![None; self.columns.len()] });
            self.lines.len() - 1
        })
    }

    /// Returns the column with this head, a new one if there is none yet.
    fn column(&mut self, head: &str) -> usize {
        let known = self.columns.iter().position(|column| column == head);
        known.unwrap_or_else(|| {
            self.columns.push(head.to_owned());
            self.columns.len() - 1
        })
    }

    /// Removes cells without a known value, and lines without any.
    fn keep_known(mut self, rows: &[FigureRow]) -> Self {
        let value = |cell: &GridCell| rows[cell.row].values.get(cell.variant).copied().flatten();
        for cell in self.lines.iter_mut().flat_map(|line| &mut line.cells) {
            *cell = cell.filter(|cell| value(cell).is_some());
        }
        self.lines.iter_mut().for_each(|line| line.cells.resize(self.columns.len(), None));
        self.lines.retain(|line| line.cells.iter().any(Option::is_some));
        self
    }
}

impl GridLine {
    fn set(&mut self, at: usize, row: usize, variant: usize) {
        if self.cells.len() <= at {
            self.cells.resize(at + 1, None);
        }
        self.cells[at] = Some(GridCell { row, variant });
    }
}

/// All variants as a matrix: the levels of the factor with the most levels by those of the other factors.
struct Matrix {
    keys: Vec<String>,
    across: String,
    columns: Vec<String>,
    lines: Vec<(Vec<String>, Vec<Option<usize>>)>,
}

impl Matrix {
    /// Makes the matrix; `None` if a variant lacks a level of a factor, if two variants have the same levels, if there are fewer than three variants, or if
    /// there would be only one line or one column.
    fn of(plan: &PlanFacts) -> Option<Self> {
        let across = plan.factors.iter().rev().max_by_key(|factor| factor.levels.len())?;
        let others = || plan.factors.iter().filter(|factor| factor.name != across.name);
        let own_names: Vec<String> =
            plan.variants.iter().map(|variant| own_name(plan, variant)).collect();
        let named = own_names.iter().any(|name| *name != own_names[0]);
        let mut lines: Vec<(Vec<String>, Vec<Option<usize>>)> = Vec::new();
        for (index, variant) in plan.variants.iter().enumerate() {
            let mut names: Vec<String> =
                if named { vec![own_names[index].clone()] } else { Vec::new() };
            for factor in others() {
                names.push(level(factor, variant)?.to_owned());
            }
            let at = across
                .levels
                .iter()
                .position(|known| Some(known.as_str()) == level(across, variant))?;
            let line = lines.iter().position(|(known, _)| *known == names).unwrap_or_else(|| {
                lines.push((names, vec![None; across.levels.len()]));
                lines.len() - 1
            });
            if lines[line].1[at].replace(index).is_some() {
                return None;
            }
        }
        let first = named.then(|| "variant".to_owned());
        let shaped = lines.len() > 1 && across.levels.len() > 1 && plan.variants.len() > 2;
        shaped.then(|| Self {
            keys: first.into_iter().chain(others().map(|factor| factor.name.clone())).collect(),
            across: across.name.clone(),
            columns: across.levels.clone(),
            lines,
        })
    }

    fn of_row(&self, index: usize, row: &FigureRow, headline: bool) -> Grid {
        let cell = |variant: &Option<usize>| {
            let variant = (*variant)?;
            row.values.get(variant)?.as_ref().map(|_| GridCell { row: index, variant })
        };
        let lines = self.lines.iter().map(|(names, variants)| GridLine {
            names: names.clone(),
            cells: variants.iter().map(cell).collect(),
        });
        Grid {
            title: format!("{} of {}", row.label, row.scope.name()),
            keys: self.keys.clone(),
            across: Some(self.across.clone()),
            columns: self.columns.clone(),
            lines: lines.filter(|line| line.cells.iter().any(Option::is_some)).collect(),
            headline,
        }
    }
}

/// Returns tables with a line for each of many variants, and all figures of one operation or layer.
fn of_variants<'a>(
    plan: &PlanFacts,
    rows: impl Iterator<Item = (usize, &'a FigureRow)>,
    first: &dyn Fn(&FigureRow) -> bool,
) -> Vec<Grid> {
    let mut grids: Vec<(Scope, Grid)> = Vec::new();
    for (index, row) in rows {
        let headline = first(row);
        let same = |(scope, grid): &(Scope, Grid)| *scope == row.scope && grid.headline == headline;
        let place = grids.iter().position(same).unwrap_or_else(|| {
            let grid = Grid {
                title: row.scope.name(),
                keys: vec!["variant".to_owned()],
                across: None,
                columns: Vec::new(),
                lines: Vec::new(),
                headline,
            };
            grids.push((row.scope.clone(), grid));
            grids.len() - 1
        });
        let grid = &mut grids[place].1;
        let at = grid.column(&row.label);
        for (variant, facts) in plan.variants.iter().enumerate() {
            let line = grid.line(vec![facts.name.clone()]);
            if row.values.get(variant).copied().flatten().is_some() {
                grid.lines[line].set(at, index, variant);
            }
        }
    }
    grids
        .into_iter()
        .map(|(_, mut grid)| {
            let columns = grid.columns.len();
            grid.lines.iter_mut().for_each(|line| line.cells.resize(columns, None));
            grid.lines.retain(|line| line.cells.iter().any(Option::is_some));
            grid
        })
        .collect()
}
