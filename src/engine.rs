//! The engine: a plan's replications, run in parallel and handed on in plan order.
//!
//! A plan is cut into blocks, each some replications of one point, so that a point's tables are
//! compiled once a block. Blocks are run a wave at a time by rayon, which balances them among the
//! threads; after a wave its rows go to the sink in plan order. Waves are sized by the clock to
//! take about half a second, which bears on memory and on nothing else.
//!
//! A point has checkpoints, numbers of replications at which it may turn out to be precise enough.
//! It decides by its own first replications alone, so how many it gets, and what reaches the sink,
//! is the same at any number of threads. While a point is between checkpoints others go on, and
//! their rows wait.
//!
//! Rows that a [`Store`] knows are not simulated again; others are given to it block by block, from
//! the thread that made them, long before they reach the sink.
//!
//! The engine prints nothing. It tells of its work in [`Event`]s.

mod block;
mod case;
mod journal;
mod plan;
mod selection;
mod shard;
mod store;
mod workers;

pub use block::WORKER;
pub use case::{Case, Expected};
pub use journal::{JOURNAL, Journal};
pub use plan::Plan;
pub use selection::{Selected, select};
pub use shard::{MAX_SHARDS, Shard, most_shards};
pub use store::{Fate, NoStore, Store};
pub use workers::{Job, Workers};

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use block::{Stop, Work, guarded, run_block};
use rayon::prelude::*;

use crate::sim::Failure;
use crate::spec::Experiment;
use crate::stats::Moments;

/// Most blocks in a wave.
const MAX_WAVE: usize = 4096;
const WAVE_TIME: Duration = Duration::from_millis(500);

/// How to run it.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Number of threads; one a core where 0.
    pub threads: usize,
    /// Whether the first failure ends the run, whose rows are then not all there.
    pub fail_fast: bool,
    /// Set from outside to end the run.
    pub cancel: &'a AtomicBool,
}

/// One finished replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub point: u32,
    pub replication: u32,
    /// A value per column of the experiment, NaN where there is none.
    pub values: Vec<f64>,
}

/// What reaches the sink, in plan order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A point begins, with what it is known to come to.
    Begin { point: u32, expected: Expected },
    /// A replication of the point begun last.
    Row(Row),
}

/// A replication that gave no row.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    pub point: u32,
    pub replication: u32,
    pub failure: Failure,
}

/// What the engine tells while it works, from whichever thread it happens on.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A replication finished with these values.
    Finished(&'a [f64]),
    /// A replication's values were known.
    Recalled(&'a [f64]),
    /// A replication failed.
    Failed(&'a Failed),
    /// A point is done, with so many replications fewer than the most.
    Done { spared: u32 },
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum EngineError<E> {
    #[error("interrupted")]
    Interrupted,
    /// [`Options::fail_fast`], and what failed until all threads had ended.
    #[error("a replication failed")]
    Failed(Vec<Failed>),
    #[error("can't start threads: {0}")]
    Threads(String),
    #[error(transparent)]
    Sink(#[from] E),
}

/// Runs a plan of an experiment; output goes to `sink` in plan order, failures are returned.
///
/// A part of a plan has no theory: its [`Output::Begin`] come without values.
///
/// # Errors
/// [`EngineError`]: the run was cancelled or ended by a failure, the sink or the store gave up, or
/// there are no threads.
pub fn run<E: Send>(
    experiment: &Experiment,
    plan: &Plan,
    options: Options,
    store: &dyn Store<E>,
    observe: &(dyn Fn(Event) + Sync),
    sink: &mut dyn FnMut(Output) -> Result<(), E>,
) -> Result<Vec<Failed>, EngineError<E>> {
    let prepare = |point| Case::new(experiment, point);
    let precise = |moments: &[Moments]| experiment.replications.precise(moments);
    let expected = |case: &Case| match plan.part {
        Some(_) => Expected::default(),
        None => case.expected(),
    };
    let work = Work { prepare, identity: Case::identity, expected, replicate: Case::replicate };
    execute(plan, options, work, &precise, store, observe, sink)
}

/// Returns the [identity](Case::identity) of each point of an experiment, nothing where a point
/// can't be decoded, which no point of a checked experiment does.
///
/// # Errors
/// [`EngineError::Threads`].
pub fn identities<E>(
    experiment: &Experiment,
    options: Options,
) -> Result<Vec<Option<u128>>, EngineError<E>> {
    let identity = |point| Some(guarded(|| Case::new(experiment, point)).ok()?.identity());
    let all = || (0..experiment.points()).into_par_iter().map(identity).collect();
    Ok(pool(options)?.install(all))
}

/// A point whose rows have not all reached the sink.
#[derive(Debug)]
struct Active {
    point: u32,
    /// Replications given out so far.
    begun: u32,
    /// Position of the checkpoint up to which replications may be given out.
    checkpoint: usize,
    /// Whether no more replications are needed.
    precise: bool,
    moments: Vec<Moments>,
    /// Rows that wait for those of the points before.
    waiting: Vec<Result<Output, Failed>>,
}

impl Active {
    fn new(plan: &Plan, point: u32) -> Self {
        let (moments, waiting) = (Vec::new(), Vec::new());
        let begun = plan.range(point).start;
        Active { point, begun, checkpoint: 0, precise: false, moments, waiting }
    }

    /// Returns the replication before which it has to wait for a decision, or ends.
    fn limit(&self, plan: &Plan) -> u32 {
        plan.checkpoints[self.checkpoint].min(plan.range(self.point).end)
    }

    /// Takes a finished block in.
    fn take(&mut self, rows: Vec<Result<Output, Failed>>) {
        for output in rows.iter().flatten() {
            let Output::Row(row) = output else { continue };
            self.moments.resize(row.values.len(), Moments::default());
            self.moments.iter_mut().zip(&row.values).for_each(|(all, &one)| all.push(one));
        }
        self.waiting.extend(rows);
    }

    /// Decides, at a checkpoint, whether to go on to the next.
    fn decide(&mut self, plan: &Plan, precise: &dyn Fn(&[Moments]) -> bool) {
        if !self.precise && self.begun == self.limit(plan) {
            let last = self.checkpoint + 1 == plan.checkpoints.len();
            self.precise = last || precise(&self.moments);
            self.checkpoint += usize::from(!self.precise);
        }
    }
}

/// Gives out the next blocks: of the points at work as far as their checkpoints allow, the first
/// ones first, and then of points not yet begun.
fn next_wave(
    plan: &Plan,
    active: &mut VecDeque<Active>,
    points: &mut impl Iterator<Item = u32>,
    len: usize,
) -> Vec<(u32, Range<u32>)> {
    let size = plan.block();
    let mut wave = Vec::with_capacity(len);
    let mut position = 0;
    while wave.len() < len {
        if position == active.len() {
            let Some(point) = points.next() else { break };
            active.push_back(Active::new(plan, point));
        }
        let at_work = &mut active[position];
        let limit = at_work.limit(plan);
        if at_work.precise || at_work.begun == limit {
            position += 1;
            continue;
        }
        let end = at_work.begun.saturating_add(size).min(limit);
        wave.push((at_work.point, at_work.begun..end));
        at_work.begun = end;
    }
    wave
}

fn execute<P, E: Send>(
    plan: &Plan,
    options: Options,
    work: Work<
        impl Fn(u32) -> Result<P, Failure> + Sync,
        impl Fn(&P) -> u128 + Sync,
        impl Fn(&P) -> Expected + Sync,
        impl Fn(&P, u32) -> Result<Vec<f64>, Failure> + Sync,
    >,
    precise: &dyn Fn(&[Moments]) -> bool,
    store: &dyn Store<E>,
    observe: &(dyn Fn(Event) + Sync),
    sink: &mut dyn FnMut(Output) -> Result<(), E>,
) -> Result<Vec<Failed>, EngineError<E>> {
    let pool = pool(options)?;
    let stop = Stop::new(options);
    let run_block = |block| run_block(&work, block, &stop, store, observe);
    let mut points = plan.points.iter().copied();
    let mut active: VecDeque<Active> = VecDeque::new();
    let mut wave_len = 8 * pool.current_num_threads();
    let mut failures = Vec::new();
    loop {
        let wave = next_wave(plan, &mut active, &mut points, wave_len);
        if wave.is_empty() {
            return Ok(failures);
        }
        let start = Instant::now();
        let owners: Vec<u32> = wave.iter().map(|(point, _)| *point).collect();
        let blocks: Vec<_> =
            pool.install(|| wave.into_par_iter().with_max_len(1).map(run_block).collect());
        let speed = WAVE_TIME.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-6);
        let least = 8 * pool.current_num_threads();
        wave_len = (wave_len as f64 * speed.min(8.0)) as usize;
        wave_len = wave_len.clamp(least, MAX_WAVE.max(least));
        stop.check(blocks.iter().flatten())?;
        // Blocks come in the order of the points at work, several to a point.
        let mut position = 0;
        for (point, rows) in owners.into_iter().zip(blocks) {
            while active[position].point != point {
                position += 1;
            }
            active[position].take(rows);
        }
        for at_work in &mut active {
            at_work.decide(plan, precise);
        }
        while let Some(first) = active.front_mut() {
            for row in first.waiting.drain(..) {
                match row {
                    Ok(output) => sink(output)?,
                    Err(failed) => failures.push(failed),
                }
            }
            if !first.precise {
                break;
            }
            observe(Event::Done { spared: plan.range(first.point).end - first.begun });
            active.pop_front();
        }
    }
}

fn pool<E>(options: Options) -> Result<rayon::ThreadPool, EngineError<E>> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .thread_name(|index| format!("{WORKER}-{index}"))
        .build()
        .map_err(|error| EngineError::Threads(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn plan(points: u32, replications: u32) -> Plan {
        let checkpoints = vec![replications];
        let points = (0..points).collect();
        Plan { points, checkpoints, arrivals: 100_000.0, batches: false, part: None }
    }

    type Prepare = fn(u32) -> Result<u32, Failure>;
    type Identity = fn(&u32) -> u128;
    type Known = fn(&u32) -> Expected;

    fn work<R>(replicate: R) -> Work<Prepare, Identity, Known, R> {
        Work {
            prepare: Ok,
            identity: |&point| point.into(),
            expected: |_| Expected::default(),
            replicate,
        }
    }

    fn run_all(
        plan: &Plan,
        threads: usize,
        replicate: impl Fn(&u32, u32) -> Result<Vec<f64>, Failure> + Sync,
    ) -> (Vec<(u32, u32)>, Vec<Failed>) {
        let cancel = AtomicBool::new(false);
        let options = Options { threads, fail_fast: false, cancel: &cancel };
        let mut rows = Vec::new();
        let mut sink = |output: Output| -> Result<(), ()> {
            if let Output::Row(row) = output {
                rows.push((row.point, row.replication));
            }
            Ok(())
        };
        let failures =
            execute(plan, options, work(replicate), &|_| true, &NoStore, &|_| {}, &mut sink)
                .unwrap();
        (rows, failures)
    }

    #[test]
    fn rows_come_in_plan_order_at_any_number_of_threads() {
        let plan = plan(40, 13);
        let expected: Vec<_> = (0..40).flat_map(|p| (0..13).map(move |r| (p, r))).collect();
        for threads in [1, 2, 8] {
            let (rows, failures) = run_all(&plan, threads, |_, _| Ok(vec![1.0]));
            assert_eq!((rows, failures), (expected.clone(), vec![]));
        }
    }

    /// Point p is precise once it has 10·p replications; it may stop at 5, 12, 30 or 40.
    #[test]
    fn points_stop_at_their_own_checkpoints_and_rows_keep_their_order() {
        let plan = Plan { checkpoints: vec![5, 12, 30, 40], ..plan(6, 0) };
        let expected: Vec<(u32, u32)> = [5, 12, 30, 30, 40, 40]
            .into_iter()
            .enumerate()
            .flat_map(|(point, n)| (0..n).map(move |replication| (point as u32, replication)))
            .collect();
        for threads in [1, 2, 8] {
            let cancel = AtomicBool::new(false);
            let options = Options { threads, fail_fast: false, cancel: &cancel };
            let precise = |moments: &[Moments]| {
                moments[0].n() as f64 >= 10.0 * moments[0].mean().unwrap_or_default()
            };
            let mut rows = Vec::new();
            let mut sink = |output: Output| -> Result<(), ()> {
                if let Output::Row(row) = output {
                    rows.push((row.point, row.replication));
                }
                Ok(())
            };
            let replicate = |&point: &u32, _| Ok(vec![f64::from(point)]);
            execute(&plan, options, work(replicate), &precise, &NoStore, &|_| {}, &mut sink)
                .unwrap();
            assert_eq!(rows, expected);
        }
    }

    #[test]
    fn a_panic_and_an_error_cost_their_own_replications_only() {
        let (rows, failures) =
            run_all(&plan(3, 5), 2, |&point, replication| match (point, replication) {
                (1, 2) => panic!("on purpose {replication}"),
                (2, 0) => Err(Failure::TooManyArrivals { cap: 7 }),
                _ => Ok(vec![0.0]),
            });
        assert_eq!(rows.len(), 13);
        let failed: Vec<_> = failures.iter().map(|f| (f.point, f.replication)).collect();
        assert_eq!(failed, [(1, 2), (2, 0)]);
        assert_eq!(failures[0].failure, Failure::Panic("on purpose 2".to_owned()));
        assert_eq!(failures[1].failure, Failure::TooManyArrivals { cap: 7 });
    }

    #[test]
    fn fail_fast_ends_the_run_at_the_first_failure() {
        let cancel = AtomicBool::new(false);
        let options = Options { threads: 2, fail_fast: true, cancel: &cancel };
        let work = work(|&point: &u32, _| match point {
            500 => Err(Failure::TooManyArrivals { cap: 7 }),
            _ => Ok(vec![]),
        });
        let mut points = 0;
        let mut sink = |output: Output| -> Result<(), ()> {
            points += u32::from(matches!(output, Output::Begin { .. }));
            Ok(())
        };
        let plan = plan(1000, 100);
        let end = execute(&plan, options, work, &|_| true, &NoStore, &|_| {}, &mut sink);
        let Err(EngineError::Failed(failed)) = end else { panic!("{end:?}") };
        assert!((1..=2).contains(&failed.len()) && failed[0].point == 500, "{failed:?}");
        assert!(points <= 500, "{points}");
    }

    /// However late a signal comes, what is not all of the plan is never returned as a whole run.
    #[test]
    fn cancelling_while_rows_are_handed_on_ends_the_run() {
        let cancel = AtomicBool::new(false);
        let options = Options { threads: 2, fail_fast: false, cancel: &cancel };
        let mut sink = |_: Output| -> Result<(), ()> {
            cancel.store(true, Ordering::Relaxed);
            Ok(())
        };
        let work = work(|_: &u32, _| Ok(vec![]));
        let end = execute(&plan(1000, 100), options, work, &|_| true, &NoStore, &|_| {}, &mut sink);
        assert!(matches!(end, Err(EngineError::Interrupted)), "{end:?}");
    }

    #[test]
    fn cancelling_ends_the_run() {
        let cancel = AtomicBool::new(false);
        let options = Options { threads: 2, fail_fast: false, cancel: &cancel };
        let replicate = |_: &u32, _| {
            cancel.store(true, Ordering::Relaxed);
            Ok(vec![])
        };
        let mut sink = |_: Output| -> Result<(), ()> { Ok(()) };
        let end = execute(
            &plan(1000, 100),
            options,
            work(replicate),
            &|_| true,
            &NoStore,
            &|_| {},
            &mut sink,
        );
        assert!(matches!(end, Err(EngineError::Interrupted)));
    }
}
