//! Small tables, written whole as csv or parquet.

use polars::prelude::{Column, CsvWriter, DataFrame, ParquetWriter, PolarsResult, SerWriter};

use super::{Provenance, Staging, StoreError};

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    /// A number, or none.
    Number(Option<f64>),
    Whole(u64),
}

/// Rows under named columns; a column's cells are of one kind.
#[derive(Clone, Debug)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Writes the table as the csv file `name`.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn write(&self, staging: &mut Staging<'_>, name: &str) -> Result<(), StoreError> {
        let mut frame = self.frame().map_err(|error| staging.error(name, error))?;
        let file = staging.create(name)?;
        CsvWriter::new(file).finish(&mut frame).map_err(|error| staging.error(name, error))
    }

    /// Writes the table as the parquet file `name`.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_parquet(
        &self,
        staging: &mut Staging<'_>,
        name: &str,
        provenance: &Provenance,
    ) -> Result<(), StoreError> {
        let mut frame = self.frame().map_err(|error| staging.error(name, error))?;
        let file = staging.create(name)?;
        let written = ParquetWriter::new(file)
            .set_parallel(false)
            .with_key_value_metadata(Some(provenance.metadata()))
            .finish(&mut frame);
        written.map(drop).map_err(|error| staging.error(name, error))
    }

    fn frame(&self) -> PolarsResult<DataFrame> {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(index, title)| self.column(index, title)).collect();
        DataFrame::new(self.rows.len(), columns)
    }

    fn column(&self, index: usize, title: &str) -> Column {
        let cells = || self.rows.iter().map(|row| &row[index]);
        match self.rows.first().map(|row| &row[index]) {
            Some(Cell::Number(_)) => {
                let numbers: Vec<Option<f64>> = cells()
                    .map(|cell| if let Cell::Number(number) = cell { *number } else { None })
                    .collect();
                Column::new(title.into(), numbers)
            }
            Some(Cell::Whole(_)) => {
                let numbers: Vec<Option<u64>> = cells()
                    .map(|cell| if let Cell::Whole(number) = cell { Some(*number) } else { None })
                    .collect();
                Column::new(title.into(), numbers)
            }
            _ => {
                let texts: Vec<&str> = cells()
                    .map(|cell| if let Cell::Text(text) = cell { text.as_str() } else { "" })
                    .collect();
                Column::new(title.into(), texts)
            }
        }
    }
}
