//! Blocks: some replications of one point, on one thread.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{EngineError, Event, Expected, Failed, Options, Output, Row, Store};
use crate::sim::Failure;

/// What is done of a point: three things once a block, one once a replication.
pub(super) struct Work<F, I, T, R> {
    pub prepare: F,
    pub identity: I,
    pub expected: T,
    pub replicate: R,
}

/// Whether to stop before the end.
pub(super) struct Stop<'a, E> {
    options: Options<'a>,
    failed: AtomicBool,
    /// Set together with what the store said.
    stuck: AtomicBool,
    trouble: Mutex<Option<E>>,
}

impl<'a, E> Stop<'a, E> {
    pub(super) fn new(options: Options<'a>) -> Self {
        let [failed, stuck] = [false; 2].map(AtomicBool::new);
        Stop { options, failed, stuck, trouble: Mutex::new(None) }
    }

    pub(super) fn now(&self) -> bool {
        self.options.cancel.load(Ordering::Relaxed)
            || self.stuck.load(Ordering::Relaxed)
            || self.options.fail_fast && self.failed.load(Ordering::Relaxed)
    }

    /// Notes that the store gave up.
    fn give_up(&self, error: E) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stuck.store(true, Ordering::Relaxed);
    }

    /// Returns why blocks, with these results, may have ended early, if they may.
    pub(super) fn check<'r>(
        &self,
        results: impl Iterator<Item = &'r Result<Output, Failed>>,
    ) -> Result<(), EngineError<E>> {
        if let Some(error) = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(EngineError::Sink(error));
        }
        if self.options.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Interrupted);
        }
        if self.options.fail_fast && self.failed.load(Ordering::Relaxed) {
            let failed = results.filter_map(|result| result.as_ref().err().cloned());
            return Err(EngineError::Failed(failed.collect()));
        }
        Ok(())
    }
}

/// Runs those of some replications of a point that the store doesn't know.
pub(super) fn run_block<P, F, I, T, R, E>(
    work: &Work<F, I, T, R>,
    (point, replications): (u32, Range<u32>),
    stop: &Stop<E>,
    store: &dyn Store<E>,
    observe: &(dyn Fn(Event) + Sync),
) -> Vec<Result<Output, Failed>>
where
    F: Fn(u32) -> Result<P, Failure>,
    I: Fn(&P) -> u128,
    T: Fn(&P) -> Expected,
    R: Fn(&P, u32) -> Result<Vec<f64>, Failure>,
{
    let mut rows = Vec::with_capacity(replications.len() + 1);
    if stop.now() {
        return rows;
    }
    // A point that can't be prepared says so with its replications.
    let prepared = guarded(|| (work.prepare)(point));
    let case = prepared.as_ref().map_err(Failure::clone);
    if replications.start == 0 {
        let expected = case.as_ref().map(|case| (work.expected)(case)).unwrap_or_default();
        rows.push(Ok(Output::Begin { point, expected }));
    }
    let identity = case.as_ref().map(|case| (work.identity)(case)).ok();
    let recall = |identity| store.recall(identity, replications.clone());
    let mut known = match identity.map(recall).transpose() {
        Ok(known) => known.unwrap_or_default().into_iter(),
        Err(error) => {
            stop.give_up(error);
            return rows;
        }
    };
    let mut new = Vec::new();
    for replication in replications {
        if stop.now() {
            break;
        }
        let recalled = known.next().flatten();
        if recalled.is_none() {
            new.push(rows.len());
        }
        let is_new = recalled.is_none();
        let replicate = || guarded(|| (work.replicate)(case.clone()?, replication));
        rows.push(match recalled.unwrap_or_else(replicate) {
            Ok(values) => {
                observe(if is_new { Event::Finished(&values) } else { Event::Recalled(&values) });
                Ok(Output::Row(Row { point, replication, values }))
            }
            Err(failure) => {
                stop.failed.store(true, Ordering::Relaxed);
                let failed = Failed { point, replication, failure };
                observe(Event::Failed(&failed));
                Err(failed)
            }
        });
    }
    if let (Some(identity), false) = (identity, new.is_empty()) {
        let mut new = new.iter().filter_map(|&at| match &rows[at] {
            Ok(Output::Row(row)) => Some((row.replication, Ok(row.values.as_slice()))),
            Ok(Output::Begin { .. }) => None,
            Err(failed) => Some((failed.replication, Err(&failed.failure))),
        });
        if let Err(error) = store.keep(identity, point, &mut new) {
            stop.give_up(error);
        }
    }
    rows
}

/// Prefix of the names of the threads that run replications, where a panic is caught.
pub const WORKER: &str = "replications";

/// Runs a replication and turns a panic into a failure.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // Whatever the closure was changing is dropped with the failed replication.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(Failure::Panic(text))
    })
}
