//! Rows of earlier runs on disk, found by identity, and those of this run on their way there.
//!
//! Rows come from two kinds of file: the `replications.parquet` of finished results, which says
//! of what spec it is, and files of rows in the folder `unfinished`. Where a row is, is kept in
//! memory, a few words for each point and file; values are read when they are asked for, a row
//! group at a time, which plan order makes cheap.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::index::{Index, Lost, Source};
use super::rows::{Group, ROW_GROUP, Rows, Writer, keys, metadata, read, sceptically};
use super::staging::{CHANGED, rows_hashes};
use super::work::{Work, file_hash, is_sound, remove};
use super::{Intent, REPLICATIONS, Staging, StoreError};
use crate::engine::{self, Case, EngineError, Fate, Options, Plan, Shard};
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
const MAX_ROWS: usize = 1 << 17;
/// Row groups that are kept in memory; more, by their values, if they are asked for out of turn.
const CACHED: usize = 8;
const CACHED_VALUES: usize = 1 << 25;

/// What keeps a run from using what is there.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What is there is of another spec, or of another version.
    #[error("{why}")]
    Foreign {
        /// A sentence, and a line for each change of the spec.
        why: String,
        /// Whether removing the unfinished run may help.
        unfinished: bool,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Engine(#[from] EngineError<StoreError>),
}

impl OpenError {
    fn foreign(why: String) -> OpenError {
        OpenError::Foreign { why, unfinished: false }
    }
}

/// Rows of earlier runs, and those of this one. See [`engine::Store`].
#[derive(Debug)]
pub struct Store<'a> {
    work: &'a Work,
    experiment: &'a Experiment,
    shard: Option<Shard>,
    /// Hash of the plan that it keeps rows of.
    plan: String,
    header: Vec<(String, String)>,
    index: Index,
    /// The specs, as JSON, that other rows were made for, or why they can't be told.
    before: Vec<Result<String, String>>,
    /// Whether the run had begun before.
    begun: bool,
    cache: Mutex<Cache>,
    used: AtomicU64,
    buffer: Mutex<Buffer>,
}

/// Row groups in memory, by file and number there, the one asked for last at the end.
#[derive(Debug, Default)]
struct Cache {
    groups: Vec<((usize, usize), Arc<Group>)>,
    /// Groups that were here at some time.
    seen: HashSet<(usize, usize)>,
    /// How many were asked for again when they had gone.
    again: usize,
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
    /// Opens what earlier runs left for an experiment, or for a shard of it, and writes down what
    /// is to be done.
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
        // Whoever discards what is there doesn't mind what it is.
        let mut earlier = match work.intent() {
            Err(_) if intent.fresh => None,
            other => other?,
        };
        // Whoever wanted the old results gone, and was stopped, goes on without them.
        let same = earlier.as_ref().filter(|earlier| earlier.plan == intent.plan);
        let path = work.results().join(REPLICATIONS);
        let there = match path.exists() {
            true => {
                let hash = file_hash(&path).map_err(|error| StoreError::reading(&path, error))?;
                Some(format!("{hash:032x}"))
            }
            false => None,
        };
        let replaces = match same {
            _ if intent.fresh => there.clone().into_iter().collect(),
            Some(earlier) if earlier.fresh => earlier.replaces.clone(),
            _ => Vec::new(),
        };
        // But not without those that came since.
        let is_discarded = there.as_ref().is_some_and(|hash| replaces.contains(hash));
        let fresh = intent.fresh || same.is_some_and(|earlier| earlier.fresh);
        let shards = intent.shards.or(same.and_then(|earlier| earlier.shards));
        let mut store = Store::empty(work, experiment, intent, shard);
        store.begun = earlier.is_some();
        let json = |from: &Intent| match from.load() {
            Ok(experiment) => Ok(experiment.json),
            Err(error) => Err(error.reason()),
        };
        // Whoever has tasks waiting for a plan finds it as it was.
        if let Some(other) = earlier.as_ref().filter(|earlier| earlier.plan != intent.plan)
            && let (Some(shards), false) = (other.shards, intent.fresh)
        {
            store.before.push(json(other));
            let why = format!(
                "{} has an unfinished run of another spec, or of this one with other settings, cut \
                 into {shards} shards whose tasks may be waiting{}",
                work.results().display(),
                store.changes()
            );
            return Err(OpenError::Foreign { why, unfinished: true });
        }
        let mut torn = Vec::new();
        if intent.fresh {
            work.clear()?;
            earlier = None;
        } else {
            if there.is_some() && !(fresh && is_discarded) {
                store.add_finished(&path, intent, options)?;
            }
            for path in work.row_files(shard)? {
                match is_sound(&path)? {
                    true => store.add_rows(path, intent)?,
                    false if path.exists() => torn.push(path),
                    // Another process doing the same shard has ended.
                    false => {}
                }
            }
            let unfinished = |file: &Source| file.other && !file.finished;
            let from = earlier.as_ref().filter(|_| store.index.files.iter().any(unfinished));
            store.before.extend(from.map(json));
            let most = experiment.replications.checkpoints().last().copied().unwrap_or(0);
            store.check_all_kept(options, |_| most)?;
        }
        // Nothing is discarded where the run is refused.
        for path in torn {
            tell(format!("{} is torn; it is discarded, and its rows made again", path.display()));
            remove(&path)?;
        }
        let intent = Intent { fresh, replaces, shards, ..intent.clone() };
        if earlier.as_ref() != Some(&intent) {
            let there = work.set_intent(&intent)?;
            if (&there.plan, there.shards) != (&intent.plan, intent.shards) {
                let folder = work.results().display();
                return Err(OpenError::foreign(format!(
                    "another run, or one that is cut otherwise, has just begun in {folder}"
                )));
            }
        }
        Ok(store)
    }

    fn empty(
        work: &'a Work,
        experiment: &'a Experiment,
        intent: &Intent,
        shard: Option<Shard>,
    ) -> Store<'a> {
        let (rows, now) = (Rows::default(), Instant::now());
        let buffer = Buffer { rows, start: now, last: now, cost: Duration::ZERO, kept: 0 };
        Store {
            work,
            experiment,
            shard,
            plan: intent.plan.clone(),
            header: intent.header(shard),
            index: Index::default(),
            before: Vec::new(),
            begun: false,
            cache: Mutex::default(),
            used: AtomicU64::new(0),
            buffer: Mutex::new(buffer),
        }
    }

    /// Returns whether the run, or one in whose place it is, had begun before.
    pub fn had_begun(&self) -> bool {
        self.begun
    }

    /// Returns the number of rows that were asked for and known, failed replications not counted.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the number of rows of a plan, the run's or its shard's, that are safe on disk if it is
    /// stopped now.
    pub fn safe(&self, plan: &Plan) -> u64 {
        let of_point = |&point: &u32| {
            let case = Case::new(self.experiment, point);
            case.map_or(0, |case| self.index.rows_within(case.identity(), plan.range(point)))
        };
        let known = match self.shard {
            Some(_) => plan.points.iter().map(of_point).sum(),
            None => self.index.rows(),
        };
        known + self.buffer().kept
    }

    /// Checks that every row that was there before has its place, when a run whose length depends
    /// on its data has ended, with as many replications of each point.
    ///
    /// # Errors
    /// [`OpenError::Foreign`].
    pub fn check_reached(&self, reached: &[u32], options: Options) -> Result<(), OpenError> {
        self.check_all_kept(options, |point| reached[point])
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
        let mut writer =
            Writer::new(handle, &self.experiment.columns, self.header.clone()).map_err(stored)?;
        writer.write(&rows).and_then(|()| writer.finish()).map_err(stored)?;
        self.work.check_plan(&self.plan)?;
        self.work.put_rows(self.shard, file)?;
        let mut buffer = self.buffer();
        buffer.kept += count;
        buffer.cost = start.elapsed();
        Ok(())
    }

    /// Takes in the rows of finished results.
    fn add_finished(
        &mut self,
        path: &Path,
        intent: &Intent,
        options: Options,
    ) -> Result<(), OpenError> {
        let unusable = |why: String| {
            OpenError::foreign(format!("can't use the rows of {}: {why}", path.display()))
        };
        // Before a parser, which damage might upset, looks into it.
        let told = rows_hashes(self.work.results())?;
        let hash = file_hash(path).map_err(|error| StoreError::reading(path, error))?;
        if told.is_empty() {
            return Err(unusable("there is no manifest that tells it is whole".to_owned()));
        } else if !told.contains(&format!("{hash:032x}")) {
            return Err(unusable(CHANGED.to_owned()));
        }
        // What is sound and can't be read is so for reasons of the disk.
        let unreadable = |why| StoreError::reading(path, why);
        let metadata = sceptically(|| metadata(path)).map_err(unreadable)?;
        self.check_version(path, &metadata)?;
        let (Some(json), Some(files)) = (metadata.get("spec"), metadata.get("files")) else {
            return Err(unusable("it doesn't say of which spec it is".to_owned()));
        };
        let earlier = Earlier { json: json.clone(), files: files.clone() };
        let read_file = |path: &str| intent.read(path);
        let before = earlier.load(&read_file, self.experiment);
        let before = before.map_err(|error| unusable(error.reason()))?;
        self.before.push(Ok(earlier.json));
        let identities = engine::identities(&before, options)?;
        let manifest = Staging::manifest(self.work.results())?;
        let other = manifest.is_none_or(|manifest| manifest["plan"] != *intent.plan);
        let mut adding = self.index.add(Source { path: path.to_owned(), finished: true, other });
        let wanted = vec!["point".to_owned(), "replication".to_owned()];
        let height = sceptically(|| super::rows::height(path)).map_err(unreadable)?;
        for start in (0..height).step_by(ROW_GROUP) {
            let frame = sceptically(|| read(path, Some(wanted.clone()), (start, ROW_GROUP)));
            let frame = frame.map_err(unreadable)?;
            let whole = |name: &str| -> Result<Vec<u32>, OpenError> {
                let column = sceptically(|| Ok(frame.column(name)?.u32()?.clone()));
                Ok(column.map_err(unreadable)?.iter().flatten().collect())
            };
            for (point, replication) in whole("point")?.into_iter().zip(whole("replication")?) {
                let identity = identities.get(point as usize).copied().flatten();
                let identity = identity.ok_or_else(|| unusable(format!("no point {point}")))?;
                adding.row(identity, replication);
            }
        }
        Ok(())
    }

    /// Takes in a file of rows that is whole.
    fn add_rows(&mut self, path: PathBuf, intent: &Intent) -> Result<(), OpenError> {
        let read = sceptically(|| Ok((metadata(&path)?, keys(&path)?)));
        let (metadata, keys) = read.map_err(|why| StoreError::reading(&path, why))?;
        self.check_version(&path, &metadata)?;
        let other = metadata.get("plan") != Some(&intent.plan);
        let mut adding = self.index.add(Source { path, finished: false, other });
        keys.into_iter().for_each(|(identity, replication)| adding.row(identity, replication));
        Ok(())
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
        let why = format!(
            "{} has rows of version {} of the kernels ({}), and this is version {} ({}), whose rows \
             may differ",
            path.display(),
            theirs.0,
            theirs.1,
            ours.0,
            ours.1
        );
        let unfinished = path.starts_with(self.work.folder());
        Err(OpenError::Foreign { why, unfinished })
    }

    /// Checks that every row made for another plan is among those first replications that points
    /// have.
    fn check_all_kept(
        &self,
        options: Options,
        reached: impl Fn(usize) -> u32,
    ) -> Result<(), OpenError> {
        if !self.index.has_others() {
            return Ok(());
        }
        // Points of the same identity have the same rows.
        let mut kept: HashMap<u128, u32> = HashMap::new();
        for (point, identity) in
            engine::identities(self.experiment, options)?.into_iter().enumerate()
        {
            if let Some(identity) = identity {
                let most = kept.entry(identity).or_default();
                *most = reached(point).max(*most);
            }
        }
        let Lost { all, lost, unfinished } =
            self.index.lost(|identity| kept.get(&identity).copied().unwrap_or(0));
        if lost == 0 {
            return Ok(());
        }
        let why = format!(
            "{} holds results of another spec, or of this one with other settings: {lost} of their \
             {all} rows no longer belong{}",
            self.work.results().display(),
            self.changes()
        );
        Err(OpenError::Foreign { why, unfinished })
    }

    /// Returns a line for each change of the spec since other rows were made.
    fn changes(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for earlier in &self.before {
            let found = match earlier {
                Ok(json) => changes(json, &self.experiment.json),
                Err(why) => vec![why.clone()],
            };
            for line in found {
                let line = format!("\n  {line}");
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        lines.concat()
    }

    /// Returns the row group of a file that a row is in.
    fn group(&self, file: usize, row: usize) -> Result<Arc<Group>, StoreError> {
        let key = (file, row / ROW_GROUP);
        let names = &self.experiment.columns;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = cache.groups.iter().position(|(cached, _)| *cached == key) {
            let entry = cache.groups.remove(at);
            let group = entry.1.clone();
            cache.groups.push(entry);
            return Ok(group);
        }
        let path = &self.index.files[file].path;
        let load = || Group::new(&read(path, None, (key.1 * ROW_GROUP, ROW_GROUP))?, names);
        let group = Arc::new(sceptically(load).map_err(|why| StoreError::reading(path, why))?);
        cache.again += usize::from(!cache.seen.insert(key));
        let most = CACHED_VALUES / (ROW_GROUP * names.len().max(1));
        if cache.groups.len() >= (CACHED + cache.again).min(most.max(CACHED)) {
            cache.groups.remove(0);
        }
        cache.groups.push((key, group.clone()));
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
        for segment in self.index.of(identity) {
            let start = segment.first.max(replications.start);
            let end = segment.range().end.min(replications.end);
            for replication in start..end {
                let row = segment.row + (replication - segment.first) as usize;
                let fate = &mut fates[(replication - replications.start) as usize];
                if fate.is_none() {
                    *fate = self.group(segment.file, row)?.fate(row % ROW_GROUP);
                    let is_row = matches!(fate, Some(Ok(_)));
                    self.used.fetch_add(is_row.into(), Ordering::Relaxed);
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
            buffer.rows.push((point, identity, replication), fate, self.experiment.columns.len());
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
