//! The folder `unfinished` among the results: what is kept of a run until its results are whole.
//!
//! It holds the plan, files of rows, the journal of searches, and files being written. One process
//! at a time works on the whole of it, under a lock; shards are written beside each other, each
//! under a name of its own. A file of rows is named after its content, and has a temporary name
//! until it is whole. When the results are in place the folder goes.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::Xxh3;

use super::StoreError;
use crate::engine::{JOURNAL, Shard};
use crate::model::KERNELS;
use crate::rng::{GENERATOR, content_hash};
use crate::spec::{Experiment, Stored};

/// Name of the folder.
pub const UNFINISHED: &str = "unfinished";
const PLAN: &str = "plan.json";
const LOCK: &str = "lock";
/// How the names of files being written begin; those of whoever holds the lock, and of shards.
const OURS: &str = ".writing-";
const SHARDS: &str = ".shard-";
/// How the names of files with some rows begin, and of those with all rows of a shard.
const PART: &str = "rows-";
pub(super) const WHOLE: &str = "shard-";

/// What an unfinished run is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Hash of all that its rows depend on.
    pub plan: String,
    /// How many shards it is cut into, if it is.
    pub shards: Option<u32>,
    /// Whether results that were there before are to be replaced.
    pub fresh: bool,
    pub kernels: u32,
    pub generator: String,
    pub spec: Stored,
}

impl Intent {
    /// Returns what a run of an experiment is to do.
    pub fn new(experiment: &Experiment, spec: Stored, shards: Option<u32>, fresh: bool) -> Intent {
        let content = format!(
            "{:032x} {:?} {KERNELS} {GENERATOR}",
            experiment.hash,
            experiment.file_hashes()
        );
        Intent {
            plan: format!("{:032x}", content_hash(content.as_bytes())),
            shards,
            fresh,
            kernels: KERNELS,
            generator: GENERATOR.to_owned(),
            spec,
        }
    }

    /// Returns the metadata of its files of rows, or of those of a shard.
    pub(super) fn header(&self, shard: Option<Shard>) -> Vec<(String, String)> {
        let mut header = vec![
            ("plan", self.plan.clone()),
            ("kernels", self.kernels.to_string()),
            ("generator", self.generator.clone()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        header.extend(shard.map(|shard| ("shard", shard.to_string())));
        header.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// The folder, opened.
#[derive(Debug)]
pub struct Work {
    results: PathBuf,
    folder: PathBuf,
    /// What keeps others out, if this process has it for itself.
    lock: Option<File>,
}

impl Work {
    /// Opens the folder for this process alone, and makes it if need be.
    ///
    /// # Errors
    /// [`StoreError`]; it can't be made or written to, or another process is at work in it.
    pub fn open(results: &Path) -> Result<Work, StoreError> {
        let work = Work::at(results);
        let path = work.folder.join(LOCK);
        let lock = loop {
            work.make()?;
            let lock = match File::create(&path) {
                // Another run has just ended and removed the folder.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other.map_err(|error| StoreError::new(&path, error))?,
            };
            match lock.try_lock() {
                // Or it did so between the two.
                Ok(()) if !is_at(&lock, &path) => {}
                Ok(()) => break lock,
                Err(error) => match busy(results, error) {
                    Some(error) => return Err(error),
                    None => break lock,
                },
            }
        };
        for path in work.list(OURS)? {
            remove(&path)?;
        }
        Ok(Work { lock: Some(lock), ..work })
    }

    /// Opens the folder beside others that write their own shards, and makes it if need be.
    ///
    /// # Errors
    /// As [`Work::open`].
    pub fn share(results: &Path) -> Result<Work, StoreError> {
        let work = Work::at(results);
        work.make()?;
        if let Ok(lock) = File::open(work.folder.join(LOCK))
            && let Err(error) = lock.try_lock_shared()
            && let Some(error) = busy(results, error)
        {
            return Err(error);
        }
        Ok(work)
    }

    fn make(&self) -> Result<(), StoreError> {
        if self.results.exists() && !self.results.is_dir() {
            return Err(StoreError::new(&self.results, "it is not a folder"));
        }
        let made = fs::create_dir_all(&self.folder);
        made.map_err(|error| StoreError::new(&self.folder, error))
    }

    /// Returns the folder as it is, to look at.
    pub fn at(results: &Path) -> Work {
        Work { results: results.to_owned(), folder: results.join(UNFINISHED), lock: None }
    }

    /// Returns where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of results that it is in.
    pub fn results(&self) -> &Path {
        &self.results
    }

    /// Returns what the unfinished run is to do, if there is one.
    pub fn intent(&self) -> Option<Intent> {
        serde_json::from_str(&fs::read_to_string(self.folder.join(PLAN)).ok()?).ok()
    }

    /// Writes down what the run is to do.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn set_intent(&self, intent: &Intent) -> Result<(), StoreError> {
        let path = self.folder.join(PLAN);
        let text = serde_json::to_string_pretty(intent);
        let text = text.map_err(|error| StoreError::new(&path, error))?;
        let mut file = self.temporary()?;
        let written = file.write_all(text.as_bytes());
        written.map_err(|error| StoreError::new(&path, error))?;
        put_in_place(file, &path)
    }

    /// Returns the files of rows in the order of their names; for a shard its own, and those of no
    /// shard.
    ///
    /// # Errors
    /// [`StoreError`] when the folder can't be read.
    pub fn row_files(&self, shard: Option<Shard>) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = self.list(PART)?;
        if let Some(shard) = shard {
            // A file of no shard has its hash where others have their shard's number.
            let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_owned();
            let of_none = |path: &PathBuf| name(path).to_string_lossy().matches('-').count() == 1;
            files.retain(of_none);
            files.extend(self.shard_files_of(shard)?);
        } else {
            files.extend(self.list(WHOLE)?);
        }
        files.sort();
        Ok(files)
    }

    /// Returns the files of rows of a shard, whole or in parts.
    ///
    /// # Errors
    /// [`StoreError`] when the folder can't be read.
    pub(super) fn shard_files_of(&self, shard: Shard) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = self.list(&part_prefix(Some(shard)))?;
        files.extend(self.list(&whole_prefix(shard))?);
        Ok(files)
    }

    /// Puts a file of rows in place, of a shard or of none, under a name that tells its content.
    pub(super) fn put_rows(
        &self,
        shard: Option<Shard>,
        file: NamedTempFile,
    ) -> Result<(), StoreError> {
        self.put(part_prefix(shard), file).map(drop)
    }

    /// Puts the file of all rows of a shard in place; returns where.
    pub(super) fn put_shard(
        &self,
        shard: Shard,
        file: NamedTempFile,
    ) -> Result<PathBuf, StoreError> {
        self.put(whole_prefix(shard), file)
    }

    fn put(&self, prefix: String, file: NamedTempFile) -> Result<PathBuf, StoreError> {
        let hash = file_hash(file.path()).map_err(|error| StoreError::new(file.path(), error))?;
        let path = self.folder.join(format!("{prefix}{hash:032x}.parquet"));
        put_in_place(file, &path)?;
        Ok(path)
    }

    /// Returns the files that should hold all rows of a shard, by its number.
    pub(super) fn shard_files(&self) -> Result<BTreeMap<u32, Vec<PathBuf>>, StoreError> {
        let mut files: BTreeMap<u32, Vec<PathBuf>> = BTreeMap::new();
        for path in self.list(WHOLE)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(number) = name.split('-').nth(1).and_then(|number| number.parse().ok()) {
                files.entry(number).or_default().push(path);
            }
        }
        Ok(files)
    }

    /// Makes a file with a temporary name.
    pub(super) fn temporary(&self) -> Result<NamedTempFile, StoreError> {
        let prefix = if self.lock.is_some() { OURS } else { SHARDS };
        tempfile::Builder::new()
            .prefix(prefix)
            .tempfile_in(&self.folder)
            .map_err(|error| StoreError::new(&self.folder, error))
    }

    /// Removes all rows and plans, so that the run starts from nothing.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn clear(&self) -> Result<(), StoreError> {
        // The plan goes first: without it, rows that are left belong to nobody.
        let mut paths = vec![self.folder.join(PLAN)];
        paths.extend(self.row_files(None)?);
        paths.push(self.folder.join(JOURNAL));
        paths.iter().try_for_each(|path| remove(path))
    }

    /// Leaves the folder, and removes it if there is no unfinished run in it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn leave(&self) -> Result<(), StoreError> {
        if self.folder.join(PLAN).exists() { Ok(()) } else { self.remove() }
    }

    /// Removes the folder: the results are in place, or nothing in it is worth keeping.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove(&self) -> Result<(), StoreError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(StoreError::new(&self.folder, error))
            }
            _ => {
                // A folder made for this run alone is empty; any other stays.
                let _ = fs::remove_dir(&self.results);
                Ok(())
            }
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<PathBuf>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|error| StoreError::new(&self.folder, error))?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| StoreError::new(&self.folder, error))?;
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                paths.push(entry.path());
            }
        }
        Ok(paths)
    }
}

/// How the names of files with some rows begin, of a shard or of none.
fn part_prefix(shard: Option<Shard>) -> String {
    shard.map_or(PART.to_owned(), |shard| format!("{PART}{:06}-", shard.number))
}

/// How the name of the file with all rows of a shard begins.
fn whole_prefix(shard: Shard) -> String {
    format!("{WHOLE}{:06}-", shard.number)
}

/// Whether a file's content is what its name tells.
pub(super) fn is_sound(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let told = stem.rsplit('-').next().unwrap_or_default();
    file_hash(path).is_ok_and(|hash| format!("{hash:032x}") == told)
}

/// Returns the hash of a file's bytes.
pub(super) fn file_hash(path: &Path) -> std::io::Result<u128> {
    let (mut file, mut hash) = (File::open(path)?, Xxh3::new());
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest128()),
            len => hash.update(&buffer[..len]),
        }
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::new(path, error)),
        _ => Ok(()),
    }
}

/// Brings a temporary file safely to disk, and gives it its name.
pub(super) fn put_in_place(file: NamedTempFile, path: &Path) -> Result<(), StoreError> {
    let error = |error: std::io::Error| StoreError::new(path, error);
    file.as_file().sync_all().map_err(error)?;
    readable(file.as_file()).map_err(error)?;
    file.persist(path).map_err(|persist| error(persist.error))?;
    sync_folder(path.parent().unwrap_or(path))
}

/// Brings the names in a folder safely to disk.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| StoreError::new(folder, error))
}

/// Returns the error for a lock that another process has; none where there are no locks.
fn busy(results: &Path, error: TryLockError) -> Option<StoreError> {
    match error {
        TryLockError::WouldBlock => Some(StoreError {
            path: results.display().to_string(),
            message: "another run is at work in this folder; wait for it, or choose another \
                      folder with --out"
                .to_owned(),
        }),
        // Some network file systems have none, and whoever works there alone shall not suffer.
        TryLockError::Error(_) => None,
    }
}

/// Whether a file is still the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(theirs)) => id(ours) == id(theirs),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Gives a temporary file, which only its owner may read, the permissions of an ordinary one.
#[cfg(unix)]
pub(super) fn readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
pub(super) fn readable(_: &File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_torn_or_changed_at_any_byte_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let work = Work::open(folder.path()).unwrap();
        let shard = Shard { number: 3, of: 7 };
        let mut file = work.temporary().unwrap();
        let bytes: Vec<u8> = (0..2000_u32).map(|i| (i * i % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let path = work.put_shard(shard, file).unwrap();
        assert!(is_sound(&path));
        assert!(work.row_files(Some(shard)).unwrap() == [&*path]);
        assert_eq!(
            work.row_files(Some(Shard { number: 2, of: 7 })).unwrap(),
            [""; 0].map(PathBuf::from)
        );
        assert!(work.shard_files().unwrap()[&3] == [&*path]);
        for at in 0..bytes.len() {
            fs::write(&path, &bytes[..at]).unwrap();
            assert!(!is_sound(&path), "torn at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert!(!is_sound(&path), "changed at {at}");
        }
        fs::write(&path, &bytes).unwrap();
        assert!(is_sound(&path));
    }
}
