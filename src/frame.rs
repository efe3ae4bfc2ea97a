//! Results as dataframes: schemas, aggregation, parquet and csv.
//!
//! [`Results`] takes rows in plan order and lets them go again: replications and summaries stream
//! into parquet row groups of a fixed size, so memory is bounded and the bytes don't depend on how
//! the rows arrived. All files of a run are written under temporary names and put in place
//! together at the end, the manifest last. Until then [`Store`] keeps the rows in a folder of their
//! own, [`Work`], from which a run that was stopped goes on.

mod columns;
mod comparisons;
mod long;
mod results;
mod rows;
mod shard;
mod staging;
mod store;
mod table;
mod work;

pub use comparisons::{Best, Comparison};
pub use results::{Kept, Provenance, Results, verdict, z};
pub use shard::{ShardWriter, is_whole, kept, missing};
pub use staging::Staging;
pub use store::{OpenError, Store};
pub use table::{Cell, Table};
pub use work::{Intent, UNFINISHED, Work};

/// Name of the file of all rows.
const REPLICATIONS: &str = "replications.parquet";

/// Why results can't be stored.
#[derive(Debug, thiserror::Error)]
#[error("can't write {path}: {message}")]
pub struct StoreError {
    pub path: String,
    pub message: String,
}

impl StoreError {
    fn new(path: &std::path::Path, error: impl std::fmt::Display) -> Self {
        let said = error.to_string();
        // Polars wraps what the system said in words about parquet.
        let said = said.rsplit("IO error: ").next().unwrap_or_default();
        let remedy = "make room or rights there, or choose another folder with --out";
        StoreError { path: path.display().to_string(), message: format!("{said}; {remedy}") }
    }
}
