//! Files that a spec names.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use polars::prelude::{DataFrame, DataType, PolarsResult};

use super::rows::{read, sceptically};

/// Returns the text of a file that a spec names; of a parquet file its numbers as lines of a csv
/// file, in digits that read back exactly.
///
/// # Errors
/// What the system or the reader says.
pub fn read_input(path: &Path) -> Result<String, String> {
    let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
    if !is_parquet {
        return fs::read_to_string(path).map_err(|error| error.to_string());
    }
    fs::File::open(path).map_err(|error| error.to_string())?;
    sceptically(|| read(path, None, (0, usize::MAX)).and_then(|frame| text(&frame)))
}

fn text(frame: &DataFrame) -> PolarsResult<String> {
    let mut names = Vec::new();
    let mut columns = Vec::new();
    for column in frame.columns().iter().filter(|column| column.dtype().is_primitive_numeric()) {
        names.push(column.name().as_str());
        columns.push(column.cast(&DataType::Float64)?);
    }
    let columns: Vec<_> = columns.iter().map(|column| column.f64()).collect::<PolarsResult<_>>()?;
    let mut text = names.join(",");
    for row in 0..frame.height() {
        for (position, column) in columns.iter().enumerate() {
            text.push(if position == 0 { '\n' } else { ',' });
            if let Some(value) = column.get(row) {
                _ = write!(text, "{value}");
            }
        }
    }
    Ok(text)
}
