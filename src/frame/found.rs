//! Results of a finished run, read back from its folder.

mod files;
mod keeper;
mod lookup;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use polars::prelude::{DataFrame, DataType, PolarsResult};
use serde_json::Value;

use self::keeper::Keeper;
use self::lookup::Lookup;
pub use self::lookup::Ranking;
use super::rows::{height, metadata, read, sceptically};
use super::{Layout, Staging, StoreError};
use crate::design::Level;

/// Rows of a table that are in memory at a time.
const SLICE: usize = 1 << 18;
/// Most points that are read; of more only some at equal distances.
const MAX_POINTS: u64 = 20_000;

/// What a folder holds of a finished run.
#[derive(Debug)]
pub struct Found {
    pub folder: PathBuf,
    pub manifest: Value,
    pub layout: Layout,
    /// Points that have a value, in plan order.
    pub points: Vec<FoundPoint>,
    /// How far apart those that were read are, the best ones apart; 1 if all were.
    pub stride: u64,
    /// Paired differences from the baseline.
    pub comparisons: Vec<Compared>,
    /// Where a point (number) was compared with the best in a response (position).
    pub bests: HashMap<(u32, usize), Lead>,
    pub claims: Vec<FoundClaim>,
    /// `optimum.json`'s list of searches.
    pub searches: Vec<Value>,
    pub trace: Vec<Evaluation>,
    pub transients: Vec<Instant>,
    lookup: Lookup,
}

/// A point and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPoint {
    pub number: u32,
    pub policy: String,
    /// Number of its scenario among those that have points.
    pub scenario: usize,
    /// Its value on each axis that its policy has, by column.
    pub levels: BTreeMap<String, Level>,
    /// For each of the layout's responses what came of it.
    pub summaries: Vec<Option<Summary>>,
}

/// A row of `summary.parquet`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub n: u64,
    pub mean: f64,
    /// Interval of the mean, where there is one.
    pub ends: Option<(f64, f64)>,
    pub theory: Option<f64>,
    pub z: Option<f64>,
    /// Its value with infinitely many servers.
    pub mean_field: Option<f64>,
}

/// A row of `comparisons.parquet`.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub point: u32,
    /// Position among the layout's responses.
    pub response: usize,
    pub difference: f64,
    pub ends: Option<(f64, f64)>,
    pub p: Option<f64>,
    pub verdict: String,
}

/// A row of `best.parquet`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lead {
    /// The least of its mean gains over the others; older results don't have it.
    pub gain: Option<f64>,
    pub may_be_best: bool,
}

/// A row of `claims.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundClaim {
    /// The number of the point; older results don't have it.
    pub point: Option<u32>,
    pub policy: String,
    pub at: String,
    pub response: String,
    pub published: f64,
    pub simulated: Option<f64>,
    pub ends: Option<(f64, f64)>,
    pub p: Option<f64>,
    pub tolerance: Option<f64>,
    pub verdict: String,
}

/// A row of `trace.parquet`.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub search: String,
    pub scenario: u64,
    pub phase: String,
    pub replications: u64,
    pub value: Option<f64>,
    pub gains: Option<(f64, f64)>,
    /// Where it was, and where the search thought best then, by parameter.
    pub at: BTreeMap<String, f64>,
    pub estimate: BTreeMap<String, f64>,
}

/// A row of `transients.parquet`.
#[derive(Clone, Debug, PartialEq)]
pub struct Instant {
    pub point: u32,
    pub time: f64,
    pub jobs: u32,
    pub mean: f64,
    pub ends: Option<(f64, f64)>,
    pub mean_field: Option<f64>,
}

impl Found {
    /// Reads the results in a folder, of a schema up to `schema`; `older` makes the layout of those
    /// whose manifest has none.
    ///
    /// # Errors
    /// [`StoreError`]: there are none, or something of them can't be read.
    pub fn read(
        folder: &Path,
        schema: u32,
        older: impl FnOnce(&Value) -> Result<Layout, String>,
    ) -> Result<Found, StoreError> {
        let Some(manifest) = Staging::manifest(folder)? else {
            let why = "there is no manifest.json, so it isn't the folder of a finished run";
            return Err(StoreError::said("read", folder, why));
        };
        let path = folder.join("manifest.json");
        let own = manifest["schema"].as_u64().unwrap_or_default();
        if own == 0 || own > u64::from(schema) {
            let why = format!(
                "its results are of schema {own}, and this program knows 1 to {schema}; the program \
                 that made them, or a later one, makes their report"
            );
            return Err(StoreError::said("read", &path, &why));
        }
        let layout = match &manifest["layout"] {
            Value::Null => older(&manifest),
            layout => serde_json::from_value(layout.clone()).map_err(|error| error.to_string()),
        };
        let layout = layout.map_err(|why| StoreError::said("read", &path, &why))?;
        let stride = manifest["counts"]["points"].as_u64().unwrap_or(1).div_ceil(MAX_POINTS).max(1);
        let mut found = Found {
            folder: folder.to_owned(),
            stride,
            points: Vec::new(),
            comparisons: Vec::new(),
            bests: HashMap::new(),
            claims: Vec::new(),
            searches: Vec::new(),
            trace: Vec::new(),
            transients: Vec::new(),
            lookup: Lookup::default(),
            manifest,
            layout,
        };
        let mut keeper =
            Keeper { best: vec![None; found.layout.responses.len()], ..Keeper::default() };
        found.table("summary.parquet", true, |found, frame| {
            found.take_summaries(frame, &mut keeper)
        })?;
        found.end_point(&mut keeper);
        let kept: HashMap<u32, usize> =
            found.points.iter().enumerate().map(|(at, point)| (point.number, at)).collect();
        found.table("comparisons.parquet", true, |found, frame| {
            found.take_comparisons(frame, &kept)
        })?;
        found.table("best.parquet", true, |found, frame| found.take_bests(frame, &kept))?;
        found.table("trace.parquet", found.has_searched(), Found::take_trace)?;
        found.table("transients.parquet", false, |found, frame| {
            found.take_transients(frame, &kept)
        })?;
        found.read_claims()?;
        found.read_searches()?;
        found.index();
        Ok(found)
    }

    /// Reads a parquet file piece by piece, if it is there; some have to be.
    fn table(
        &mut self,
        name: &str,
        is_required: bool,
        mut take: impl FnMut(&mut Found, &DataFrame) -> PolarsResult<()> + Send,
    ) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !is_required => return Ok(()),
            Err(error) => return Err(damaged(&path, error)),
            Ok(_) => {}
        }
        let of = sceptically(|| metadata(&path)).map_err(|error| damaged(&path, error))?;
        self.check_spec(&path, of.get("spec_hash").map(String::as_str))?;
        let read = || {
            let rows = height(&path)?;
            (0..rows).step_by(SLICE).try_for_each(|start| {
                take(self, &read(&path, None, (start, SLICE.min(rows - start)))?)
            })
        };
        sceptically(read).map_err(|error| damaged(&path, error))
    }

    fn take_summaries(&mut self, frame: &DataFrame, keeper: &mut Keeper) -> PolarsResult<()> {
        let measures = self.layout.responses.iter().enumerate();
        let positions: HashMap<String, usize> =
            measures.map(|(at, measure)| (measure.column.clone(), at)).collect();
        let numbers = frame.column("point")?.u32()?;
        let policies = frame.column("policy")?.str()?;
        let responses = frame.column("response")?.str()?;
        let n = frame.column("n")?.u64()?;
        let [mean, low, high] = ["mean", "ci_low", "ci_high"].map(|name| numeric(frame, name));
        let (mean, low, high) = (mean?, low?, high?);
        let (theory, z) = (numeric(frame, "theory")?, numeric(frame, "z")?);
        // Older results don't have it.
        let limit = numeric(frame, "mean_field").unwrap_or_else(|_| vec![None; frame.height()]);
        let axes = Axes::new(frame, &self.axis_columns())?;
        for row in 0..frame.height() {
            let (Some(number), Some(policy)) = (numbers.get(row), policies.get(row)) else {
                continue;
            };
            if self.points.last().is_none_or(|last| last.number != number) {
                self.end_point(keeper);
                self.points.push(FoundPoint {
                    number,
                    policy: policy.to_owned(),
                    scenario: 0,
                    levels: axes.levels(row),
                    summaries: vec![None; self.layout.responses.len()],
                });
            }
            let position = responses.get(row).and_then(|name| positions.get(name));
            let point = self.points.last_mut();
            if let (Some(point), Some(&at), Some(mean)) = (point, position, mean[row]) {
                point.summaries[at] = Some(Summary {
                    n: n.get(row).unwrap_or_default(),
                    mean,
                    ends: low[row].zip(high[row]),
                    theory: theory[row],
                    z: z[row],
                    mean_field: limit[row],
                });
            }
        }
        Ok(())
    }

    fn take_comparisons(
        &mut self,
        frame: &DataFrame,
        kept: &HashMap<u32, usize>,
    ) -> PolarsResult<()> {
        let numbers = frame.column("point")?.u32()?;
        let responses = frame.column("response")?.str()?;
        let verdicts = frame.column("verdict")?.str()?;
        let difference = numeric(frame, "difference")?;
        let (low, high, p) =
            (numeric(frame, "ci_low")?, numeric(frame, "ci_high")?, numeric(frame, "p")?);
        for row in 0..frame.height() {
            let (Some(point), Some(name)) = (numbers.get(row), responses.get(row)) else {
                continue;
            };
            let measures = &self.layout.responses;
            let response = measures.iter().position(|measure| measure.column == name);
            let is_kept = kept.contains_key(&point);
            if let (Some(response), Some(difference), true) = (response, difference[row], is_kept) {
                self.comparisons.push(Compared {
                    point,
                    response,
                    difference,
                    ends: low[row].zip(high[row]),
                    p: p[row],
                    verdict: verdicts.get(row).unwrap_or_default().to_owned(),
                });
            }
        }
        Ok(())
    }

    fn take_bests(&mut self, frame: &DataFrame, kept: &HashMap<u32, usize>) -> PolarsResult<()> {
        let numbers = frame.column("point")?.u32()?;
        let responses = frame.column("response")?.str()?;
        let may_be_best = frame.column("may_be_best")?.bool()?;
        let gain = numeric(frame, "gain").unwrap_or_else(|_| vec![None; frame.height()]);
        for (row, &gain) in gain.iter().enumerate() {
            let (Some(point), Some(name)) = (numbers.get(row), responses.get(row)) else {
                continue;
            };
            let measures = &self.layout.responses;
            let response = measures.iter().position(|measure| measure.column == name);
            if let (Some(response), true) = (response, kept.contains_key(&point)) {
                let may_be_best = may_be_best.get(row).unwrap_or_default();
                self.bests.insert((point, response), Lead { gain, may_be_best });
            }
        }
        Ok(())
    }

    fn take_transients(
        &mut self,
        frame: &DataFrame,
        kept: &HashMap<u32, usize>,
    ) -> PolarsResult<()> {
        let (points, jobs) = (frame.column("point")?.u32()?, frame.column("jobs")?.u32()?);
        let [time, mean, low, high, field] =
            ["time", "mean", "ci_low", "ci_high", "mean_field"].map(|name| numeric(frame, name));
        let (time, mean, low, high, field) = (time?, mean?, low?, high?, field?);
        for row in 0..frame.height() {
            let (Some(point), Some(jobs)) = (points.get(row), jobs.get(row)) else { continue };
            let (Some(time), Some(mean)) = (time[row], mean[row]) else { continue };
            if kept.contains_key(&point) {
                let ends = low[row].zip(high[row]);
                self.transients.push(Instant {
                    point,
                    time,
                    jobs,
                    mean,
                    ends,
                    mean_field: field[row],
                });
            }
        }
        Ok(())
    }

    fn take_trace(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        const OWN: [&str; 14] = [
            "search",
            "scenario",
            "evaluation",
            "phase",
            "iteration",
            "side",
            "value",
            "sd",
            "replications",
            "failed",
            "gain_a",
            "gain_c",
            "stream",
            "first_replication",
        ];
        let (searches, phases) = (frame.column("search")?.str()?, frame.column("phase")?.str()?);
        let scenarios = numeric(frame, "scenario")?;
        let replications = numeric(frame, "replications")?;
        let (value, a, c) =
            (numeric(frame, "value")?, numeric(frame, "gain_a")?, numeric(frame, "gain_c")?);
        let names = frame.get_column_names().into_iter().map(|name| name.as_str());
        let names = names.filter(|name| !OWN.contains(name) && !name.starts_with("estimate_"));
        let mut parameters = Vec::new();
        for name in names {
            let estimate = numeric(frame, &format!("estimate_{name}"))?;
            parameters.push((name, numeric(frame, name)?, estimate));
        }
        let values = |row: usize, estimate: bool| -> BTreeMap<String, f64> {
            let of = parameters.iter().filter_map(|(name, at, best)| {
                let value = if estimate { best[row] } else { at[row] };
                value.map(|value| ((*name).to_owned(), value))
            });
            of.collect()
        };
        for row in 0..frame.height() {
            self.trace.push(Evaluation {
                search: searches.get(row).unwrap_or_default().to_owned(),
                scenario: scenarios[row].unwrap_or_default() as u64,
                phase: phases.get(row).unwrap_or_default().to_owned(),
                replications: replications[row].unwrap_or_default() as u64,
                value: value[row],
                gains: a[row].zip(c[row]),
                at: values(row, false),
                estimate: values(row, true),
            });
        }
        Ok(())
    }

    /// Returns the names of all axis columns, in the order of the layout.
    pub fn axis_columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = Vec::new();
        for axis in self.layout.policies.iter().flat_map(|policy| &policy.axes) {
            if !columns.contains(&axis.column) {
                columns.push(axis.column.clone());
            }
        }
        columns
    }
}

/// Returns the error of a file that isn't what a run wrote.
fn damaged(path: &Path, error: impl std::fmt::Display) -> StoreError {
    let said = error.to_string();
    let said = said.lines().next().unwrap_or_default();
    StoreError::said("read", path, &format!("{said}; running the spec again makes it again"))
}

/// Axis columns of a table.
struct Axes {
    columns: Vec<(String, Cells)>,
}

enum Cells {
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

impl Axes {
    fn new(frame: &DataFrame, names: &[String]) -> PolarsResult<Axes> {
        let mut columns = Vec::new();
        for name in names {
            let column = frame.column(name)?;
            let cells = match column.dtype() {
                DataType::String => {
                    Cells::Texts(column.str()?.iter().map(|text| text.map(str::to_owned)).collect())
                }
                _ => Cells::Numbers(numeric(frame, name)?),
            };
            columns.push((name.clone(), cells));
        }
        Ok(Axes { columns })
    }

    fn levels(&self, row: usize) -> BTreeMap<String, Level> {
        let level = |cells: &Cells| match cells {
            Cells::Numbers(numbers) => numbers[row].map(Level::Number),
            // Where another policy has lists, a column of numbers is one of texts.
            Cells::Texts(texts) => texts[row].clone().map(|text| match text.parse() {
                Ok(number) if Level::Number(number).to_string() == text => Level::Number(number),
                _ => Level::Text(text),
            }),
        };
        let levels = self.columns.iter();
        levels.filter_map(|(name, cells)| Some((name.clone(), level(cells)?))).collect()
    }
}

/// Returns the numbers of a column, of whatever kind they are.
fn numeric(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<f64>>> {
    let column = frame.column(name)?.cast(&DataType::Float64)?;
    Ok(column.f64()?.iter().collect())
}
