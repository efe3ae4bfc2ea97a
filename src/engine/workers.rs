//! Single replications on demand, for searches that decide where to look next by what they saw.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{EngineError, Options, guarded, pool};
use crate::model::Model;
use crate::policy::Policy;
use crate::rng::StreamKey;
use crate::sim::Failure;

/// Some replications of one response of one policy in one model.
#[derive(Clone, Debug)]
pub struct Job {
    pub model: Model,
    pub policy: Policy,
    /// Position of the response's column in the model's own.
    pub column: usize,
    /// Streams of the first replication; the others follow it.
    pub streams: StreamKey,
    pub replications: u32,
}

/// Threads that run jobs.
pub struct Workers<'a> {
    pool: rayon::ThreadPool,
    cancel: &'a AtomicBool,
}

impl<'a> Workers<'a> {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`EngineError::Threads`].
    pub fn new<E>(options: Options<'a>) -> Result<Self, EngineError<E>> {
        Ok(Workers { pool: pool(options)?, cancel: options.cancel })
    }

    /// Runs all replications of some jobs side by side, and returns their values in order; nothing
    /// if the run was cancelled.
    pub fn run(&self, jobs: &[Job]) -> Option<Vec<Vec<Result<f64, Failure>>>> {
        let values = self.pool.install(|| {
            // Compiled once, however many replications there are.
            let ready: Vec<_> = jobs
                .par_iter()
                .map(|job| {
                    let compile = || {
                        job.model.compile().map_err(|invalid| Failure::Audit(invalid.to_string()))
                    };
                    (job, guarded(compile))
                })
                .collect();
            ready
                .par_iter()
                .map(|(job, compiled)| {
                    (0..job.replications)
                        .into_par_iter()
                        .map(|i| {
                            let compiled = compiled.as_ref().map_err(Failure::clone)?;
                            let replication = job.streams.replication + i;
                            let streams = StreamKey { replication, ..job.streams };
                            if self.cancelled() {
                                return Ok(f64::NAN);
                            }
                            let row = guarded(|| compiled.replicate(&job.policy, &streams))?;
                            Ok(row[job.column])
                        })
                        .collect()
                })
                .collect()
        });
        (!self.cancelled()).then_some(values)
    }

    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
