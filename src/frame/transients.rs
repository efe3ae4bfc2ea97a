//! The start of replications, instant by instant, beside the mean field.

use std::collections::HashMap;

use polars::io::parquet::write::KeyValueMetadata;
use polars::prelude::DataType;

use crate::model::Moment;
use crate::spec::Experiment;
use crate::stats::{Intervals, Moments};

use super::columns::PointColumns;
use super::long::{Long, column, numbers};
use super::rows::ROW_GROUP;
use super::{Staging, StoreError};

const COLUMNS: &[(&str, DataType)] = &[
    ("time", DataType::Float64),
    ("jobs", DataType::UInt32),
    ("n", DataType::UInt64),
    ("mean", DataType::Float64),
    ("ci_low", DataType::Float64),
    ("ci_high", DataType::Float64),
    ("mean_field", DataType::Float64),
];

/// The table of snapshots in the making: a row for each snapshot of a point and number of jobs.
pub(super) struct Transients {
    table: Long,
    /// Where a column of the experiment is.
    positions: HashMap<String, usize>,
    points: Vec<u32>,
    rows: Vec<(Moment, Moments)>,
}

impl Transients {
    /// Opens `transients.parquet` and `transients.csv`, if the experiment has snapshots.
    pub(super) fn new(
        experiment: &Experiment,
        staging: &mut Staging<'_>,
        points: &PointColumns,
        metadata: &KeyValueMetadata,
    ) -> Result<Option<Transients>, StoreError> {
        if !experiment.has_snapshots() {
            return Ok(None);
        }
        let table = Long::new(staging, "transients", COLUMNS, points, metadata)?;
        let columns = experiment.columns.iter().enumerate();
        let positions = columns.map(|(position, name)| (name.clone(), position)).collect();
        Ok(Some(Transients { table, positions, points: Vec::new(), rows: Vec::new() }))
    }

    /// Takes a point in, given the moments of its columns.
    pub(super) fn take(
        &mut self,
        (staging, experiment, points): (&Staging<'_>, &Experiment, &PointColumns),
        index: u32,
        moments: &[Moments],
    ) -> Result<(), StoreError> {
        let point = experiment.design.point(index);
        let (Some(model), Some(policy)) = (experiment.model(&point), experiment.policy(&point))
        else {
            return Ok(());
        };
        for moment in model.transient(&policy) {
            let Some(&position) = self.positions.get(&moment.column()) else { continue };
            if moments[position].n() > 0 {
                self.points.push(index);
                self.rows.push((moment, moments[position]));
            }
        }
        if self.rows.len() < ROW_GROUP {
            return Ok(());
        }
        self.flush(staging, experiment, points)
    }

    fn flush(
        &mut self,
        staging: &Staging<'_>,
        experiment: &Experiment,
        points: &PointColumns,
    ) -> Result<(), StoreError> {
        let (keys, rows) = (std::mem::take(&mut self.points), std::mem::take(&mut self.rows));
        let mut intervals = Intervals::new(experiment.confidence);
        let ends: Vec<_> = rows.iter().map(|(_, moments)| intervals.of(moments)).collect();
        let own = vec![
            column(rows.iter().map(|(moment, _)| moment.time).collect::<Vec<f64>>()),
            column(rows.iter().map(|(moment, _)| moment.jobs).collect::<Vec<u32>>()),
            column(rows.iter().map(|(_, moments)| moments.n()).collect::<Vec<u64>>()),
            numbers(rows.iter().map(|(_, moments)| moments.mean())),
            numbers(ends.iter().map(|ends| ends.map(|ends| ends.low))),
            numbers(ends.iter().map(|ends| ends.map(|ends| ends.high))),
            numbers(rows.iter().map(|(moment, _)| moment.mean_field)),
        ];
        self.table.write(staging, experiment, points, &keys, own)
    }

    /// Writes what is left, and ends both files.
    pub(super) fn finish(
        mut self,
        (staging, experiment, points): (&Staging<'_>, &Experiment, &PointColumns),
    ) -> Result<(), StoreError> {
        self.flush(staging, experiment, points)?;
        self.table.finish(staging)
    }
}
