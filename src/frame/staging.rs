//! Files of a run, written under temporary names and put in place together.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use super::pictures::remove_report;
use super::work::{Work, file_hash, put_in_place, readable, remove, sync_folder};
use super::{REPLICATIONS, StoreError};

/// Name of the file that makes a folder of results complete.
const MANIFEST: &str = "manifest.json";
/// Name of the file that stands in for it while results are put in place: hashes of which the rows
/// that are there have one, if they are sound.
const COMMIT: &str = "commit.json";

/// Files that not every run has, so that those of an earlier one have to go.
const STALE: [&str; 6] = [
    "failures.csv",
    "claims.csv",
    "optimum.json",
    "trace.parquet",
    "transients.parquet",
    "transients.csv",
];

/// What is said of rows that have another hash than their manifest tells.
pub(super) const CHANGED: &str = "it isn't what its manifest.json tells";

/// Returns the hashes of which the rows among the results have one, if they are sound.
///
/// # Errors
/// [`StoreError`]: what tells them can't be read.
pub(super) fn rows_hashes(results: &Path) -> Result<Vec<String>, StoreError> {
    Ok(match Staging::manifest(results)? {
        Some(told) => told["rows_hash"].as_str().map(str::to_owned).into_iter().collect(),
        None => json(&results.join(COMMIT))?.unwrap_or_default(),
    })
}

/// Returns the content of a file, if it is there.
fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    match fs::read(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::reading(path, error)),
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|_| {
            StoreError::reading(path, "it is damaged; --fresh makes the results again")
        }),
    }
}

/// A folder of results in the making. Dropped before [`Staging::commit`], it leaves nothing.
#[derive(Debug)]
pub struct Staging<'a> {
    work: &'a Work,
    files: Vec<(NamedTempFile, String)>,
}

impl<'a> Staging<'a> {
    /// Starts with no file.
    pub fn new(work: &'a Work) -> Staging<'a> {
        Staging { work, files: Vec::new() }
    }

    /// Returns the folder's manifest, if it holds the results of a finished run.
    ///
    /// # Errors
    /// [`StoreError`]: it can't be read.
    pub fn manifest(folder: &Path) -> Result<Option<serde_json::Value>, StoreError> {
        json(&folder.join(MANIFEST))
    }

    /// Returns a second handle on a new file that will be called `name`.
    ///
    /// # Errors
    /// [`StoreError`] when the folder can't be written to.
    pub fn create(&mut self, name: &str) -> Result<File, StoreError> {
        let file = self.work.temporary()?;
        let handle = file.reopen().map_err(|error| self.error(name, error))?;
        self.files.push((file, name.to_owned()));
        Ok(handle)
    }

    /// Writes a small file that will be called `name`.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn write(&mut self, name: &str, content: &str) -> Result<(), StoreError> {
        let mut file = self.create(name)?;
        file.write_all(content.as_bytes()).map_err(|error| self.error(name, error))
    }

    /// Puts all files in place: whole, or not at all. The manifest goes first of the old files and
    /// comes last of the new ones, so that a folder with a manifest is complete; it comes back if
    /// nothing else could be changed. The hash of the rows is put into it.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others; no file is in place then, if writing failed.
    pub fn commit(mut self, mut manifest: serde_json::Value) -> Result<(), StoreError> {
        let results = self.work.results().to_owned();
        let old = json::<serde_json::Value>(&results.join(MANIFEST)).unwrap_or_default();
        // Stopped in between, a run leaves rows without a manifest; these are to be believed.
        let mut hashes = rows_hashes(&results).unwrap_or_default();
        if let Some((file, name)) = self.files.iter().find(|(_, name)| name == REPLICATIONS) {
            let hash = file_hash(file.path()).map_err(|error| self.error(name, error))?;
            manifest["rows_hash"] = format!("{hash:032x}").into();
            hashes.push(format!("{hash:032x}"));
        }
        self.write(MANIFEST, &format!("{manifest:#}\n"))?;
        self.sync()?;
        let names = self.files.iter().map(|(_, name)| name.as_str()).chain(STALE);
        for name in names {
            if results.join(name).is_dir() {
                return Err(self.error(name, "it is a folder"));
            }
        }
        let commit = results.join(COMMIT);
        let note = self.work.written(serde_json::json!(hashes).to_string())?;
        put_in_place(note, &commit)?;
        remove(&results.join(MANIFEST))?;
        let mut files = self.files.into_iter();
        let mut put = |(file, name)| put(file, &results.join::<String>(name));
        if let Some(Err(error)) = files.next().map(&mut put) {
            if let Some(old) = old {
                put_in_place(self.work.written(format!("{old:#}\n"))?, &results.join(MANIFEST))?;
                remove(&commit)?;
            }
            return Err(error);
        }
        STALE.iter().try_for_each(|stale| remove(&results.join(stale)))?;
        // One that is in the way of the next is told of then: results don't wait for a report.
        _ = remove_report(&results);
        files.try_for_each(put)?;
        sync_folder(&results)?;
        remove(&commit)
    }

    /// Puts all files in place, in a folder that is no run's.
    ///
    /// # Errors
    /// As [`Staging::commit`].
    pub fn commit_without_manifest(self) -> Result<(), StoreError> {
        self.sync()?;
        let results = self.work.results();
        self.files.into_iter().try_for_each(|(file, name)| put(file, &results.join(name)))?;
        sync_folder(results)
    }

    /// Returns the manifest of a finished run, if there is one in the folder, and its rows are
    /// what they were.
    ///
    /// # Errors
    /// [`StoreError`], also where the rows are damaged.
    pub fn finished(folder: &Path) -> Result<Option<serde_json::Value>, StoreError> {
        let Some(manifest) = Staging::manifest(folder)? else { return Ok(None) };
        let path = folder.join(REPLICATIONS);
        match file_hash(&path) {
            Ok(hash) if manifest["rows_hash"] == format!("{hash:032x}") => Ok(Some(manifest)),
            Ok(_) => Err(StoreError::reading(&path, CHANGED)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::reading(&path, error)),
        }
    }

    fn sync(&self) -> Result<(), StoreError> {
        for (file, name) in &self.files {
            file.as_file().sync_all().map_err(|error| self.error(name, error))?;
        }
        Ok(())
    }

    /// Returns the error of a file of this folder.
    pub(super) fn error(&self, name: &str, error: impl std::fmt::Display) -> StoreError {
        StoreError::new(&self.work.results().join(name), error)
    }
}

/// Gives a file that is safe on disk its name.
fn put(file: NamedTempFile, path: &Path) -> Result<(), StoreError> {
    readable(file.as_file()).map_err(|error| StoreError::new(path, error))?;
    file.persist(path).map(drop).map_err(|error| StoreError::new(path, error.error))
}
