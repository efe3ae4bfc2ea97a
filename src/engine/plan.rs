//! Plans: which points, how many replications of each, in which blocks.

use crate::spec::{Experiment, Replications};

/// Arrivals that a block should have about: enough to make compiling its tables cheap.
const BLOCK_ARRIVALS: f64 = 500_000.0;
/// Most replications in a block.
const MAX_BLOCK: u32 = 256;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Numbers of the points, rising.
    pub points: Vec<u32>,
    /// Replications after which a point may be precise enough, rising; the last is the most.
    pub checkpoints: Vec<u32>,
    /// Mean number of arrivals in a replication, or in a batch of the one there is.
    pub arrivals: f64,
    /// Whether what is called a replication is a batch of one run, so that all go together.
    pub batches: bool,
}

impl Plan {
    /// Returns the plan of all points of an experiment.
    pub fn all(experiment: &Experiment) -> Plan {
        Plan::of(experiment, (0..experiment.points()).collect())
    }

    /// Returns the plan of some points of an experiment.
    pub fn of(experiment: &Experiment, points: Vec<u32>) -> Plan {
        let arrivals = experiment.expected_arrivals / f64::from(experiment.points());
        let (batches, arrivals) = match experiment.replications {
            Replications::Batches(n) => (true, arrivals / f64::from(n)),
            _ => (false, arrivals),
        };
        let checkpoints = experiment.replications.checkpoints();
        Plan { points, checkpoints, arrivals, batches }
    }

    /// Returns the most replications of a point.
    pub fn most(&self) -> u32 {
        self.checkpoints.last().copied().unwrap_or(0)
    }

    /// Returns the most replications of all points together.
    pub fn total(&self) -> u64 {
        self.points.len() as u64 * u64::from(self.most())
    }

    /// Returns the number of replications in a block.
    pub(super) fn block(&self) -> u32 {
        if self.batches {
            return self.most();
        }
        (BLOCK_ARRIVALS / self.arrivals).clamp(1.0, f64::from(MAX_BLOCK)) as u32
    }
}
