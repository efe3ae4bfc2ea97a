//! The engine: a plan's replications, run in parallel and handed on in plan order.
//!
//! A plan is cut into blocks, each some replications of one point, so that a point's tables are
//! compiled once a block. Blocks are run a wave at a time by rayon, which balances them among the
//! threads; after a wave its rows go to the sink in plan order. What reaches the sink is therefore
//! the same at any number of threads, and what waits for it is at most one wave. Waves are sized
//! by the clock to take about half a second, which bears on memory and on nothing else.
//!
//! The engine prints nothing. It tells of its work in [`Event`]s.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::model::Compiled;
use crate::policy::Policy;
use crate::rng::StreamKey;
use crate::sim::Failure;
use crate::spec::Experiment;

/// Arrivals that a block should have about: enough to make compiling its tables cheap.
const BLOCK_ARRIVALS: f64 = 500_000.0;
/// Most replications in a block.
const MAX_BLOCK: u32 = 256;
/// Most blocks in a wave.
const MAX_WAVE: usize = 4096;
const WAVE_TIME: Duration = Duration::from_millis(500);

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Numbers of the points, rising.
    pub points: Vec<u32>,
    /// Replications of each.
    pub replications: u32,
    /// Mean number of arrivals in a replication.
    pub arrivals: f64,
}

/// How to run it.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Number of threads; one a core where 0.
    pub threads: usize,
    /// Whether the first failure ends the run.
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

/// A replication that gave no row.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A replication failed.
    Failed(&'a Failed),
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum EngineError<E> {
    #[error("interrupted")]
    Interrupted,
    #[error("can't start threads: {0}")]
    Threads(String),
    #[error(transparent)]
    Sink(#[from] E),
}

impl Plan {
    /// Returns the plan of all points of an experiment.
    pub fn all(experiment: &Experiment) -> Plan {
        Plan::of(experiment, (0..experiment.points()).collect())
    }

    /// Returns the plan of some points of an experiment.
    pub fn of(experiment: &Experiment, points: Vec<u32>) -> Plan {
        Plan {
            points,
            replications: experiment.replications,
            arrivals: experiment.expected_arrivals / f64::from(experiment.points()),
        }
    }

    /// Returns the number of replications of all points.
    pub fn total(&self) -> u64 {
        self.points.len() as u64 * u64::from(self.replications)
    }

    fn blocks(&self) -> impl Iterator<Item = (u32, Range<u32>)> {
        let size = (BLOCK_ARRIVALS / self.arrivals).clamp(1.0, f64::from(MAX_BLOCK)) as u32;
        let replications = self.replications;
        self.points.iter().flat_map(move |&point| {
            (0..replications.div_ceil(size)).map(move |block| {
                let start = block * size;
                (point, start..start.saturating_add(size).min(replications))
            })
        })
    }
}

/// Runs a plan of an experiment; rows go to `sink` in plan order, failures are returned.
///
/// # Errors
/// [`EngineError`]: the run was cancelled, the sink gave up, or there are no threads.
pub fn run<E: Send>(
    experiment: &Experiment,
    plan: &Plan,
    options: Options,
    observe: &(dyn Fn(Event) + Sync),
    sink: &mut (dyn FnMut(Row) -> Result<(), E> + Send),
) -> Result<Vec<Failed>, EngineError<E>> {
    let prepare = |point| Case::new(experiment, point);
    execute(plan, options, prepare, Case::replicate, observe, sink)
}

/// One point with its tables compiled.
#[derive(Debug)]
pub struct Case {
    model: Compiled,
    policy: Policy,
    seed: u64,
    scenario: u128,
    /// For each column of the experiment the model's own, where it has it.
    columns: Vec<Option<usize>>,
}

impl Case {
    /// Compiles a point of an experiment.
    ///
    /// # Errors
    /// [`Failure::Audit`], which a checked experiment doesn't give.
    pub fn new(experiment: &Experiment, point: u32) -> Result<Case, Failure> {
        let lost = || Failure::Audit(format!("point {point} can't be decoded"));
        let point = experiment.design.point(point);
        let model = experiment.model(&point).ok_or_else(lost)?;
        let policy = experiment.policy(&point).ok_or_else(lost)?;
        let own = model.columns();
        Ok(Case {
            policy,
            seed: experiment.seed,
            scenario: model.scenario(),
            columns: experiment
                .columns
                .iter()
                .map(|name| own.iter().position(|own| own == name))
                .collect(),
            model: model.compile().map_err(|invalid| Failure::Audit(invalid.to_string()))?,
        })
    }

    /// Runs one replication; returns a value per column of the experiment.
    ///
    /// # Errors
    /// [`Failure`] of the replication.
    pub fn replicate(&self, replication: u32) -> Result<Vec<f64>, Failure> {
        let key = StreamKey { seed: self.seed, scenario: self.scenario, replication };
        let values = self.model.replicate(&self.policy, &key)?;
        let pick = |own: &Option<usize>| own.map_or(f64::NAN, |own| values[own]);
        Ok(self.columns.iter().map(pick).collect())
    }
}

fn execute<P, E: Send>(
    plan: &Plan,
    options: Options,
    prepare: impl Fn(u32) -> Result<P, Failure> + Sync,
    replicate: impl Fn(&P, u32) -> Result<Vec<f64>, Failure> + Sync,
    observe: &(dyn Fn(Event) + Sync),
    sink: &mut (dyn FnMut(Row) -> Result<(), E> + Send),
) -> Result<Vec<Failed>, EngineError<E>> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .thread_name(|index| format!("{WORKER}-{index}"))
        .build()
        .map_err(|error| EngineError::Threads(error.to_string()))?;
    let failed_fast = AtomicBool::new(false);
    let stopped = || {
        options.cancel.load(Ordering::Relaxed)
            || options.fail_fast && failed_fast.load(Ordering::Relaxed)
    };
    let run_block = |(point, replications): (u32, Range<u32>)| {
        let mut prepared = None;
        let mut rows = Vec::with_capacity(replications.len());
        for replication in replications {
            if stopped() {
                break;
            }
            let result = guarded(|| {
                if prepared.is_none() {
                    prepared = Some(prepare(point)?);
                }
                match &prepared {
                    Some(case) => replicate(case, replication),
                    None => Err(Failure::Audit("nothing is prepared".to_owned())),
                }
            });
            rows.push(match result {
                Ok(values) => {
                    observe(Event::Finished(&values));
                    Ok(Row { point, replication, values })
                }
                Err(failure) => {
                    failed_fast.store(true, Ordering::Relaxed);
                    let failed = Failed { point, replication, failure };
                    observe(Event::Failed(&failed));
                    Err(failed)
                }
            });
        }
        rows
    };
    let mut blocks = plan.blocks();
    let mut wave_len = 8 * pool.current_num_threads();
    let mut failures = Vec::new();
    loop {
        let wave: Vec<_> = blocks.by_ref().take(wave_len).collect();
        if wave.is_empty() {
            return Ok(failures);
        }
        let start = Instant::now();
        let rows: Vec<_> =
            pool.install(|| wave.into_par_iter().with_max_len(1).map(run_block).collect());
        let speed = WAVE_TIME.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-6);
        wave_len = ((wave_len as f64 * speed.min(8.0)) as usize)
            .clamp(8 * pool.current_num_threads(), MAX_WAVE);
        if options.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Interrupted);
        }
        for row in rows.into_iter().flatten() {
            match row {
                Ok(row) => sink(row)?,
                Err(failed) => failures.push(failed),
            }
        }
        if stopped() {
            return Ok(failures);
        }
    }
}

/// Prefix of the names of the threads that run replications, where a panic is caught.
pub const WORKER: &str = "replications";

/// Runs a replication and turns a panic into a failure.
fn guarded<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(points: u32, replications: u32) -> Plan {
        Plan { points: (0..points).collect(), replications, arrivals: 100_000.0 }
    }

    fn run_all(
        plan: &Plan,
        threads: usize,
        fail_fast: bool,
        replicate: impl Fn(&u32, u32) -> Result<Vec<f64>, Failure> + Sync,
    ) -> (Vec<(u32, u32)>, Vec<Failed>) {
        let cancel = AtomicBool::new(false);
        let options = Options { threads, fail_fast, cancel: &cancel };
        let mut rows = Vec::new();
        let mut sink = |row: Row| -> Result<(), ()> {
            rows.push((row.point, row.replication));
            Ok(())
        };
        let failures = execute(plan, options, Ok, replicate, &|_| {}, &mut sink).unwrap();
        (rows, failures)
    }

    #[test]
    fn rows_come_in_plan_order_at_any_number_of_threads() {
        let plan = plan(40, 13);
        let expected: Vec<_> = (0..40).flat_map(|p| (0..13).map(move |r| (p, r))).collect();
        for threads in [1, 2, 8] {
            let (rows, failures) = run_all(&plan, threads, false, |_, _| Ok(vec![1.0]));
            assert_eq!((rows, failures), (expected.clone(), vec![]));
        }
    }

    #[test]
    fn a_panic_and_an_error_cost_their_own_replications_only() {
        let (rows, failures) =
            run_all(&plan(3, 5), 2, false, |&point, replication| match (point, replication) {
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
        let fails = |_: &u32, _| Err(Failure::TooManyArrivals { cap: 7 });
        let (rows, failures) = run_all(&plan(1000, 100), 2, true, fails);
        assert!(rows.is_empty() && (1..=2).contains(&failures.len()), "{}", failures.len());
    }

    #[test]
    fn cancelling_ends_the_run() {
        let cancel = AtomicBool::new(false);
        let options = Options { threads: 2, fail_fast: false, cancel: &cancel };
        let replicate = |_: &u32, _| {
            cancel.store(true, Ordering::Relaxed);
            Ok(vec![])
        };
        let mut sink = |_: Row| -> Result<(), ()> { Ok(()) };
        let end = execute(&plan(1000, 100), options, Ok, replicate, &|_| {}, &mut sink);
        assert!(matches!(end, Err(EngineError::Interrupted)));
    }
}
