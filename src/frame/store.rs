//! Rows of earlier runs on disk, found by identity, and those of this run on their way there.
//!
//! Rows come from two kinds of file: the `replications.parquet` of finished results, which says
//! of what spec it is, and files of rows in the folder `unfinished`. Where a row is, is kept in
//! memory, a few words for each point and file; values are read when they are asked for, a row
//! group at a time, which plan order makes cheap.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::rows::{Group, ROW_GROUP, Rows, Writer, keys, metadata, read, sceptically};
use super::work::{Intent, Work, file_hash, is_sound, remove};
use super::{REPLICATIONS, Staging, StoreError};
use crate::engine::{self, EngineError, Fate, Options, Shard};
use crate::model::KERNELS;
use crate::rng::GENERATOR;
use crate::sim::Failure;
use crate::spec::{Earlier, Experiment, changes};

/// Least and most time between two files of new rows.
const INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(30)];
/// Between these, a run's length over this: files become greater and don't become many.
const PER_RUN: u32 = 64;
/// Writing takes one part in so many of a thread's time at most, however slow the disk is.
const PER_WRITE: u32 = 64;
/// Rows after which they are brought to disk, whatever the time.
const MAX_ROWS: usize = 1 << 18;
/// Row groups that are kept in memory.
const CACHED: usize = 8;

/// Where some rows are: in a file, one after the other.
#[derive(Clone, Copy, Debug)]
struct Segment {
    file: u32,
    /// The row of the first replication.
    row: u32,
    first: u32,
    len: u32,
}

impl Segment {
    fn range(&self) -> Range<u32> {
        self.first..self.first + self.len
    }
}

/// A row group in memory, with its file and its number there.
type Cached = ((u32, usize), Arc<Group>);

/// What keeps a run from using what is there.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A sentence: what is there is of another spec, or of another version.
    #[error("{0}")]
    Foreign(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Engine(#[from] EngineError<StoreError>),
}

/// Rows of earlier runs, and those of this one. See [`engine::Store`].
#[derive(Debug)]
pub struct Store<'a> {
    work: &'a Work,
    shard: Option<Shard>,
    names: &'a [String],
    header: Vec<(String, String)>,
    files: Vec<PathBuf>,
    index: HashMap<u128, Vec<Segment>>,
    cache: Mutex<Vec<Cached>>,
    /// Rows of finished results, and how many of them were asked for.
    finished: u64,
    finished_used: AtomicU64,
    used: AtomicU64,
    buffer: Mutex<Buffer>,
}

#[derive(Debug)]
struct Buffer {
    rows: Rows,
    start: Instant,
    last: Instant,
    /// How long it took to write some the last time.
    cost: Duration,
    /// Rows that are safe on disk, of this run.
    kept: u64,
}

impl<'a> Store<'a> {
    /// Opens what earlier runs left for an experiment, or for a shard of it, whose intent is
    /// written down.
    ///
    /// Torn files are told of in sentences, and removed.
    ///
    /// # Errors
    /// [`OpenError::Foreign`] if rows that are there don't belong to the experiment.
    pub fn open(
        work: &'a Work,
        experiment: &'a Experiment,
        intent: &Intent,
        shard: Option<Shard>,
        options: Options,
        tell: &mut dyn FnMut(String),
    ) -> Result<Store<'a>, OpenError> {
        let earlier = work.intent();
        // Whoever wanted the old results gone, and was stopped, goes on without them.
        let same = earlier.as_ref().filter(|earlier| earlier.plan == intent.plan);
        let fresh = intent.fresh || same.is_some_and(|earlier| earlier.fresh);
        let shards = intent.shards.or(same.and_then(|earlier| earlier.shards));
        let mut store = Store::empty(work, experiment, intent, shard);
        let mut before = Vec::new();
        if intent.fresh {
            work.clear()?;
        } else {
            let path = work.results().join(REPLICATIONS);
            if !fresh && path.exists() {
                before.push(store.add_finished(&path, experiment, options)?);
            }
            let files = work.row_files(shard)?;
            for path in &files {
                store.add_rows(path, tell)?;
            }
            let from = earlier.as_ref().filter(|_| !files.is_empty());
            before.extend(from.map(|earlier| earlier.spec.clone()).and_then(|spec| {
                let read = |path: &str| {
                    let text = std::fs::read_to_string(Path::new(&spec.folder).join(path));
                    text.map_err(|error| error.to_string())
                };
                spec.load(&read).ok().map(|experiment| experiment.json)
            }));
            // What belonged to the same plan before still does.
            if same.is_none() {
                store.check_all_belong(experiment, options, &before)?;
            }
        }
        let intent = Intent { fresh, shards, ..intent.clone() };
        if earlier.as_ref() != Some(&intent) {
            work.set_intent(&intent)?;
        }
        Ok(store)
    }

    fn empty(
        work: &'a Work,
        experiment: &'a Experiment,
        intent: &Intent,
        shard: Option<Shard>,
    ) -> Store<'a> {
        let now = Instant::now();
        Store {
            work,
            shard,
            names: &experiment.columns,
            header: intent.header(shard),
            files: Vec::new(),
            index: HashMap::new(),
            cache: Mutex::default(),
            finished: 0,
            finished_used: AtomicU64::new(0),
            used: AtomicU64::new(0),
            buffer: Mutex::new(Buffer {
                rows: Rows::default(),
                start: now,
                last: now,
                cost: Duration::ZERO,
                kept: 0,
            }),
        }
    }

    /// Returns the number of rows that were asked for and known.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the number of rows that are safe on disk, if the run is stopped now.
    pub fn safe(&self) -> u64 {
        let known = self.index.values().flatten().map(|segment| u64::from(segment.len));
        known.sum::<u64>() + self.buffer().kept
    }

    /// Returns an error if rows of finished results were not asked for: a run whose length
    /// depends on its data can tell only at its end.
    ///
    /// # Errors
    /// [`OpenError::Foreign`].
    pub fn check_all_used(&self) -> Result<(), OpenError> {
        let unused = self.finished.saturating_sub(self.finished_used.load(Ordering::Relaxed));
        if unused == 0 { Ok(()) } else { Err(self.foreign(unused, self.finished, &[])) }
    }

    /// Brings the rows that were made so far safely to disk.
    ///
    /// # Errors
    /// [`StoreError`], a full disk among others.
    pub fn flush(&self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.buffer().rows);
        self.write(rows)
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, rows: Rows) -> Result<(), StoreError> {
        let (start, count) = (Instant::now(), rows.len() as u64);
        if count == 0 {
            return Ok(());
        }
        let file = self.work.temporary()?;
        let stored = |error| StoreError::new(self.work.folder(), error);
        let handle = file.reopen().map_err(|error| StoreError::new(file.path(), error))?;
        let mut writer = Writer::new(handle, self.names, self.header.clone()).map_err(stored)?;
        writer.write(&rows).and_then(|()| writer.finish()).map_err(stored)?;
        self.work.put_rows(self.shard, file)?;
        let mut buffer = self.buffer();
        buffer.kept += count;
        buffer.cost = start.elapsed();
        Ok(())
    }

    /// Takes in the rows of finished results; returns their spec.
    fn add_finished(
        &mut self,
        path: &Path,
        experiment: &Experiment,
        options: Options,
    ) -> Result<String, OpenError> {
        let unreadable = |why: String| {
            let ours = "--fresh replaces it, --out DIR keeps it";
            OpenError::Foreign(format!("can't use the rows of {}: {why}; {ours}", path.display()))
        };
        // A run that is stopped while it puts its files in place leaves them without a manifest.
        let told = Staging::manifest(self.work.results()).map(|told| told["rows_hash"].clone());
        let hash = file_hash(path).map_err(|error| unreadable(error.to_string()))?;
        if told.is_some_and(|told| told != format!("{hash:032x}")) {
            return Err(unreadable("it isn't what it was when its run ended".to_owned()));
        }
        let metadata = sceptically(|| metadata(path)).map_err(unreadable)?;
        self.check_version(path, &metadata)?;
        let (Some(json), Some(files)) = (metadata.get("spec"), metadata.get("files")) else {
            return Err(unreadable("it doesn't say of which spec it is".to_owned()));
        };
        let earlier = Earlier { json: json.clone(), files: files.clone() };
        let before = experiment.reload(&earlier).map_err(unreadable)?;
        let identities = engine::identities(&before, options)?;
        let file = self.files.len() as u32;
        self.files.push(path.to_owned());
        let wanted = vec!["point".to_owned(), "replication".to_owned()];
        let height = sceptically(|| super::rows::height(path)).map_err(unreadable)?;
        let mut run: Option<(u128, Segment)> = None;
        for start in (0..height).step_by(ROW_GROUP) {
            let frame = sceptically(|| read(path, Some(wanted.clone()), (start, ROW_GROUP)))
                .map_err(unreadable)?;
            let whole = |name: &str| -> Result<Vec<u32>, OpenError> {
                let column = sceptically(|| Ok(frame.column(name)?.u32()?.clone()));
                Ok(column.map_err(unreadable)?.iter().flatten().collect())
            };
            for (row, (point, replication)) in
                whole("point")?.into_iter().zip(whole("replication")?).enumerate()
            {
                let identity = identities.get(point as usize).copied().flatten();
                let identity = identity.ok_or_else(|| unreadable(format!("no point {point}")))?;
                self.note(&mut run, identity, file, (start + row) as u32, replication);
            }
        }
        self.end(run);
        self.finished = height as u64;
        Ok(earlier.json)
    }

    /// Takes in a file of rows, if it is whole.
    fn add_rows(&mut self, path: &Path, tell: &mut dyn FnMut(String)) -> Result<(), OpenError> {
        if !is_sound(path) {
            tell(format!("{} is torn; it is discarded, and its rows made again", path.display()));
            return Ok(remove(path)?);
        }
        let read = sceptically(|| Ok((metadata(path)?, keys(path)?)));
        let (metadata, keys) = read.map_err(|why| StoreError::new(path, why))?;
        self.check_version(path, &metadata)?;
        let file = self.files.len() as u32;
        self.files.push(path.to_owned());
        let mut run = None;
        for (row, (identity, replication)) in keys.into_iter().enumerate() {
            self.note(&mut run, identity, file, row as u32, replication);
        }
        self.end(run);
        Ok(())
    }

    /// Notes where a row is, given the segment that the rows before it make.
    fn note(
        &mut self,
        run: &mut Option<(u128, Segment)>,
        identity: u128,
        file: u32,
        row: u32,
        replication: u32,
    ) {
        match run {
            Some((of, segment)) if *of == identity && segment.range().end == replication => {
                segment.len += 1;
            }
            _ => {
                let segment = Segment { file, row, first: replication, len: 1 };
                self.end(run.replace((identity, segment)));
            }
        }
    }

    fn end(&mut self, run: Option<(u128, Segment)>) {
        if let Some((identity, segment)) = run {
            self.index.entry(identity).or_default().push(segment);
        }
    }

    fn check_version(
        &self,
        path: &Path,
        metadata: &HashMap<String, String>,
    ) -> Result<(), OpenError> {
        let ours = (KERNELS.to_string(), GENERATOR.to_owned());
        let value = |key: &str| metadata.get(key).cloned();
        let kernels = value("kernels").unwrap_or_else(|| "0".to_owned());
        let theirs = (kernels, value("generator").unwrap_or_else(|| "no generator".to_owned()));
        if ours == theirs {
            return Ok(());
        }
        Err(OpenError::Foreign(format!(
            "{} has rows of version {} of the kernels ({}), and this is version {} ({}), whose rows \
             may differ; --fresh makes all of them again, --out DIR keeps both",
            path.display(),
            theirs.0,
            theirs.1,
            ours.0,
            ours.1
        )))
    }

    /// Checks that every row that is there is one of the experiment's.
    fn check_all_belong(
        &self,
        experiment: &Experiment,
        options: Options,
        before: &[String],
    ) -> Result<(), OpenError> {
        if self.index.is_empty() {
            return Ok(());
        }
        let ours: HashSet<u128> =
            engine::identities(experiment, options)?.into_iter().flatten().collect();
        let most = experiment.replications.checkpoints().last().copied().unwrap_or(0);
        let mut all = 0_u64;
        let mut foreign = 0_u64;
        for (identity, segments) in &self.index {
            let kept = if ours.contains(identity) { most } else { 0 };
            // The same row may be in two files.
            let rows: BTreeSet<u32> = match segments.as_slice() {
                [one] => {
                    all += u64::from(one.len);
                    foreign += u64::from(one.range().end.saturating_sub(kept.max(one.first)));
                    continue;
                }
                many => many.iter().flat_map(Segment::range).collect(),
            };
            all += rows.len() as u64;
            foreign += rows.range(kept..).count() as u64;
        }
        match foreign {
            0 => Ok(()),
            foreign => {
                let mut lines: Vec<String> = Vec::new();
                for earlier in before {
                    for line in changes(earlier, &experiment.json) {
                        if !lines.contains(&line) {
                            lines.push(line);
                        }
                    }
                }
                Err(self.foreign(foreign, all, &lines))
            }
        }
    }

    fn foreign(&self, foreign: u64, all: u64, changes: &[String]) -> OpenError {
        let changes: String = changes.iter().map(|line| format!("\n  {line}")).collect();
        OpenError::Foreign(format!(
            "{} holds results of another spec, or of this one with other settings: {foreign} of \
             their {all} rows no longer belong{changes}\n--fresh discards them, --out DIR keeps \
             both",
            self.work.results().display()
        ))
    }

    /// Returns the row group of a file that a row is in.
    fn group(&self, file: u32, row: u32) -> Result<Arc<Group>, StoreError> {
        let key = (file, row as usize / ROW_GROUP);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = cache.iter().position(|(cached, _)| *cached == key) {
            // The one used last goes to the end, and the one at the front is dropped first.
            let entry = cache.remove(at);
            let group = entry.1.clone();
            cache.push(entry);
            return Ok(group);
        }
        let path = &self.files[file as usize];
        let load = || Group::new(&read(path, None, (key.1 * ROW_GROUP, ROW_GROUP))?, self.names);
        let group = sceptically(load).map_err(|why| StoreError {
            path: path.display().to_string(),
            message: format!("its rows can't be read any more: {why}; run again"),
        })?;
        let group = Arc::new(group);
        if cache.len() == CACHED {
            cache.remove(0);
        }
        cache.push((key, group.clone()));
        Ok(group)
    }
}

impl engine::Store<StoreError> for Store<'_> {
    fn recall(
        &self,
        identity: u128,
        replications: Range<u32>,
    ) -> Result<Vec<Option<Fate>>, StoreError> {
        let mut fates = vec![None; replications.len()];
        for segment in self.index.get(&identity).map(Vec::as_slice).unwrap_or_default() {
            let start = segment.first.max(replications.start);
            let end = segment.range().end.min(replications.end);
            for replication in start..end {
                let row = segment.row + (replication - segment.first);
                let fate = &mut fates[(replication - replications.start) as usize];
                if fate.is_none() {
                    *fate = self.group(segment.file, row)?.fate(row as usize % ROW_GROUP);
                    let known = u64::from(fate.is_some());
                    self.used.fetch_add(known, Ordering::Relaxed);
                    // Finished results are the first file, where there are any.
                    let finished = segment.file == 0 && self.finished > 0;
                    self.finished_used.fetch_add(known * u64::from(finished), Ordering::Relaxed);
                }
            }
        }
        Ok(fates)
    }

    fn keep<'b>(
        &self,
        identity: u128,
        point: u32,
        rows: &mut dyn Iterator<Item = (u32, Result<&'b [f64], &'b Failure>)>,
    ) -> Result<(), StoreError> {
        let mut buffer = self.buffer();
        for (replication, fate) in rows {
            buffer.rows.push((point, identity, replication), fate, self.names.len());
        }
        let [least, most] = INTERVALS;
        let interval = (buffer.start.elapsed() / PER_RUN).clamp(least, most);
        let interval = interval.max(buffer.cost * PER_WRITE);
        if buffer.last.elapsed() < interval && buffer.rows.len() < MAX_ROWS {
            return Ok(());
        }
        buffer.last = Instant::now();
        let rows = std::mem::take(&mut buffer.rows);
        drop(buffer);
        self.write(rows)
    }
}
