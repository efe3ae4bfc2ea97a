//! The folder `unfinished` among the results: what is kept of a run until its results are whole.
//!
//! It holds the plan, files of rows, the journal of searches, and files being written. Under a lock
//! one process works on the whole of it, or several on shards, each under a name of its own; where
//! a file system has no locks, nothing relies on them but the user's comfort. A file of rows is
//! named after its content, and has a temporary name until it is whole. When the results are in
//! place the folder goes, but for files that are not ours.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};
use xxhash_rust::xxh3::Xxh3;

use super::StoreError;
use crate::engine::{JOURNAL, Shard};

/// Name of the folder.
pub const UNFINISHED: &str = "unfinished";
pub(super) const PLAN: &str = "plan.json";
const LOCK: &str = "lock";
/// How the names of files being written begin; those of whoever holds the lock, and of shards.
const OURS: &str = ".writing-";
const SHARDS: &str = ".shard-";
/// How the names of files with some rows begin, and of those with all rows of a shard.
const PART: &str = "rows-";
pub(super) const WHOLE: &str = "shard-";

/// The folder, opened.
#[derive(Debug)]
pub struct Work {
    results: PathBuf,
    folder: PathBuf,
    /// What keeps others out, where the file system has locks.
    lock: Option<File>,
    /// Whether this process has it for itself.
    alone: bool,
    /// Whether this process made the folder of results.
    new: bool,
}

impl Work {
    /// Opens the folder for this process alone, and makes it if need be.
    ///
    /// # Errors
    /// [`StoreError`]; it can't be made or written to, or another process is at work in it.
    pub fn open(results: &Path) -> Result<Work, StoreError> {
        let work = Work::at(results).locked(true)?;
        for path in work.list(|name| is_temporary(name, OURS))? {
            remove(&path)?;
        }
        Ok(work)
    }

    /// Opens the folder beside others that write their own shards, and makes it if need be.
    ///
    /// # Errors
    /// As [`Work::open`].
    pub fn share(results: &Path) -> Result<Work, StoreError> {
        Work::at(results).locked(false)
    }

    fn locked(mut self, alone: bool) -> Result<Work, StoreError> {
        self.alone = alone;
        let path = self.folder.join(LOCK);
        loop {
            self.new |= !self.results.exists();
            self.make()?;
            let lock = match File::create(&path) {
                // Another run has just ended and removed the folder.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other.map_err(|error| StoreError::new(&path, error))?,
            };
            match if alone { lock.try_lock() } else { lock.try_lock_shared() } {
                // Or it did so between the two.
                Ok(()) if !is_at(&lock, &path) => {}
                Ok(()) => {
                    self.lock = Some(lock);
                    return Ok(self);
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::busy(&self.results)),
                // Some network file systems have none, and whoever works there alone shall not
                // suffer.
                Err(TryLockError::Error(_)) => return Ok(self),
            }
        }
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
        let folder = results.join(UNFINISHED);
        Work { results: results.to_owned(), folder, lock: None, alone: false, new: false }
    }

    /// Returns where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether this process has it for itself.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Returns the folder of results that it is in.
    pub fn results(&self) -> &Path {
        &self.results
    }

    /// Returns a file with a temporary name and this content.
    pub(super) fn written(&self, content: impl AsRef<[u8]>) -> Result<NamedTempFile, StoreError> {
        let mut file = self.temporary()?;
        let written = file.write_all(content.as_ref());
        written.map_err(|error| StoreError::new(file.path(), error))?;
        Ok(file)
    }

    /// Returns the files of rows in the order of their names; for a shard its own, and those of no
    /// shard.
    ///
    /// # Errors
    /// [`StoreError`] when the folder can't be read.
    pub fn row_files(&self, shard: Option<Shard>) -> Result<Vec<PathBuf>, StoreError> {
        let mut files = self.list(|name| match (shard, rows_of(name)) {
            (_, None) => false,
            (None, _) | (_, Some(None)) => true,
            (Some(shard), Some(Some(number))) => number == shard.number,
        })?;
        files.sort();
        Ok(files)
    }

    /// Returns the files of rows of a shard, whole or in parts.
    ///
    /// # Errors
    /// [`StoreError`] when the folder can't be read.
    pub(super) fn shard_files_of(&self, shard: Shard) -> Result<Vec<PathBuf>, StoreError> {
        self.list(|name| rows_of(name) == Some(Some(shard.number)))
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
        for path in self.list(|name| name.starts_with(WHOLE))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(Some(number)) = rows_of(&name) {
                files.entry(number).or_default().push(path);
            }
        }
        Ok(files)
    }

    /// Makes a file with a temporary name.
    pub(super) fn temporary(&self) -> Result<NamedTempFile, StoreError> {
        let prefix = if self.alone { OURS } else { SHARDS };
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
        // A journal that was only opened has a single line.
        let journal = || fs::read_to_string(self.folder.join(JOURNAL)).unwrap_or_default();
        let is_kept = |name: &str| match name {
            JOURNAL => journal().lines().nth(1).is_some(),
            name => name == PLAN || rows_of(name).is_some(),
        };
        if !self.list(is_kept)?.is_empty() {
            return Ok(());
        }
        // Others may be at work beside this one, and may have kept something since it looked.
        let last = self.alone || self.lock.as_ref().is_some_and(|lock| lock.try_lock().is_ok());
        if last && self.list(is_kept)?.is_empty() { self.remove() } else { Ok(()) }
    }

    /// Removes our files, and the folder if no other is left: the results are in place, or
    /// nothing in it is worth keeping.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove(&self) -> Result<(), StoreError> {
        // If the folder was removed meanwhile, what is there now is another's.
        let lock = self.folder.join(LOCK);
        if self.lock.as_ref().is_none_or(|ours| is_at(ours, &lock)) {
            // The plan goes first: without it, nothing else that is left is of a run.
            remove(&self.folder.join(PLAN))?;
            let ours = self.list(|name| name != LOCK && is_ours(name))?;
            ours.iter().try_for_each(|path| remove(path))?;
            remove(&lock)?;
            // Where there is something else in it it stays.
            let _ = fs::remove_dir(&self.folder);
        }
        if self.new {
            let _ = fs::remove_dir(&self.results);
        }
        Ok(())
    }

    /// Returns the last words that tasks of shards have left, by number.
    ///
    /// # Errors
    /// [`StoreError`] when the folder can't be read.
    pub fn errors(&self) -> Result<BTreeMap<u32, String>, StoreError> {
        let mut errors = BTreeMap::new();
        for path in self.list(|name| name.starts_with("error-") && is_ours(name))? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let number = name.strip_prefix("error-").and_then(|number| number.parse().ok());
            if let (Some(number), Ok(text)) = (number, fs::read_to_string(&path)) {
                errors.insert(number, text);
            }
        }
        Ok(errors)
    }

    /// Returns the paths of the files whose names are wanted.
    fn list(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, StoreError> {
        let error = |error| StoreError::reading(&self.folder, error);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(error)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(error)?;
            if entry.file_name().to_str().is_some_and(&wanted) {
                paths.push(entry.path());
            }
        }
        Ok(paths)
    }
}

/// Returns of which shard a file of rows is, if of any, by its name; nothing for other files.
fn rows_of(name: &str) -> Option<Option<u32>> {
    let is_hash = |word: &str| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let stem = name.strip_suffix(".parquet")?;
    let (part, whole) = (stem.strip_prefix(PART), stem.strip_prefix(WHOLE));
    let rest = part.or(whole)?;
    match rest.split_once('-') {
        Some((number, hash)) if is_hash(hash) => number.parse().ok().map(Some),
        None if part.is_some() && is_hash(rest) => Some(None),
        _ => None,
    }
}

/// Whether a file is one that was being written, by its name.
fn is_temporary(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Whether a file in the folder is one that we may have made, by its name.
fn is_ours(name: &str) -> bool {
    let task = |prefix: &str| {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".txt"));
        let digits = |n: &str| n.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        number.is_some_and(|n| !n.is_empty() && digits(n))
    };
    let script = |name: &str| {
        let stem = name.strip_suffix(".sh").unwrap_or_default();
        ["slurm-", "hq-"].iter().any(|engine| stem.starts_with(engine))
    };
    [PLAN, LOCK, JOURNAL].contains(&name)
        || script(name)
        || [OURS, SHARDS, ".job-"].iter().any(|prefix| is_temporary(name, prefix))
        || ["error-", "slurm-"].into_iter().any(task)
        || rows_of(name).is_some()
}

/// How the names of files with some rows begin, of a shard or of none.
fn part_prefix(shard: Option<Shard>) -> String {
    shard.map_or(PART.to_owned(), |shard| format!("{PART}{:06}-", shard.number))
}

/// How the name of the file with all rows of a shard begins.
fn whole_prefix(shard: Shard) -> String {
    format!("{WHOLE}{:06}-", shard.number)
}

/// Whether a file is there and its content is what its name tells.
///
/// # Errors
/// [`StoreError`]; it can't be read, which doesn't mean that it is damaged.
pub(super) fn is_sound(path: &Path) -> Result<bool, StoreError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let told = stem.rsplit('-').next().unwrap_or_default();
    match file_hash(path) {
        Ok(hash) => Ok(format!("{hash:032x}") == told),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::reading(path, error)),
    }
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
    bring_to_disk(&file).map_err(error)?;
    file.persist(path).map_err(|persist| error(persist.error))?;
    sync_folder(path.parent().unwrap_or(path))
}

/// Does so unless another file has the name.
pub(super) fn put_if_new(file: NamedTempFile, path: &Path) -> Result<(), StoreError> {
    let error = |error: std::io::Error| StoreError::new(path, error);
    bring_to_disk(&file).map_err(error)?;
    match file.persist_noclobber(path) {
        Err(persist) if persist.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(persist) => Err(error(persist.error)),
        Ok(_) => sync_folder(path.parent().unwrap_or(path)),
    }
}

/// Brings a temporary file safely to disk, and closes it.
pub(super) fn closed(file: NamedTempFile) -> Result<TempPath, StoreError> {
    bring_to_disk(&file).map_err(|error| StoreError::new(file.path(), error))?;
    Ok(file.into_temp_path())
}

fn bring_to_disk(file: &NamedTempFile) -> std::io::Result<()> {
    file.as_file().sync_all()?;
    readable(file.as_file())
}

/// Brings the names in a folder safely to disk.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| StoreError::new(folder, error))
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

    /// Whoever leaves a folder that was removed and made again by another leaves the other's alone.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_another_made_again_stays() {
        for open in [Work::open, Work::share] {
            let results = tempfile::tempdir().unwrap();
            let before = open(results.path()).unwrap();
            fs::remove_dir_all(before.folder()).unwrap();
            let now = open(results.path()).unwrap();
            before.leave().unwrap();
            before.remove().unwrap();
            assert!(is_at(now.lock.as_ref().unwrap(), &now.folder().join(LOCK)));
            now.leave().unwrap();
            assert!(!now.folder().exists());
        }
    }

    #[test]
    fn a_file_torn_or_changed_at_any_byte_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let work = Work::open(folder.path()).unwrap();
        let shard = Shard { number: 3, of: 7 };
        let mut file = work.temporary().unwrap();
        let bytes: Vec<u8> = (0..2000_u32).map(|i| (i * i % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let path = work.put_shard(shard, file).unwrap();
        assert!(is_sound(&path).unwrap());
        assert!(work.row_files(Some(shard)).unwrap() == [&*path]);
        assert_eq!(
            work.row_files(Some(Shard { number: 2, of: 7 })).unwrap(),
            [""; 0].map(PathBuf::from)
        );
        assert!(work.shard_files().unwrap()[&3] == [&*path]);
        for at in 0..bytes.len() {
            fs::write(&path, &bytes[..at]).unwrap();
            assert!(!is_sound(&path).unwrap(), "torn at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert!(!is_sound(&path).unwrap(), "changed at {at}");
        }
        fs::write(&path, &bytes).unwrap();
        assert!(is_sound(&path).unwrap());
    }
}
