//! Files of a run, written under temporary names and put in place together.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use super::work::{Work, file_hash, readable, remove, sync_folder};
use super::{REPLICATIONS, StoreError};

/// Name of the file that makes a folder of results complete.
const MANIFEST: &str = "manifest.json";

/// What is said of rows that have another hash than their manifest tells.
pub(super) const CHANGED: &str = "it isn't what it was when its run ended";

/// Returns the hashes of which the rows among the results have one, if they are sound.
pub(super) fn rows_hashes(work: &Work) -> Vec<String> {
    match Staging::manifest(work.results()) {
        Some(told) => told["rows_hash"].as_str().map(str::to_owned).into_iter().collect(),
        None => work.noted(),
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
    pub fn manifest(folder: &Path) -> Option<serde_json::Value> {
        let text = fs::read_to_string(folder.join(MANIFEST)).ok()?;
        serde_json::from_str(&text).ok()
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
    /// comes last of the new ones, so that a folder with a manifest is complete. The hash of the
    /// rows is put into it.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others; no file is in place then, if writing failed.
    pub fn commit(mut self, mut manifest: serde_json::Value) -> Result<(), StoreError> {
        // Stopped in between, a run leaves rows without a manifest; these are to be believed.
        let mut hashes = rows_hashes(self.work);
        if let Some((file, name)) = self.files.iter().find(|(_, name)| name == REPLICATIONS) {
            let hash = file_hash(file.path()).map_err(|error| self.error(name, error))?;
            manifest["rows_hash"] = format!("{hash:032x}").into();
            hashes.push(format!("{hash:032x}"));
        }
        self.write(MANIFEST, &format!("{manifest:#}\n"))?;
        self.sync()?;
        self.work.note_commit(&hashes)?;
        for stale in [MANIFEST, "failures.csv", "claims.csv", "optimum.json", "trace.parquet"] {
            remove(&self.work.results().join(stale))?;
        }
        self.put_in_place()
    }

    /// Puts all files in place, in a folder that is no run's.
    ///
    /// # Errors
    /// As [`Staging::commit`].
    pub fn commit_without_manifest(self) -> Result<(), StoreError> {
        self.sync()?;
        self.put_in_place()
    }

    /// Returns the manifest of a finished run, if there is one in the folder, and its rows are
    /// what they were.
    ///
    /// # Errors
    /// [`StoreError`], also where the rows are damaged.
    pub fn finished(folder: &Path) -> Result<Option<serde_json::Value>, StoreError> {
        let Some(manifest) = Staging::manifest(folder) else { return Ok(None) };
        let path = folder.join(REPLICATIONS);
        let hash = file_hash(&path).map_err(|error| StoreError::reading(&path, error))?;
        if manifest["rows_hash"] == format!("{hash:032x}") {
            return Ok(Some(manifest));
        }
        Err(StoreError::reading(&path, CHANGED))
    }

    fn sync(&self) -> Result<(), StoreError> {
        for (file, name) in &self.files {
            file.as_file().sync_all().map_err(|error| self.error(name, error))?;
        }
        Ok(())
    }

    fn put_in_place(self) -> Result<(), StoreError> {
        for (file, name) in self.files {
            let path = self.work.results().join(&name);
            readable(file.as_file()).map_err(|error| StoreError::new(&path, error))?;
            file.persist(&path).map_err(|error| StoreError::new(&path, error))?;
        }
        sync_folder(self.work.results())
    }

    /// Returns the error of a file of this folder.
    pub(super) fn error(&self, name: &str, error: impl std::fmt::Display) -> StoreError {
        StoreError::new(&self.work.results().join(name), error)
    }
}
