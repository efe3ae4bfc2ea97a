//! Claims and searches, read back, and whether files are of the run whose manifest is beside them.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use polars::prelude::{CsvReader, DataType, PolarsResult, SerReader};
use serde_json::Value;

use super::super::rows::sceptically;
use super::{Found, FoundClaim, damaged, numeric};
use crate::frame::StoreError;

impl Found {
    /// Checks that a file is of the run whose manifest is there.
    pub(super) fn check_spec(&self, path: &Path, of: Option<&str>) -> Result<(), StoreError> {
        match (of, self.manifest["spec_hash"].as_str()) {
            (Some(of), Some(ours)) if of != ours => {
                Err(damaged(path, "it is of another run than manifest.json"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a file has as many of something as the manifest tells.
    fn check_count(&self, path: &Path, what: &str, count: usize) -> Result<(), StoreError> {
        match self.manifest["counts"][what].as_u64() {
            Some(told) if told != count as u64 => {
                Err(damaged(path, format!("it has {count} of the {told} {what} of the run")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn read_claims(&mut self) -> Result<(), StoreError> {
        let path = self.folder.join("claims.csv");
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return self.check_count(&path, "claims", 0);
            }
            other => other.map_err(|error| StoreError::reading(&path, error))?,
        };
        let read = || {
            let frame = CsvReader::new(file).finish()?;
            let text = |name: &str| -> PolarsResult<Vec<String>> {
                let column = frame.column(name)?.cast(&DataType::String)?;
                Ok(column.str()?.iter().map(|text| text.unwrap_or_default().to_owned()).collect())
            };
            let (policy, response, verdict) =
                (text("policy")?, text("response")?, text("verdict")?);
            let at = text("at")?;
            let [published, simulated, low, high, p, tolerance] =
                ["published", "simulated", "ci_low", "ci_high", "p", "tolerance"]
                    .map(|name| numeric(&frame, name));
            let (published, simulated, low, high) = (published?, simulated?, low?, high?);
            let (p, tolerance) = (p?, tolerance?);
            let point = numeric(&frame, "point").unwrap_or_else(|_| vec![None; frame.height()]);
            let claim = |row: usize| FoundClaim {
                point: point[row].map(|point| point as u32),
                policy: policy[row].clone(),
                at: at[row].clone(),
                response: response[row].clone(),
                published: published[row].unwrap_or(f64::NAN),
                simulated: simulated[row],
                ends: low[row].zip(high[row]),
                p: p[row],
                tolerance: tolerance[row],
                verdict: verdict[row].clone(),
            };
            Ok((0..frame.height()).map(claim).collect())
        };
        self.claims = sceptically(read).map_err(|error| damaged(&path, error))?;
        self.check_count(&path, "claims", self.claims.len())
    }

    /// Whether the manifest tells of a search.
    pub(super) fn has_searched(&self) -> bool {
        self.manifest["counts"]["search_replications"].as_u64().unwrap_or_default() > 0
    }

    pub(super) fn read_searches(&mut self) -> Result<(), StoreError> {
        let path = self.folder.join("optimum.json");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !self.has_searched() => {
                return Ok(());
            }
            other => other.map_err(|error| StoreError::reading(&path, error))?,
        };
        let optimum: Value =
            serde_json::from_slice(&text).map_err(|error| damaged(&path, error))?;
        self.check_spec(&path, optimum["spec_hash"].as_str())?;
        let Some(searches) = optimum["searches"].as_array() else {
            return Err(damaged(&path, "it has no list of searches"));
        };
        self.searches = searches.clone();
        Ok(())
    }
}
