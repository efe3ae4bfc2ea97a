//! Specs: from a YAML file to a checked experiment.
//!
//! [`load`] parses the text into a tree that knows its places, applies overrides, takes the swept
//! fields out as axes, and then decodes *every* point once. What passes is an [`Experiment`],
//! whose points can't be wrong any more; what doesn't is a [`SpecError`] with all faults.
//!
//! Nothing is stored per point: an experiment keeps the tree and decodes a point again when it
//! is run, so that a million points cost no memory.

mod axes;
pub mod catalog;
mod changes;
mod check;
mod decode;
mod diagnostic;
mod optimize;
mod overrides;
mod path;
mod points;
mod published;
mod schema;
mod section;
mod statistics;
mod stored;
mod syntax;
mod yaml;

use std::collections::BTreeMap;

pub use changes::changes;
pub use diagnostic::{Diagnostic, Source, SpecError};
pub use optimize::{Confirm, Form, Method, Optimize, Parameter, Rival, Spsa};
pub use overrides::Override;
pub use published::{Bound, Claim};
pub use schema::schema;
pub use statistics::{Baseline, CommonRandomNumbers, Replications, Select};
pub use stored::{Earlier, Stored};

use axes::Swept;
use catalog::{MODELS, POLICIES};
use diagnostic::{At, Faults};
use optimize::Trees;
use section::Scope;
use yaml::{Node, Value};

use crate::design::{Axis, Design, Level, Point};
use crate::model::{Columns, Model, System};
use crate::policy::Policy;
use crate::rng::content_hash;
use crate::stats::Good;
use crate::stats::multiple::Adjust;

/// Largest spec file [bytes].
pub const MAX_BYTES: u64 = 1 << 20;

/// A checked spec.
#[derive(Debug)]
pub struct Experiment {
    pub name: String,
    pub about: Option<String>,
    pub seed: u64,
    /// Independent runs of every point.
    pub replications: Replications,
    pub common: CommonRandomNumbers,
    /// How comparisons with the baseline are adjusted for being many.
    pub adjust: Adjust,
    /// What every other point of a scenario is compared with.
    pub baseline: Baseline,
    /// The search for the best point, if there is one.
    pub select: Option<Select>,
    /// Searches for the best parameters, each to be made in every scenario.
    pub optimize: Vec<Optimize>,
    /// Coverage of every interval.
    pub confidence: f64,
    /// Labels of the policies.
    pub labels: Vec<String>,
    pub design: Design,
    /// What kind of model it is about.
    pub system: &'static System,
    /// Columns of the responses, those of all scenarios.
    pub columns: Vec<String>,
    pub claims: Vec<Claim>,
    /// Where the claims were published.
    pub source: Option<String>,
    /// Mean number of arrivals in one replication of every point, summed over points.
    pub expected_arrivals: f64,
    /// Hash of what the spec says, overrides included; not of how it is written.
    pub hash: u128,
    /// What the spec says, overrides included, as one line of JSON, which is a spec as well.
    pub json: String,
    /// The file's text.
    pub text: String,
    model: Template,
    policies: Vec<Template>,
    files: BTreeMap<String, Result<String, String>>,
}

/// A part of the tree with its swept fields taken out.
#[derive(Debug)]
struct Template {
    node: Node,
    swept: Swept,
}

impl Template {
    fn values(&self, positions: &[usize]) -> Vec<Node> {
        positions.iter().enumerate().map(|(axis, &at)| self.swept.node(axis, at)).collect()
    }
}

/// Loads and checks a spec.
///
/// `name` is the file's name for messages, `read` reads a file named in the spec.
///
/// # Errors
/// [`SpecError`] with every fault of the file and of the overrides.
pub fn load(
    name: &str,
    text: String,
    overrides: &[Override],
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Experiment, SpecError> {
    check::load(name, text, overrides, read)
}

impl Experiment {
    /// Returns the model at a point, or nothing for a point of another experiment.
    pub fn model(&self, point: &Point) -> Option<Model> {
        let axes = self.model.values(&point.model_levels);
        let faults = Faults::default();
        let read = |path: &str| self.file(path);
        decode::model(Scope { axes: &axes, faults: &faults, read: &read }, &self.model.node)
    }

    /// Returns the policy at a point, or nothing for a point of another experiment.
    pub fn policy(&self, point: &Point) -> Option<Policy> {
        let template = self.policies.get(point.policy)?;
        let axes = template.values(&point.policy_levels);
        let faults = Faults::default();
        let read = |path: &str| self.file(path);
        decode::policy(Scope { axes: &axes, faults: &faults, read: &read }, &template.node)
    }

    /// Returns the model and the policy of a scenario with these values of the searched parameters
    /// (natural units, one per parameter); nothing where they make none, which no point of the box
    /// does, or for a search or a point of another experiment.
    ///
    /// The point may be any of the scenario, whatever its policy. Where parameters of the model
    /// are searched, [`Model::scenario`] differs from value to value; that of [`Experiment::model`]
    /// at the same point doesn't.
    pub fn searched(
        &self,
        search: &Optimize,
        scenario_point: &Point,
        values: &[f64],
    ) -> Option<(Model, Policy)> {
        let template = self.policies.get(search.policy)?;
        let mut trees = Trees::new(&self.model.node, &template.node);
        if values.len() != search.over.len() {
            return None;
        }
        for (parameter, &value) in search.over.iter().zip(values) {
            trees.put(parameter, value, At::default()).ok()?;
        }
        let faults = Faults::default();
        let read = |path: &str| self.file(path);
        let scope = |axes| Scope { axes, faults: &faults, read: &read };
        let axes = self.model.values(&scenario_point.model_levels);
        let model = decode::model(scope(&axes), &trees.model)?;
        let levels = self.design.policy_levels(search.policy, scenario_point.scenario);
        let axes = template.values(&levels);
        let policy = decode::policy(scope(&axes), &trees.policy)?;
        policy.check(model.offers()).ok()?;
        Some((model, policy))
    }

    /// Returns the scenarios that have points and these values on the model's axes, rising, each
    /// with its first point.
    pub fn scenarios(&self, at: &[(String, Level)]) -> impl Iterator<Item = (u64, u32)> {
        let starts = self.design.scenario_starts();
        starts.filter(|&(_, point)| optimize::has_levels(&self.design, point, at))
    }

    /// Returns the point of a rival in a scenario, or nothing for a rival of another experiment.
    pub fn rival(&self, rival: &Rival, scenario: u64) -> Option<u32> {
        self.design.point_in(scenario, rival.policy, &rival.at)
    }

    /// Returns the columns whose response has good values, with which they are.
    pub fn directed_columns(&self) -> Vec<(usize, Good)> {
        let directed = |name: &String| {
            let response =
                self.system.responses.iter().find(|response| response.is_column(name))?;
            response.good
        };
        let columns = self.columns.iter().enumerate();
        columns.filter_map(|(at, name)| directed(name).map(|good| (at, good))).collect()
    }

    /// Returns the unit of an axis of a policy, or of the model.
    pub fn unit(&self, policy: Option<usize>, axis: &Axis) -> &'static str {
        let (kinds, name) = match policy {
            Some(policy) => {
                (POLICIES, self.policies.get(policy).and_then(|one| path::kind(&one.node)))
            }
            None => (MODELS, Some(self.system.name)),
        };
        let kind = kinds.iter().find(|kind| Some(kind.name) == name);
        kind.map_or("", |kind| kind.unit(&axis.path))
    }

    /// Returns whether replications are looked at on the way.
    pub fn has_snapshots(&self) -> bool {
        let responses = self.system.responses.iter();
        let mut snapshots = responses.filter(|one| matches!(one.columns, Columns::Snapshots(_)));
        snapshots.any(|response| self.columns.iter().any(|column| response.is_column(column)))
    }

    /// Returns whether a point is one that the others of its scenario are compared with; of
    /// several in a scenario the first counts.
    pub fn is_baseline(&self, index: u32) -> bool {
        let point = self.design.point(index);
        point.policy == self.baseline.policy && self.design.meets(&point, &self.baseline.at)
    }

    /// Returns a hash of what the spec says of a policy, but for its label and the values it is swept
    /// over; nothing for a policy of another experiment.
    pub fn rule(&self, policy: usize) -> Option<u128> {
        let mut node = self.policies.get(policy)?.node.clone();
        if let Value::Map(kinds) = &mut node.value {
            for kind in kinds {
                if let Value::Map(fields) = &mut kind.node.value {
                    fields.retain(|field| field.key != "label");
                }
            }
        }
        Some(content_hash(node.canonical().as_bytes()))
    }

    /// Returns where the baseline stands: on the axes that the spec names, and on its policy's others
    /// where they are the same in all scenarios.
    pub fn baseline_levels(&self) -> Vec<(String, Level)> {
        let (design, Baseline { policy, at }) = (&self.design, &self.baseline);
        let mut levels: Vec<Vec<Option<Level>>> = design
            .scenario_starts()
            .filter_map(|(scenario, _)| design.point_in(scenario, *policy, at))
            .filter(|&index| self.is_baseline(index))
            .map(|index| design.levels(&design.point(index)))
            .collect();
        levels.dedup();
        let own: Vec<&str> = design.own_axes(*policy).map(|(_, column)| column).collect();
        let level = |(position, column): (usize, &String)| {
            if let Some((_, level)) = at.iter().find(|(name, _)| name == column) {
                return Some((column.clone(), level.clone()));
            }
            let mut values = levels.iter().map(|levels| &levels[position]);
            let first = values.next().filter(|_| own.contains(&column.as_str()))?.as_ref()?;
            let is_one = values.all(|value| value.as_ref() == Some(first));
            is_one.then(|| (column.clone(), first.clone()))
        };
        design.columns().iter().enumerate().filter_map(level).collect()
    }

    /// Returns the number of points.
    pub fn points(&self) -> u32 {
        self.design.len()
    }

    /// Returns the numbers of the points that claims are about, rising and once each.
    pub fn claimed_points(&self) -> Vec<u32> {
        let mut points: Vec<u32> = self.claims.iter().map(|claim| claim.point).collect();
        points.sort_unstable();
        points.dedup();
        points
    }

    fn file(&self, path: &str) -> Result<String, String> {
        self.files.get(path).cloned().unwrap_or_else(|| Err("not read".to_owned()))
    }
}
