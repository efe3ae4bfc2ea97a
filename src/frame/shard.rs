//! Shards on disk: the rows of one in a file of its own, and which are there.

use std::fs::File;
use std::path::{Path, PathBuf};

use polars::prelude::PolarsResult;
use tempfile::NamedTempFile;

use super::rows::{Writer, failed, height, metadata, sceptically};
use super::work::{WHOLE, Work, is_sound, remove};
use super::{Intent, StoreError};
use crate::engine::{Case, Failed, Output, Shard};
use crate::spec::Experiment;

/// The file of a shard in the making. Dropped before [`ShardWriter::finish`], it leaves nothing.
pub struct ShardWriter<'a> {
    work: &'a Work,
    experiment: &'a Experiment,
    intent: &'a Intent,
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
        intent: &'a Intent,
        shard: Shard,
    ) -> Result<Self, StoreError> {
        let file = work.temporary()?;
        let error = |error: &dyn std::fmt::Display| StoreError::new(work.folder(), error);
        let handle = file.reopen().map_err(|e| error(&e))?;
        let header = intent.header(Some(shard));
        let writer = Writer::new(handle, &experiment.columns, header).map_err(|e| error(&e))?;
        Ok(ShardWriter { work, experiment, intent, shard, file, writer, current: None })
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
        self.work.check_plan(&self.intent.plan)?;
        let path = self.work.put_shard(self.shard, self.file)?;
        // What it was made from isn't needed any more.
        let is_part =
            |part: &&PathBuf| **part != path && plan(part).as_ref() == Some(&self.intent.plan);
        let parts = self.work.shard_files_of(self.shard)?;
        parts.iter().filter(is_part).try_for_each(|part| remove(part))?;
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
/// [`StoreError`] when the folder or a file can't be read.
pub fn missing(work: &Work, intent: &Intent, of: u32) -> Result<Vec<u32>, StoreError> {
    let files = work.shard_files()?;
    let mut missing = Vec::new();
    for number in 1..=of {
        let files = files.get(&number).map(Vec::as_slice).unwrap_or_default();
        if whole(files, intent, Shard { number, of })?.is_none() {
            missing.push(number);
        }
    }
    Ok(missing)
}

/// Returns the number of rows in an unfinished run's files.
///
/// # Errors
/// [`StoreError`] when the folder or a file can't be read.
pub fn kept(work: &Work) -> Result<u64, StoreError> {
    let mut rows = 0;
    for path in work.row_files(None)? {
        if is_sound(&path)? {
            rows += sceptically(|| height(&path)).map_err(|e| StoreError::reading(&path, e))?;
        }
    }
    Ok(rows as u64)
}

/// Returns the number of failed replications of a shard, if all of its rows are there.
///
/// # Errors
/// [`StoreError`] when the folder or a file can't be read.
pub fn finished_shard(
    work: &Work,
    intent: &Intent,
    shard: Shard,
) -> Result<Option<usize>, StoreError> {
    let Some(path) = whole(&work.shard_files_of(shard)?, intent, shard)? else { return Ok(None) };
    let failed = sceptically(|| failed(&path)).map_err(|e| StoreError::reading(&path, e))?;
    Ok(Some(failed))
}

/// Returns which of some files is sound and holds all rows of a shard.
fn whole(files: &[PathBuf], intent: &Intent, shard: Shard) -> Result<Option<PathBuf>, StoreError> {
    let mut wanted = intent.header(Some(shard));
    wanted.retain(|(key, _)| key != "version");
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(WHOLE) || !is_sound(path)? {
            continue;
        }
        let metadata = match sceptically(|| metadata(path)) {
            // Another process has merged it meanwhile.
            Err(_) if !path.exists() => continue,
            other => other.map_err(|error| StoreError::reading(path, error))?,
        };
        if wanted.iter().all(|(key, value)| metadata.get(key) == Some(value)) {
            return Ok(Some(path.clone()));
        }
    }
    Ok(None)
}

/// Returns of which plan a file of rows is.
fn plan(path: &Path) -> Option<String> {
    sceptically(|| metadata(path)).ok()?.remove("plan")
}
