//! Results as dataframes: schemas, aggregation, parquet and csv.
//!
//! [`Results`] takes rows in plan order and lets them go again: replications and summaries stream
//! into parquet row groups of a fixed size, so memory is bounded and the bytes don't depend on how
//! the rows arrived. All files of a run are written under temporary names and put in place
//! together at the end, the manifest last. Until then [`Store`] keeps the rows in a folder of their
//! own, [`Work`], from which a run that was stopped goes on.

mod columns;
mod comparisons;
mod found;
mod index;
mod input;
mod intent;
mod layout;
mod long;
mod pictures;
mod results;
mod rows;
mod shard;
mod staging;
mod store;
mod table;
mod transients;
mod work;

pub use comparisons::{Best, Comparison};
pub use found::{
    Compared, Evaluation, Found, FoundClaim, FoundPoint, Instant, Lead, Ranking, Summary,
};
pub use input::read_input;
pub use intent::Intent;
pub use layout::{
    AxisColumn, Baseline, Direction, Family, Layout, Measure, Members, PolicyColumns,
};
pub use pictures::{MARK, PAGE};
pub use results::{Kept, Provenance, Results, verdict, z};
pub use shard::{ShardWriter, finished_shard, kept, missing};
pub use staging::Staging;
pub use store::{OpenError, Store};
pub use table::{Cell, Table};
pub use work::{UNFINISHED, Work};

use std::path::Path;

/// Name of the file of all rows.
const REPLICATIONS: &str = "replications.parquet";

/// Why results can't be stored, or rows not be read.
#[derive(Debug, thiserror::Error)]
#[error("can't {action} {path}: {message}{remedy}")]
pub struct StoreError {
    action: &'static str,
    path: String,
    message: String,
    /// What may help, after a semicolon; nothing where the message says it.
    remedy: &'static str,
}

impl StoreError {
    /// Something can't be written.
    pub fn new(path: &Path, error: impl std::fmt::Display) -> Self {
        StoreError::of("write", path, error)
    }

    fn reading(path: &Path, error: impl std::fmt::Display) -> Self {
        StoreError::of("read", path, error)
    }

    fn of(action: &'static str, path: &Path, error: impl std::fmt::Display) -> Self {
        let said = error.to_string();
        // Polars wraps what the system said in words about parquet.
        let said = said.rsplit("IO error: ").next().unwrap_or_default();
        let said = said.split(" at path ").next().unwrap_or_default();
        // Nor does it say why it couldn't write the end of a file.
        let is_end = action == "write" && said.contains("transport error");
        let said =
            if is_end { "it can't be written to its end, as if there were no room" } else { said };
        let path = path.display().to_string();
        StoreError { action, path, message: said.to_owned(), remedy: remedy(action, said) }
    }

    /// The same, where no other folder can be chosen: what failed is the report of results.
    pub fn of_report(self) -> Self {
        match self.remedy {
            "" => self,
            _ => StoreError { remedy: "; mend that, or report a copy of the folder", ..self },
        }
    }

    /// Something that can't be done, and what there is to say of it.
    pub fn said(action: &'static str, path: &Path, message: &str) -> Self {
        let path = path.display().to_string();
        StoreError { action, path, message: message.to_owned(), remedy: "" }
    }

    /// Another process is at work in a folder.
    fn busy(folder: &Path) -> Self {
        let message = "another run is at work in this folder";
        let remedy = "; wait for it, or choose another folder with --out";
        StoreError { remedy, ..StoreError::said("use", folder, message) }
    }
}

/// Returns what may help against what the system said.
fn remedy(action: &str, said: &str) -> &'static str {
    let is = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if is(&["No space left", "quota exceeded", "no room"]) {
        "; make room there, or choose another folder with --out"
    } else if action == "read" && is(&["Permission denied"]) {
        "; get the right to do so"
    } else if is(&["Permission denied", "Read-only", "not permitted"]) {
        "; get the right to do so, or choose another folder with --out"
    } else if is(&["No such file"]) {
        "; if it was moved or removed meanwhile, run again"
    } else if action == "read" {
        "; a run with --fresh, or into another folder, does without it"
    } else {
        "; choose another folder with --out"
    }
}
