//! Shards on disk: the rows of one in a file of its own, and which are there.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use polars::prelude::PolarsResult;
use tempfile::NamedTempFile;

use super::StoreError;
use super::rows::{Writer, height, metadata};
use super::work::{Intent, WHOLE, Work, is_sound, remove};
use crate::engine::{Case, Failed, Output, Shard};
use crate::spec::Experiment;

/// The file of a shard in the making. Dropped before [`ShardWriter::finish`], it leaves nothing.
pub struct ShardWriter<'a> {
    work: &'a Work,
    experiment: &'a Experiment,
    shard: Shard,
    file: NamedTempFile,
    writer: Writer<File>,
    /// The point whose rows are coming, and its identity.
    current: Option<(u32, u128)>,
}

impl<'a> ShardWriter<'a> {
    /// Opens the file.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn new(
        work: &'a Work,
        experiment: &'a Experiment,
        intent: &Intent,
        shard: Shard,
    ) -> Result<Self, StoreError> {
        let file = work.temporary()?;
        let error = |error: &dyn std::fmt::Display| StoreError::new(work.folder(), error);
        let handle = file.reopen().map_err(|e| error(&e))?;
        let header = intent.header(Some(shard));
        let writer = Writer::new(handle, &experiment.columns, header).map_err(|e| error(&e))?;
        Ok(ShardWriter { work, experiment, shard, file, writer, current: None })
    }

    /// Takes output of the engine in.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn take(&mut self, output: &Output) -> Result<(), StoreError> {
        let Output::Row(row) = output else { return Ok(()) };
        let key = self.key(row.point, row.replication);
        let written = self.writer.push(key, Ok(&row.values));
        self.stored(written)
    }

    /// Writes the failed replications, and puts the file in place; returns where.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn finish(mut self, failed: &[Failed]) -> Result<PathBuf, StoreError> {
        for Failed { point, replication, failure } in failed {
            let key = self.key(*point, *replication);
            let written = self.writer.push(key, Err(failure));
            self.stored(written)?;
        }
        let written = self.writer.finish();
        written.map_err(|error| StoreError::new(self.work.folder(), error))?;
        let path = self.work.put_shard(self.shard, self.file)?;
        // What it was made from isn't needed any more.
        let parts = self.work.shard_files_of(self.shard)?;
        parts.iter().filter(|part| **part != path).try_for_each(|part| remove(part))?;
        Ok(path)
    }

    fn key(&mut self, point: u32, replication: u32) -> (u32, u128, u32) {
        let identity = match self.current {
            Some((current, identity)) if current == point => identity,
            _ => Case::new(self.experiment, point).map_or(0, |case| case.identity()),
        };
        self.current = Some((point, identity));
        (point, identity, replication)
    }

    fn stored(&self, written: PolarsResult<()>) -> Result<(), StoreError> {
        written.map_err(|error| StoreError::new(self.work.folder(), error))
    }
}

/// Returns the numbers of the shards of a plan that are not there, or not whole, rising.
///
/// # Errors
/// [`StoreError`] when the folder can't be read.
pub fn missing(work: &Work, intent: &Intent, of: u32) -> Result<Vec<u32>, StoreError> {
    let files = work.shard_files()?;
    let is_there = |number: &u32| {
        let shard = Shard { number: *number, of };
        files.get(number).is_some_and(|files| files.iter().any(|path| is(path, intent, shard)))
    };
    Ok((1..=of).filter(|number| !is_there(number)).collect())
}

/// Returns the number of rows in an unfinished run's files.
///
/// # Errors
/// [`StoreError`] when the folder can't be read.
pub fn kept(work: &Work) -> Result<u64, StoreError> {
    let files = work.row_files(None)?;
    let rows = files.iter().filter(|path| is_sound(path)).filter_map(|path| height(path).ok());
    Ok(rows.map(|rows| rows as u64).sum())
}

/// Whether all rows of a shard are there and whole.
pub fn is_whole(work: &Work, intent: &Intent, shard: Shard) -> bool {
    let files = work.shard_files_of(shard).unwrap_or_default();
    files.iter().any(|path| is(path, intent, shard))
}

/// Whether a file is sound and that of a shard.
fn is(path: &Path, intent: &Intent, shard: Shard) -> bool {
    let wanted = intent.header(Some(shard)).into_iter().filter(|(key, _)| key != "version");
    let has = |metadata: HashMap<String, String>| {
        let mut wanted = wanted.clone();
        wanted.all(|(key, value)| metadata.get(&key) == Some(&value))
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(WHOLE) && is_sound(path) && metadata(path).is_ok_and(has)
}
