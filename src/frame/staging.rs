//! Files of a run, written under temporary names and put in place together.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::StoreError;

/// Name of the file that makes a folder of results complete.
const MANIFEST: &str = "manifest.json";

/// A folder of results in the making. Dropped before [`Staging::commit`], it leaves nothing.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
    files: Vec<(NamedTempFile, String)>,
}

impl Staging {
    /// Makes the folder, if need be.
    ///
    /// # Errors
    /// [`StoreError`] when it can't be made or written to.
    pub fn new(folder: &Path) -> Result<Staging, StoreError> {
        if folder.exists() && !folder.is_dir() {
            return Err(StoreError::new(folder, "it is not a folder"));
        }
        fs::create_dir_all(folder).map_err(|error| StoreError::new(folder, error))?;
        let staging = Staging { folder: folder.to_owned(), files: Vec::new() };
        // A folder that can't be written to is better found now than after the run.
        staging.temporary()?;
        Ok(staging)
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
        let file = self.temporary()?;
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
    /// comes last of the new ones, so that a folder with a manifest is complete.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others; no file is in place then, if writing failed.
    pub fn commit(mut self, manifest: &serde_json::Value) -> Result<(), StoreError> {
        self.write(MANIFEST, &format!("{manifest:#}\n"))?;
        self.sync()?;
        for stale in [MANIFEST, "failures.csv", "claims.csv", "optimum.json", "trace.parquet"] {
            match fs::remove_file(self.folder.join(stale)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(self.error(stale, error));
                }
                _ => {}
            }
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

    fn sync(&self) -> Result<(), StoreError> {
        for (file, name) in &self.files {
            file.as_file().sync_all().map_err(|error| self.error(name, error))?;
        }
        Ok(())
    }

    fn put_in_place(self) -> Result<(), StoreError> {
        for (file, name) in self.files {
            let path = self.folder.join(&name);
            readable(file.as_file()).map_err(|error| StoreError::new(&path, error))?;
            file.persist(&path).map_err(|error| StoreError::new(&path, error))?;
        }
        let folder = File::open(&self.folder).and_then(|folder| folder.sync_all());
        folder.map_err(|error| StoreError::new(&self.folder, error))
    }

    /// Returns the error of a file of this folder.
    pub(super) fn error(&self, name: &str, error: impl std::fmt::Display) -> StoreError {
        StoreError::new(&self.folder.join(name), error)
    }

    fn temporary(&self) -> Result<NamedTempFile, StoreError> {
        tempfile::Builder::new()
            .prefix(".unfinished-")
            .tempfile_in(&self.folder)
            .map_err(|error| StoreError::new(&self.folder, error))
    }
}

/// Gives a temporary file, which only its owner may read, the permissions of an ordinary one.
#[cfg(unix)]
fn readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &File) -> std::io::Result<()> {
    Ok(())
}
