//! Points made ready to run.

use std::cell::OnceCell;

use crate::model::{Compiled, Model};
use crate::policy::Policy;
use crate::rng::{StreamKey, content_hash};
use crate::sim::Failure;
use crate::spec::{CommonRandomNumbers, Experiment, Replications};

/// One point with its tables compiled.
#[derive(Debug)]
pub struct Case {
    model: Model,
    compiled: Compiled,
    policy: Policy,
    seed: u64,
    scenario: u128,
    /// For each column of the experiment the model's own, where it has it.
    columns: Vec<Option<usize>>,
    /// Number of batches of the one run, and its rows once it was made.
    batches: Option<u32>,
    run: OnceCell<Result<Vec<Vec<f64>>, Failure>>,
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
            seed: experiment.seed,
            scenario: match experiment.common {
                CommonRandomNumbers::Scenario => model.scenario(),
                CommonRandomNumbers::All => content_hash(b"all points"),
                CommonRandomNumbers::None => {
                    let label = &experiment.labels[point.policy];
                    let key = format!("{:032x} {label:?} {policy:?}", model.scenario());
                    content_hash(key.as_bytes())
                }
            },
            columns: experiment
                .columns
                .iter()
                .map(|name| own.iter().position(|own| own == name))
                .collect(),
            compiled: model.compile().map_err(|invalid| Failure::Audit(invalid.to_string()))?,
            model,
            policy,
            batches: match experiment.replications {
                Replications::Batches(n) => Some(n),
                _ => None,
            },
            run: OnceCell::new(),
        })
    }

    /// Returns a theoretical value per column of the experiment, nothing where there is none.
    pub fn theory(&self) -> Vec<Option<f64>> {
        let own = self.model.theory(&self.policy);
        self.columns.iter().map(|column| column.and_then(|column| own[column])).collect()
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
        let values = match self.batches {
            None => self.compiled.replicate(&self.policy, &key(replication))?,
            Some(batches) => {
                let run = || self.compiled.periods(&self.policy, &key(0), batches);
                let rows = self.run.get_or_init(run).as_ref().map_err(Failure::clone)?;
                let missing = || Failure::Audit(format!("there is no batch {replication}"));
                rows.get(replication as usize).cloned().ok_or_else(missing)?
            }
        };
        let pick = |own: &Option<usize>| own.map_or(f64::NAN, |own| values[own]);
        Ok(self.columns.iter().map(pick).collect())
    }
}
