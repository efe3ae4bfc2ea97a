//! The stream of rows of a run, into replications and summaries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use polars::io::parquet::write::{BatchedWriter, KeyValueMetadata};
use polars::prelude::{Column, CsvWriter, DataFrame, DataType, ParquetWriter, Schema, SerWriter};

use crate::engine::Row;
use crate::rng::GENERATOR;
use crate::spec::Experiment;
use crate::stats::{Intervals, Moments};

use super::columns::PointColumns;
use super::{Staging, StoreError};

/// Rows in a parquet row group; fixed, so that equal rows give equal bytes.
const ROW_GROUP: usize = 1 << 16;

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

    fn metadata(&self) -> KeyValueMetadata {
        KeyValueMetadata::from_static(vec![
            ("spec_hash".to_owned(), self.spec_hash.clone()),
            ("seed".to_owned(), self.seed.to_string()),
            ("generator".to_owned(), self.generator.to_owned()),
            ("version".to_owned(), self.version.to_owned()),
        ])
    }
}

/// The moments of points that were to be kept, by point and column.
type Kept = BTreeMap<u32, Vec<Moments>>;

/// The results of a run in the making.
pub struct Results<'a> {
    experiment: &'a Experiment,
    point_columns: PointColumns,
    staging: Staging,
    replications: BatchedWriter<File>,
    summary: BatchedWriter<File>,
    summary_csv: polars::io::csv::write::BatchedWriter<File>,
    rows: Rows,
    summaries: Summaries,
    /// The point whose rows are coming, with the moments of its columns.
    current: Option<(u32, Vec<Moments>)>,
    /// Points whose moments are kept to the end.
    keep: BTreeSet<u32>,
    kept: BTreeMap<u32, Vec<Moments>>,
    count: u64,
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
    responses: Vec<u32>,
    moments: Vec<Moments>,
}

impl<'a> Results<'a> {
    /// Opens the files of a run; the moments of the points in `keep` are kept to the end.
    ///
    /// # Errors
    /// [`StoreError`] when a file can't be written.
    pub fn new(
        experiment: &'a Experiment,
        mut staging: Staging,
        keep: BTreeSet<u32>,
    ) -> Result<Self, StoreError> {
        let point_columns = PointColumns::new(experiment);
        let metadata = Provenance::new(experiment).metadata();
        let mut schema = point_columns.schema();
        schema.insert("replication".into(), DataType::UInt32);
        for column in &experiment.columns {
            schema.insert(column.as_str().into(), DataType::Float64);
        }
        let replications = parquet(&mut staging, REPLICATIONS, &schema, &metadata)?;
        let mut schema = point_columns.schema();
        schema.insert("response".into(), DataType::String);
        schema.insert("n".into(), DataType::UInt64);
        for column in ["mean", "sd", "se", "ci_low", "ci_high"] {
            schema.insert(column.into(), DataType::Float64);
        }
        let summary = parquet(&mut staging, SUMMARY, &schema, &metadata)?;
        let file = staging.create(SUMMARY_CSV)?;
        let summary_csv = CsvWriter::new(file)
            .batched(&schema)
            .map_err(|error| staging.error(SUMMARY_CSV, error))?;
        Ok(Results {
            experiment,
            point_columns,
            staging,
            replications,
            summary,
            summary_csv,
            rows: Rows { values: vec![Vec::new(); experiment.columns.len()], ..Rows::default() },
            summaries: Summaries::default(),
            current: None,
            keep,
            kept: BTreeMap::new(),
            count: 0,
        })
    }

    /// Takes a row in; rows come in plan order.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn push(&mut self, row: &Row) -> Result<(), StoreError> {
        self.count += 1;
        if self.current.as_ref().is_none_or(|(point, _)| *point != row.point) {
            self.end_point()?;
            self.current = Some((row.point, vec![Moments::default(); row.values.len()]));
        }
        if let Some((_, moments)) = &mut self.current {
            for (moments, &value) in moments.iter_mut().zip(&row.values) {
                moments.push(value);
            }
        }
        self.rows.points.push(row.point);
        self.rows.replications.push(row.replication);
        for (column, &value) in self.rows.values.iter_mut().zip(&row.values) {
            column.push((!value.is_nan()).then_some(value));
        }
        if self.rows.points.len() == ROW_GROUP {
            self.flush_rows()?;
        }
        Ok(())
    }

    /// Writes what is left and returns the staging, for further files, the moments that were to
    /// be kept, and the number of rows.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn finish(mut self) -> Result<(Staging, Kept, u64), StoreError> {
        self.end_point()?;
        self.flush_rows()?;
        self.flush_summaries()?;
        let ends = [(REPLICATIONS, self.replications.finish()), (SUMMARY, self.summary.finish())];
        for (name, end) in ends {
            end.map_err(|error| self.staging.error(name, error))?;
        }
        let end = self.summary_csv.finish();
        end.map_err(|error| self.staging.error(SUMMARY_CSV, error))?;
        Ok((self.staging, self.kept, self.count))
    }

    fn end_point(&mut self) -> Result<(), StoreError> {
        let Some((point, moments)) = self.current.take() else { return Ok(()) };
        for (response, &moments) in moments.iter().enumerate() {
            if moments.n() > 0 {
                self.summaries.points.push(point);
                self.summaries.responses.push(response as u32);
                self.summaries.moments.push(moments);
            }
        }
        if self.keep.contains(&point) {
            self.kept.insert(point, moments);
        }
        if self.summaries.points.len() >= ROW_GROUP {
            self.flush_summaries()?;
        }
        Ok(())
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
        let Summaries { points, responses, moments } = std::mem::take(&mut self.summaries);
        let mut intervals = Intervals::new(self.experiment.confidence);
        let ends: Vec<_> = moments.iter().map(|moments| intervals.of(moments)).collect();
        let names: Vec<&str> = responses
            .iter()
            .map(|&response| self.experiment.columns[response as usize].as_str())
            .collect();
        let mut columns = self.point_columns.build(self.experiment, &points);
        columns.push(Column::new("response".into(), names));
        let counts: Vec<u64> = moments.iter().map(Moments::n).collect();
        columns.push(Column::new("n".into(), counts));
        let mut number = |name: &str, values: Vec<Option<f64>>| {
            columns.push(Column::new(name.into(), values));
        };
        number("mean", moments.iter().map(Moments::mean).collect());
        number("sd", moments.iter().map(Moments::sd).collect());
        number("se", moments.iter().map(Moments::se).collect());
        number("ci_low", ends.iter().map(|ends| ends.map(|ends| ends.low)).collect());
        number("ci_high", ends.iter().map(|ends| ends.map(|ends| ends.high)).collect());
        let frame = DataFrame::new(points.len(), columns)
            .map_err(|error| self.staging.error(SUMMARY, error))?;
        self.summary.write_batch(&frame).map_err(|error| self.staging.error(SUMMARY, error))?;
        self.summary_csv.write_batch(&frame).map_err(|error| self.staging.error(SUMMARY_CSV, error))
    }
}

const REPLICATIONS: &str = "replications.parquet";
const SUMMARY: &str = "summary.parquet";
const SUMMARY_CSV: &str = "summary.csv";

fn parquet(
    staging: &mut Staging,
    name: &str,
    schema: &Schema,
    metadata: &KeyValueMetadata,
) -> Result<BatchedWriter<File>, StoreError> {
    let file = staging.create(name)?;
    ParquetWriter::new(file)
        .set_parallel(false)
        .with_key_value_metadata(Some(metadata.clone()))
        .batched(schema)
        .map_err(|error| staging.error(name, error))
}
