//! Plans: which points, how many replications of each, in which blocks.

use std::ops::Range;

use super::Shard;
use crate::spec::{Experiment, Replications};

/// Arrivals that a block should have about: enough to make compiling its tables cheap.
const BLOCK_ARRIVALS: f64 = 500_000.0;
/// Most replications in a block.
const MAX_BLOCK: u32 = 256;

/// CPU time for forecasts [seconds], measured on a 2.6 GHz server core: of an arrival in series 2,
/// and of replications and points of next to no arrivals, which have to be stored even so.
const PER_ARRIVAL: f64 = 30e-9;
const PER_REPLICATION: f64 = 1.7e-6;
const PER_POINT: f64 = 30e-6;

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
    /// In a part of a greater plan the replication that the first point begins with, and the one
    /// before which the last point ends.
    pub part: Option<(u32, u32)>,
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
        Plan { points, checkpoints, arrivals, batches, part: None }
    }

    /// Returns the part of [`Plan::all`] that is a shard's.
    pub fn shard(experiment: &Experiment, shard: Shard) -> Plan {
        let (start, end) = shard.ends(experiment);
        // The last point is the one before, if its own first replication isn't wanted.
        let last = end.0 + u32::from(end.1 > 0);
        let plan = Plan::of(experiment, (start.0..last).collect());
        let until = if end.1 > 0 { end.1 } else { plan.most() };
        Plan { part: Some((start.1, until)), ..plan }
    }

    /// Returns the most replications of a point.
    pub fn most(&self) -> u32 {
        self.checkpoints.last().copied().unwrap_or(0)
    }

    /// Returns the most replications of all points together.
    pub fn total(&self) -> u64 {
        let missing = self.part.map_or(0, |(first, until)| first + (self.most() - until));
        (self.points.len() as u64 * u64::from(self.most())).saturating_sub(missing.into())
    }

    /// Returns the CPU time that it takes about, at the most, and `more` replications beside it
    /// whose rows are not stored [seconds].
    pub fn seconds(&self, more: u64) -> f64 {
        let arrivals = self.arrivals * (self.total() + more) as f64;
        let (rows, points) = (self.total() as f64, self.points.len() as f64);
        arrivals * PER_ARRIVAL + rows * PER_REPLICATION + points * PER_POINT
    }

    /// Returns the replications of one of its points.
    pub(crate) fn range(&self, point: u32) -> Range<u32> {
        let (first, until) = self.part.unwrap_or((0, self.most()));
        let start = if self.points.first() == Some(&point) { first } else { 0 };
        let end = if self.points.last() == Some(&point) { until } else { self.most() };
        start..end
    }

    /// Returns the number of replications in a block.
    pub(super) fn block(&self) -> u32 {
        if self.batches {
            return self.most();
        }
        (BLOCK_ARRIVALS / self.arrivals).clamp(1.0, f64::from(MAX_BLOCK)) as u32
    }
}
