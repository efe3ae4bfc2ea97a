//! The stream of rows of a run, into replications, summaries and comparisons.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use polars::io::parquet::write::{BatchedWriter, KeyValueMetadata};
use polars::prelude::{Column, DataFrame, DataType};

use crate::engine::{Expected, Output, Row};
use crate::model::KERNELS;
use crate::rng::GENERATOR;
use crate::spec::{Earlier, Experiment, Replications};
use crate::stats::batch::BatchMeans;
use crate::stats::multiple::Verdict;
use crate::stats::{Intervals, Moments};

use super::columns::PointColumns;
use super::comparisons::{Best, Comparison, Ended, Scenario};
use super::long::{Long, column, numbers, parquet, responses};
use super::rows::ROW_GROUP;
use super::transients::Transients;
use super::{REPLICATIONS, Staging, StoreError};

/// Where results come from: what every parquet file carries in its metadata.
#[derive(Clone, Debug)]
pub struct Provenance {
    pub spec_hash: String,
    pub seed: u64,
    pub generator: &'static str,
    pub version: &'static str,
}

impl Provenance {
    pub fn new(experiment: &Experiment) -> Self {
        Provenance {
            spec_hash: format!("{:032x}", experiment.hash),
            seed: experiment.seed,
            generator: GENERATOR,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    pub(super) fn metadata(&self) -> KeyValueMetadata {
        KeyValueMetadata::from_static(self.pairs())
    }

    /// Returns the metadata of a file of rows, which says of which spec it is, so that the rows
    /// can serve another that has them too.
    fn metadata_of_rows(&self, experiment: &Experiment) -> KeyValueMetadata {
        let Earlier { json, files } = experiment.earlier();
        let mut pairs = self.pairs();
        pairs.push(("kernels".to_owned(), KERNELS.to_string()));
        pairs.push(("spec".to_owned(), json));
        pairs.push(("files".to_owned(), files));
        KeyValueMetadata::from_static(pairs)
    }

    fn pairs(&self) -> Vec<(String, String)> {
        vec![
            ("spec_hash".to_owned(), self.spec_hash.clone()),
            ("seed".to_owned(), self.seed.to_string()),
            ("generator".to_owned(), self.generator.to_owned()),
            ("version".to_owned(), self.version.to_owned()),
        ]
    }
}

const SUMMARY: &[(&str, DataType)] = &[
    ("response", DataType::String),
    ("n", DataType::UInt64),
    ("mean", DataType::Float64),
    ("sd", DataType::Float64),
    ("se", DataType::Float64),
    ("ci_low", DataType::Float64),
    ("ci_high", DataType::Float64),
    ("theory", DataType::Float64),
    ("z", DataType::Float64),
    ("mean_field", DataType::Float64),
];

const COMPARISONS: &[(&str, DataType)] = &[
    ("response", DataType::String),
    ("difference", DataType::Float64),
    ("ci_low", DataType::Float64),
    ("ci_high", DataType::Float64),
    ("n", DataType::UInt64),
    ("p", DataType::Float64),
    ("variance_reduction", DataType::Float64),
    ("verdict", DataType::String),
];

const BEST: &[(&str, DataType)] = &[
    ("response", DataType::String),
    ("gain", DataType::Float64),
    ("gain_low", DataType::Float64),
    ("gain_high", DataType::Float64),
    ("may_be_best", DataType::Boolean),
];

/// The results of a run in the making.
pub struct Results<'a> {
    experiment: &'a Experiment,
    point_columns: PointColumns,
    staging: Staging<'a>,
    replications: BatchedWriter<File>,
    summary: Long,
    comparisons: Long,
    best: Long,
    /// Where there are snapshots.
    transients: Option<Transients>,
    rows: Rows,
    summaries: Summaries,
    compared: Vec<Comparison>,
    bests: Vec<Best>,
    /// The point whose rows are coming.
    current: Option<Current>,
    scenario: Scenario<'a>,
    /// Points of which something is kept to the end.
    keep: BTreeSet<u32>,
    kept: Kept,
}

/// A point in the making.
struct Current {
    point: u32,
    moments: Vec<Moments>,
    expected: Expected,
    /// Values per column, where rows are batches of one run.
    batches: Option<Vec<Vec<f64>>>,
}

/// What is kept of a run for its report.
#[derive(Debug, Default)]
pub struct Kept {
    /// For each point that was to be kept the moments of its columns.
    pub moments: BTreeMap<u32, Vec<Moments>>,
    /// For each point that was to be kept the theoretical values of its columns.
    pub theory: BTreeMap<u32, Vec<Option<f64>>>,
    /// For each point that was to be kept, and each of its columns, the p value of "its batches
    /// are not correlated", where rows are batches of one run.
    pub uncorrelated: BTreeMap<u32, Vec<Option<f64>>>,
    /// Comparisons of the points that were to be kept.
    pub comparisons: Vec<Comparison>,
    /// Number of scenarios that were not compared, having no point of the baseline.
    pub without_baseline: u64,
    /// Rows of all points.
    pub rows: u64,
}

/// Rows waiting for their row group.
#[derive(Default)]
struct Rows {
    points: Vec<u32>,
    replications: Vec<u32>,
    /// A list per column of the experiment.
    values: Vec<Vec<Option<f64>>>,
}

/// Summary rows waiting for their row group.
#[derive(Default)]
struct Summaries {
    points: Vec<u32>,
    columns: Vec<usize>,
    moments: Vec<Moments>,
    theory: Vec<Option<f64>>,
    mean_field: Vec<Option<f64>>,
}

impl<'a> Results<'a> {
    /// Opens the files of a run; something of the points in `keep` is kept to the end.
    ///
    /// # Errors
    /// [`StoreError`] when a file can't be written.
    pub fn new(
        experiment: &'a Experiment,
        mut staging: Staging<'a>,
        keep: BTreeSet<u32>,
    ) -> Result<Self, StoreError> {
        let point_columns = PointColumns::new(experiment);
        let provenance = Provenance::new(experiment);
        let metadata = provenance.metadata();
        let mut schema = point_columns.schema();
        schema.insert("replication".into(), DataType::UInt32);
        for column in &experiment.columns {
            schema.insert(column.as_str().into(), DataType::Float64);
        }
        let replications = {
            let metadata = provenance.metadata_of_rows(experiment);
            parquet(&mut staging, REPLICATIONS, &schema, &metadata)?
        };
        let mut long =
            |name, columns| Long::new(&mut staging, name, columns, &point_columns, &metadata);
        let summary = long("summary", SUMMARY)?;
        let comparisons = long("comparisons", COMPARISONS)?;
        let best = long("best", BEST)?;
        let transients = Transients::new(experiment, &mut staging, &point_columns, &metadata)?;
        Ok(Results {
            experiment,
            point_columns,
            staging,
            replications,
            summary,
            comparisons,
            best,
            transients,
            rows: Rows { values: vec![Vec::new(); experiment.columns.len()], ..Rows::default() },
            summaries: Summaries::default(),
            compared: Vec::new(),
            bests: Vec::new(),
            current: None,
            scenario: Scenario::new(experiment),
            keep,
            kept: Kept::default(),
        })
    }

    /// Takes output of the engine in, in plan order.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn take(&mut self, output: Output) -> Result<(), StoreError> {
        match output {
            Output::Begin { point, expected } => self.begin(point, expected),
            Output::Row(row) => self.push(&row),
        }
    }

    fn begin(&mut self, point: u32, expected: Expected) -> Result<(), StoreError> {
        self.end_point()?;
        let ended = self.scenario.begin(point);
        self.end_scenario(ended)?;
        let moments = vec![Moments::default(); self.experiment.columns.len()];
        let batches = match self.experiment.replications {
            Replications::Batches(_) => Some(vec![Vec::new(); moments.len()]),
            _ => None,
        };
        self.current = Some(Current { point, moments, expected, batches });
        Ok(())
    }

    fn push(&mut self, row: &Row) -> Result<(), StoreError> {
        self.kept.rows += 1;
        if let Some(current) = &mut self.current {
            for (moments, &value) in current.moments.iter_mut().zip(&row.values) {
                moments.push(value);
            }
            for (column, &value) in current.batches.iter_mut().flatten().zip(&row.values) {
                column.push(value);
            }
        }
        self.scenario.push(row.replication, &row.values);
        self.rows.points.push(row.point);
        self.rows.replications.push(row.replication);
        for (column, &value) in self.rows.values.iter_mut().zip(&row.values) {
            column.push((!value.is_nan()).then_some(value));
        }
        if self.rows.points.len() == ROW_GROUP { self.flush_rows() } else { Ok(()) }
    }

    /// Writes what is left and returns the staging, for further files, and what was to be kept.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn finish(mut self) -> Result<(Staging<'a>, Kept), StoreError> {
        self.end_point()?;
        let ended = self.scenario.end();
        self.end_scenario(ended)?;
        self.flush_rows()?;
        self.flush_summaries()?;
        self.flush_comparisons()?;
        let end = self.replications.finish();
        end.map_err(|error| self.staging.error(REPLICATIONS, error))?;
        for long in [self.summary, self.comparisons, self.best] {
            long.finish(&self.staging)?;
        }
        if let Some(transients) = self.transients {
            transients.finish((&self.staging, self.experiment, &self.point_columns))?;
        }
        Ok((self.staging, self.kept))
    }

    fn end_point(&mut self) -> Result<(), StoreError> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let Current { point, moments, expected, batches } = current;
        let Expected { theory, mean_field } = expected;
        self.scenario.end_point();
        for (column, (&moments, &theory)) in moments.iter().zip(&theory).enumerate() {
            if moments.n() > 0 {
                self.summaries.points.push(point);
                self.summaries.columns.push(column);
                self.summaries.moments.push(moments);
                self.summaries.theory.push(theory);
                self.summaries.mean_field.push(mean_field.get(column).copied().flatten());
            }
        }
        if let Some(transients) = &mut self.transients {
            let with = (&self.staging, self.experiment, &self.point_columns);
            transients.take(with, point, &moments)?;
        }
        if self.keep.contains(&point) {
            self.kept.moments.insert(point, moments);
            // A batch without a value, being too short for one, is as bad as a correlated one.
            let uncorrelated =
                batches.iter().flatten().map(|means| match BatchMeans::new(means, means.len()) {
                    Some(batches) => batches.p_uncorrelated(),
                    None => means.iter().any(|mean| !mean.is_nan()).then_some(0.0),
                });
            self.kept.uncorrelated.insert(point, uncorrelated.collect());
            self.kept.theory.insert(point, theory);
        }
        if self.summaries.points.len() >= ROW_GROUP { self.flush_summaries() } else { Ok(()) }
    }

    fn end_scenario(&mut self, ended: Ended) -> Result<(), StoreError> {
        let Ended { comparisons, best, without_baseline } = ended;
        self.kept.without_baseline += u64::from(without_baseline);
        let kept = comparisons.iter().filter(|comparison| self.keep.contains(&comparison.point));
        self.kept.comparisons.extend(kept.cloned());
        self.compared.extend(comparisons);
        self.bests.extend(best);
        let full = self.compared.len() >= ROW_GROUP || self.bests.len() >= ROW_GROUP;
        if full { self.flush_comparisons() } else { Ok(()) }
    }

    fn flush_rows(&mut self) -> Result<(), StoreError> {
        let rows = &mut self.rows;
        let height = rows.points.len();
        let mut columns = self.point_columns.build(self.experiment, &rows.points);
        columns.push(Column::new("replication".into(), &rows.replications));
        for (name, values) in self.experiment.columns.iter().zip(&mut rows.values) {
            columns.push(Column::new(name.as_str().into(), &*values));
            values.clear();
        }
        rows.points.clear();
        rows.replications.clear();
        DataFrame::new(height, columns)
            .and_then(|frame| self.replications.write_batch(&frame))
            .map_err(|error| self.staging.error(REPLICATIONS, error))
    }

    fn flush_summaries(&mut self) -> Result<(), StoreError> {
        let Summaries { points, columns, moments, theory, mean_field } =
            std::mem::take(&mut self.summaries);
        let mut intervals = Intervals::new(self.experiment.confidence);
        let ends: Vec<_> = moments.iter().map(|moments| intervals.of(moments)).collect();
        let z = moments.iter().zip(&theory).map(|(moments, theory)| z(moments, *theory));
        let own = vec![
            responses(self.experiment, &columns),
            column(moments.iter().map(Moments::n).collect::<Vec<u64>>()),
            numbers(moments.iter().map(Moments::mean)),
            numbers(moments.iter().map(Moments::sd)),
            numbers(moments.iter().map(Moments::se)),
            numbers(ends.iter().map(|ends| ends.map(|ends| ends.low))),
            numbers(ends.iter().map(|ends| ends.map(|ends| ends.high))),
            numbers(theory.iter().copied()),
            numbers(z),
            numbers(mean_field.into_iter()),
        ];
        self.summary.write(&self.staging, self.experiment, &self.point_columns, &points, own)
    }

    fn flush_comparisons(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.compared);
        let points: Vec<u32> = rows.iter().map(|row| row.point).collect();
        let columns: Vec<usize> = rows.iter().map(|row| row.column).collect();
        let own = vec![
            responses(self.experiment, &columns),
            column(rows.iter().map(|row| row.difference).collect::<Vec<f64>>()),
            numbers(rows.iter().map(|row| row.interval.map(|interval| interval.low))),
            numbers(rows.iter().map(|row| row.interval.map(|interval| interval.high))),
            column(rows.iter().map(|row| row.n).collect::<Vec<u64>>()),
            numbers(rows.iter().map(|row| row.p)),
            numbers(rows.iter().map(|row| row.variance_reduction)),
            column(rows.iter().map(|row| verdict(row.verdict)).collect::<Vec<&str>>()),
        ];
        self.comparisons.write(
            &self.staging,
            self.experiment,
            &self.point_columns,
            &points,
            own,
        )?;
        let rows = std::mem::take(&mut self.bests);
        let points: Vec<u32> = rows.iter().map(|row| row.point).collect();
        let columns: Vec<usize> = rows.iter().map(|row| row.column).collect();
        let own = vec![
            responses(self.experiment, &columns),
            column(rows.iter().map(|row| row.with_best.estimate).collect::<Vec<f64>>()),
            column(rows.iter().map(|row| row.with_best.gain.low).collect::<Vec<f64>>()),
            column(rows.iter().map(|row| row.with_best.gain.high).collect::<Vec<f64>>()),
            column(rows.iter().map(|row| row.with_best.may_be_best).collect::<Vec<bool>>()),
        ];
        self.best.write(&self.staging, self.experiment, &self.point_columns, &points, own)
    }
}

/// Returns how many standard errors a mean is above theory; nothing without either. What agrees up
/// to rounding is 0 off; what doesn't, though it never varied, was seen too little to be judged.
pub fn z(moments: &Moments, theory: Option<f64>) -> Option<f64> {
    let (mean, theory, se) = (moments.mean()?, theory?, moments.se()?);
    let off = mean - theory;
    if off.abs() <= 1e-12 * theory.abs() {
        return Some(0.0);
    }
    (se > 0.0).then_some(off / se)
}

/// Returns a verdict's name in files.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Undecided => "undecided",
    }
}
