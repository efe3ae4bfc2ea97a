//! Points made ready to run.

use std::cell::OnceCell;

use crate::model::{Compiled, Model};
use crate::policy::Policy;
use crate::rng::{StreamKey, content_hash};
use crate::sim::Failure;
use crate::spec::{CommonRandomNumbers, Experiment, Replications};

/// What a point is known to come to, for each column of the experiment; empty where nobody asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// What theory says of the point.
    pub theory: Vec<Option<f64>>,
    /// What it says of the same with infinitely many servers.
    pub mean_field: Vec<Option<f64>>,
}

/// One point, whose tables are compiled when they are first needed.
#[derive(Debug)]
pub struct Case {
    model: Model,
    compiled: OnceCell<Result<Compiled, Failure>>,
    policy: Policy,
    seed: u64,
    scenario: u128,
    identity: u128,
    /// For each column of the experiment the model's own, where it has it.
    columns: Vec<Option<usize>>,
    /// Number of batches of the one run, and its rows once it was made.
    batches: Option<u32>,
    run: OnceCell<Result<Vec<Vec<f64>>, Failure>>,
}

impl Case {
    /// Decodes a point of an experiment.
    ///
    /// # Errors
    /// [`Failure::Audit`], which a checked experiment doesn't give.
    pub fn new(experiment: &Experiment, point: u32) -> Result<Case, Failure> {
        let lost = || Failure::Audit(format!("point {point} can't be decoded"));
        let point = experiment.design.point(point);
        let model = experiment.model(&point).ok_or_else(lost)?;
        let policy = experiment.policy(&point).ok_or_else(lost)?;
        let own = model.columns();
        let content = model.scenario();
        let scenario = match experiment.common {
            CommonRandomNumbers::Scenario => content,
            CommonRandomNumbers::All => content_hash(b"all points"),
            CommonRandomNumbers::None => {
                let label = &experiment.labels[point.policy];
                content_hash(format!("{content:032x} {label:?} {policy:?}").as_bytes())
            }
        };
        let batches = match experiment.replications {
            Replications::Batches(n) => Some(n),
            _ => None,
        };
        let (seed, counted) = (experiment.seed, model.counted());
        let identity =
            format!("{seed} {scenario:032x} {content:032x} {counted} {policy:?} {batches:?}");
        Ok(Case {
            seed,
            scenario,
            identity: content_hash(identity.as_bytes()),
            columns: experiment
                .columns
                .iter()
                .map(|name| own.iter().position(|own| own == name))
                .collect(),
            compiled: OnceCell::new(),
            model,
            policy,
            batches,
            run: OnceCell::new(),
        })
    }

    /// Returns a hash of everything that a replication's row depends on but its number and the
    /// [version of the kernels](crate::model::KERNELS).
    ///
    /// Points of different specs with one identity have the same rows.
    pub fn identity(&self) -> u128 {
        self.identity
    }

    /// Returns a theoretical value per column of the experiment, nothing where there is none.
    pub fn theory(&self) -> Vec<Option<f64>> {
        let own = self.model.theory(&self.policy);
        self.columns.iter().map(|column| column.and_then(|column| own[column])).collect()
    }

    /// Returns what the point is known to come to, without simulation.
    pub fn expected(&self) -> Expected {
        let own = self.model.mean_field(&self.policy);
        let of = |column: &Option<usize>| column.and_then(|column| own.get(column).copied()?);
        Expected { theory: self.theory(), mean_field: self.columns.iter().map(of).collect() }
    }

    /// Runs one replication, or the run whose batch it is; returns a value per column of the
    /// experiment.
    ///
    /// # Errors
    /// [`Failure`] of the replication.
    pub fn replicate(&self, replication: u32) -> Result<Vec<f64>, Failure> {
        let key = |replication| {
            let (seed, scenario) = (self.seed, self.scenario);
            StreamKey { seed, scenario, replication }
        };
        let compile =
            || self.model.compile().map_err(|invalid| Failure::Audit(invalid.to_string()));
        let compiled = self.compiled.get_or_init(compile).as_ref().map_err(Failure::clone)?;
        let values = match self.batches {
            None => compiled.replicate(&self.policy, &key(replication))?,
            Some(batches) => {
                let run = || compiled.periods(&self.policy, &key(0), batches);
                let rows = self.run.get_or_init(run).as_ref().map_err(Failure::clone)?;
                let missing = || Failure::Audit(format!("there is no batch {replication}"));
                rows.get(replication as usize).cloned().ok_or_else(missing)?
            }
        };
        let pick = |own: &Option<usize>| own.map_or(f64::NAN, |own| values[own]);
        Ok(self.columns.iter().map(pick).collect())
    }
}
