//! Files of rows by the identity of their point: what a run keeps while it is unfinished.
//!
//! A file has a column for each half of the identity, `replication`, `failure` (JSON, or null) and
//! the responses. Its name ends with a hash of its bytes, so it is known to be whole before a
//! parser, which damage might upset, looks into it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;

use polars::io::parquet::read::ParallelStrategy;
use polars::io::parquet::write::{BatchedWriter, KeyValueMetadata};
use polars::prelude::{
    Column, DataFrame, DataType, ParquetReader, ParquetWriter, PolarsResult, Schema, SerReader,
};

use crate::engine::{Fate, WORKER};
use crate::sim::Failure;

/// Rows in a parquet row group; fixed, so that equal rows give equal bytes.
pub(super) const ROW_GROUP: usize = 1 << 16;

const HIGH: &str = "identity_high";
const LOW: &str = "identity_low";
const REPLICATION: &str = "replication";
const FAILURE: &str = "failure";

/// Rows in memory, in no order but that of their making.
#[derive(Debug, Default)]
pub(super) struct Rows {
    points: Vec<u32>,
    identities: Vec<u128>,
    replications: Vec<u32>,
    failures: Vec<Option<String>>,
    /// A value per response and row, row by row; NaN where there is none.
    values: Vec<f64>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Adds a row of `columns` values.
    pub(super) fn push(
        &mut self,
        (point, identity, replication): (u32, u128, u32),
        fate: Result<&[f64], &Failure>,
        columns: usize,
    ) {
        self.points.push(point);
        self.identities.push(identity);
        self.replications.push(replication);
        match fate {
            Ok(values) => {
                self.failures.push(None);
                self.values.extend_from_slice(values);
            }
            Err(failure) => {
                self.failures.push(Some(serde_json::json!(failure).to_string()));
                self.values.extend(std::iter::repeat_n(f64::NAN, columns));
            }
        }
    }

    /// Returns them in plan order, with these names of their responses.
    fn frame(&self, names: &[String]) -> PolarsResult<DataFrame> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&row| (self.points[row], self.replications[row]));
        let row = |row: usize| &self.values[row * names.len()..(row + 1) * names.len()];
        let halves = |shift: u32| -> Vec<u64> {
            order.iter().map(|&row| (self.identities[row] >> shift) as u64).collect()
        };
        let replications: Vec<u32> = order.iter().map(|&row| self.replications[row]).collect();
        let failures: Vec<Option<&str>> =
            order.iter().map(|&row| self.failures[row].as_deref()).collect();
        let mut columns = vec![
            Column::new(HIGH.into(), halves(64)),
            Column::new(LOW.into(), halves(0)),
            Column::new(REPLICATION.into(), replications),
            Column::new(FAILURE.into(), failures),
        ];
        for (at, name) in names.iter().enumerate() {
            let value = |&this: &usize| Some(row(this)[at]).filter(|value| !value.is_nan());
            let values: Vec<Option<f64>> = order.iter().map(value).collect();
            columns.push(Column::new(name.as_str().into(), values));
        }
        DataFrame::new(self.len(), columns)
    }
}

/// A file of rows in the making.
pub(super) struct Writer<W: Write> {
    parquet: BatchedWriter<W>,
    names: Vec<String>,
    rows: Rows,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(
        file: W,
        names: &[String],
        metadata: Vec<(String, String)>,
    ) -> PolarsResult<Self> {
        let mut schema = Schema::default();
        for (name, kind) in [
            (HIGH, DataType::UInt64),
            (LOW, DataType::UInt64),
            (REPLICATION, DataType::UInt32),
            (FAILURE, DataType::String),
        ] {
            schema.insert(name.into(), kind);
        }
        for name in names {
            schema.insert(name.as_str().into(), DataType::Float64);
        }
        let parquet = ParquetWriter::new(file)
            .set_parallel(false)
            .with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata)))
            .batched(&schema)?;
        Ok(Writer { parquet, names: names.to_vec(), rows: Rows::default() })
    }

    pub(super) fn push(
        &mut self,
        key: (u32, u128, u32),
        fate: Result<&[f64], &Failure>,
    ) -> PolarsResult<()> {
        self.rows.push(key, fate, self.names.len());
        if self.rows.len() == ROW_GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes rows, sorted among themselves.
    pub(super) fn write(&mut self, rows: &Rows) -> PolarsResult<()> {
        let frame = rows.frame(&self.names)?;
        (0..frame.height())
            .step_by(ROW_GROUP)
            .try_for_each(|start| self.parquet.write_batch(&frame.slice(start as i64, ROW_GROUP)))
    }

    fn flush(&mut self) -> PolarsResult<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.len() > 0 { self.write(&rows) } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> PolarsResult<()> {
        self.flush()?;
        self.parquet.finish().map(drop)
    }
}

/// Calls polars on a file that should be sound: a panic of its is an error too, and is not shown.
pub(super) fn sceptically<T: Send>(
    read: impl FnOnce() -> PolarsResult<T> + Send,
) -> Result<T, String> {
    // What the closure was making is dropped with its panic; in a thread of this name it is silent.
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(WORKER.to_owned()).spawn_scoped(scope, read);
        match thread.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(Ok(value))) => Ok(value),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(_)) => Err("it is damaged".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// Returns the metadata of a parquet file, by key.
pub(super) fn metadata(path: &Path) -> PolarsResult<HashMap<String, String>> {
    let mut reader = ParquetReader::new(File::open(path)?);
    let pairs = reader.get_metadata()?.key_value_metadata().clone().unwrap_or_default();
    Ok(pairs.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect())
}

/// Reads some rows of a parquet file.
pub(super) fn read(
    path: &Path,
    columns: Option<Vec<String>>,
    rows: (usize, usize),
) -> PolarsResult<DataFrame> {
    ParquetReader::new(File::open(path)?)
        .read_parallel(ParallelStrategy::None)
        .with_columns(columns)
        .with_slice(Some(rows))
        .finish()
}

/// Returns the number of rows of a parquet file.
pub(super) fn height(path: &Path) -> PolarsResult<usize> {
    ParquetReader::new(File::open(path)?).num_rows()
}

/// Returns the number of failed replications in a file of rows.
pub(super) fn failed(path: &Path) -> PolarsResult<usize> {
    let frame = read(path, Some(vec![FAILURE.to_owned()]), (0, usize::MAX))?;
    let column = frame.column(FAILURE)?;
    Ok(column.len() - column.null_count())
}

/// Part of a file: its responses under the names of an experiment.
#[derive(Debug)]
pub(super) struct Group {
    /// A list per response; empty for one that the file doesn't have.
    values: Vec<Vec<f64>>,
    failures: Vec<Option<String>>,
}

impl Group {
    /// Takes rows of a file, which needn't have failures.
    pub(super) fn new(frame: &DataFrame, names: &[String]) -> PolarsResult<Group> {
        let has = |name: &str| frame.get_column_names().iter().any(|column| *column == name);
        let values = names.iter().map(|name| {
            if !has(name) {
                return Ok(Vec::new());
            }
            let column = frame.column(name)?.f64()?;
            Ok(column.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
        });
        let failures = if has(FAILURE) {
            let column = frame.column(FAILURE)?.str()?;
            column.iter().map(|failure| failure.map(str::to_owned)).collect()
        } else {
            Vec::new()
        };
        Ok(Group { values: values.collect::<PolarsResult<_>>()?, failures })
    }

    /// Returns what came of the replication in a row.
    pub(super) fn fate(&self, row: usize) -> Option<Fate> {
        match self.failures.get(row).and_then(Option::as_ref) {
            Some(failure) => serde_json::from_str(failure).ok().map(Err),
            None => {
                let value = |column: &Vec<f64>| column.get(row).copied().unwrap_or(f64::NAN);
                Some(Ok(self.values.iter().map(value).collect()))
            }
        }
    }
}

/// Returns the identity and the replication of every row of a file of rows.
pub(super) fn keys(path: &Path) -> PolarsResult<Vec<(u128, u32)>> {
    let wanted = [HIGH, LOW, REPLICATION].map(str::to_owned).to_vec();
    let frame = read(path, Some(wanted), (0, usize::MAX))?;
    let (high, low) = (frame.column(HIGH)?.u64()?, frame.column(LOW)?.u64()?);
    let halves = high.iter().zip(low.iter());
    let identities = halves.map(|(high, low)| Some(u128::from(high?) << 64 | u128::from(low?)));
    let replications = frame.column(REPLICATION)?.u32()?.iter();
    Ok(identities.zip(replications).filter_map(|(id, number)| Some((id?, number?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_bit_by_bit_in_plan_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        let names = ["a".to_owned(), "b".to_owned()];
        let header = vec![("plan".to_owned(), "7".to_owned())];
        let mut writer = Writer::new(File::create(&path).unwrap(), &names, header).unwrap();
        let failure = Failure::TooManyArrivals { cap: 9 };
        writer.push((1, 1 << 100 | 5, 0), Ok(&[0.1, f64::NAN])).unwrap();
        writer.push((0, 3, 7), Ok(&[f64::INFINITY, -0.0])).unwrap();
        writer.push((0, 3, 6), Err(&failure)).unwrap();
        writer.finish().unwrap();
        assert_eq!(keys(&path).unwrap(), [(3, 6), (3, 7), (1 << 100 | 5, 0)]);
        // A response that the file doesn't have has no value.
        let names = ["b".to_owned(), "c".to_owned(), "a".to_owned()];
        let group = Group::new(&read(&path, None, (0, 9)).unwrap(), &names).unwrap();
        assert_eq!(group.fate(0), Some(Err(failure)));
        let bits = |row| group.fate(row).unwrap().unwrap().into_iter().map(f64::to_bits);
        let nan = f64::NAN.to_bits();
        assert!(bits(1).eq([(-0.0_f64).to_bits(), nan, f64::INFINITY.to_bits()]));
        assert!(bits(2).eq([nan, nan, 0.1_f64.to_bits()]));
        assert_eq!(metadata(&path).unwrap()["plan"], "7");
    }
}
