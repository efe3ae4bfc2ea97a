//! Long tables: rows of points, streamed to parquet and csv alike.

use std::fs::File;

use polars::io::csv::write::BatchedWriter as CsvBatches;
use polars::io::parquet::write::{BatchedWriter as ParquetBatches, KeyValueMetadata};
use polars::prelude::{
    Column, CsvWriter, DataFrame, DataType, NamedFrom, ParquetWriter, Schema, SerWriter, Series,
};

use crate::spec::Experiment;

use super::columns::PointColumns;
use super::{Staging, StoreError};

/// A long table in the making: `point`, `policy`, the axes, and its own columns.
pub(super) struct Long {
    name: &'static str,
    columns: &'static [(&'static str, DataType)],
    parquet: ParquetBatches<File>,
    csv: CsvBatches<File>,
}

impl Long {
    /// Opens `name.parquet` and `name.csv`.
    pub(super) fn new(
        staging: &mut Staging<'_>,
        name: &'static str,
        columns: &'static [(&'static str, DataType)],
        points: &PointColumns,
        metadata: &KeyValueMetadata,
    ) -> Result<Self, StoreError> {
        let mut schema = points.schema();
        for (name, kind) in columns {
            schema.insert((*name).into(), kind.clone());
        }
        let parquet = parquet(staging, &format!("{name}.parquet"), &schema, metadata)?;
        let file = staging.create(&format!("{name}.csv"))?;
        let csv = CsvWriter::new(file).batched(&schema).map_err(|e| staging.error(name, e))?;
        Ok(Long { name, columns, parquet, csv })
    }

    /// Writes rows, given their points and a list per own column.
    pub(super) fn write(
        &mut self,
        staging: &Staging<'_>,
        experiment: &Experiment,
        points: &PointColumns,
        rows: &[u32],
        own: Vec<Column>,
    ) -> Result<(), StoreError> {
        let mut columns = points.build(experiment, rows);
        for (mut column, (name, _)) in own.into_iter().zip(self.columns) {
            column.rename((*name).into());
            columns.push(column);
        }
        DataFrame::new(rows.len(), columns)
            .and_then(|frame| {
                self.parquet.write_batch(&frame)?;
                self.csv.write_batch(&frame)
            })
            .map_err(|error| staging.error(self.name, error))
    }

    /// Ends both files.
    pub(super) fn finish(mut self, staging: &Staging) -> Result<(), StoreError> {
        let ends = self.parquet.finish().and_then(|_| self.csv.finish());
        ends.map_err(|error| staging.error(self.name, error))
    }
}

/// Returns a column of names of responses, given the positions of their columns.
pub(super) fn responses(experiment: &Experiment, columns: &[usize]) -> Column {
    let names = columns.iter().map(|&column| experiment.columns[column].as_str());
    column(names.collect::<Vec<&str>>())
}

/// Returns a column of numbers, some of which may be missing.
pub(super) fn numbers(values: impl Iterator<Item = Option<f64>>) -> Column {
    column(values.collect::<Vec<_>>())
}

/// Returns a column, which has no name yet.
pub(super) fn column<T, Phantom: ?Sized>(values: T) -> Column
where
    Series: NamedFrom<T, Phantom>,
{
    Column::new("".into(), values)
}

/// Opens a parquet file with the metadata of a run.
pub(super) fn parquet(
    staging: &mut Staging<'_>,
    name: &str,
    schema: &Schema,
    metadata: &KeyValueMetadata,
) -> Result<ParquetBatches<File>, StoreError> {
    let file = staging.create(name)?;
    ParquetWriter::new(file)
        .set_parallel(false)
        .with_key_value_metadata(Some(metadata.clone()))
        .batched(schema)
        .map_err(|error| staging.error(name, error))
}
