//! The check of all points, so that no point of a checked experiment can be wrong.

use crate::design::Design;
use crate::model::{Model, System};
use crate::policy::Policy;

use super::Template;
use super::check::Parts;
use super::decode;
use super::path::kind_at;
use super::section::Scope;

/// What all points together tell.
#[derive(Default)]
pub struct Whole {
    pub system: Option<&'static System>,
    /// Columns of the model with the most servers; none if no model could be decoded.
    pub columns: Vec<String>,
    servers: usize,
    /// Snapshots of the first model; none if no model could be decoded.
    pub snapshots: Option<u32>,
    uneven: bool,
    /// Mean number of arrivals in one replication of every point, summed over points.
    pub expected_arrivals: f64,
}

impl Whole {
    /// Takes a model in; notes if its columns can't stand beside those of the others.
    fn note(&mut self, model: &Model, template: &Template, scope: Scope) {
        let snapshots = model.shape().snapshots;
        let first = *self.snapshots.get_or_insert(snapshots);
        if snapshots != first && !self.uneven {
            self.uneven = true;
            let given = |n: u32| if n == 0 { "none".to_owned() } else { n.to_string() };
            let message = format!(
                "`snapshots` differ between points, {} and {}, so that columns of one name would be \
                 of different instants",
                given(first),
                given(snapshots)
            );
            let help = "give all points as many, or each number a spec of its own".to_owned();
            scope.faults.add(kind_at(&template.node), message, help);
        }
        if model.servers() > self.servers {
            self.servers = model.servers();
            (self.system, self.columns) = (Some(model.system()), model.columns());
        }
    }
}

/// Decodes every point. Of a part that is the same at many points, one is decoded.
pub fn check(parts: &Parts, design: &Design, scope: Scope) -> Whole {
    let mut whole = Whole::default();
    let Some(template) = &parts.model else { return whole };
    let mut model: Option<Model> = None;
    let mut arrivals = 0.0;
    let (mut scenario, mut servers) = (None, None);
    let mut seen: Vec<Seen> = vec![Seen::default(); parts.policies.len()];
    let mut faulty = vec![false; parts.policies.len()];
    for index in 0..design.len() {
        let point = design.point(index);
        if scenario != Some(point.scenario) {
            scenario = Some(point.scenario);
            model = decode_model(template, &point.model_levels, scope);
            arrivals = model.as_ref().map_or(0.0, Model::expected_arrivals);
            if let Some(model) = &model {
                whole.note(model, template, scope);
                // Policies are checked against the number of servers too.
                if servers.replace(model.servers()) != Some(model.servers()) {
                    seen.fill(Seen::default());
                }
            }
        }
        let fresh = design.moves_with_model(point.policy)
            || seen[point.policy].first_time(point.combination);
        if fresh && !faulty[point.policy] {
            let before = scope.faults.len();
            let template = &parts.policies[point.policy];
            check_policy(template, &point.policy_levels, model.as_ref(), scope);
            faulty[point.policy] = scope.faults.len() > before;
        }
        whole.expected_arrivals += arrivals;
        if scope.faults.enough() {
            break;
        }
    }
    whole
}

/// Decodes the model and each policy at the first values of their axes, where there is no design.
pub fn check_first(parts: &Parts, scope: Scope) -> Whole {
    let first = |template: &Template| vec![0; template.swept.axes.len()];
    let mut whole = Whole::default();
    let model = parts.model.as_ref().and_then(|part| decode_model(part, &first(part), scope));
    if let (Some(model), Some(template)) = (&model, &parts.model) {
        whole.note(model, template, scope);
    }
    for policy in &parts.policies {
        check_policy(policy, &first(policy), model.as_ref(), scope);
    }
    whole
}

fn decode_model(template: &Template, levels: &[usize], scope: Scope) -> Option<Model> {
    let axes = template.values(levels);
    decode::model(Scope { axes: &axes, ..scope }, &template.node)
}

fn check_policy(template: &Template, levels: &[usize], model: Option<&Model>, scope: Scope) {
    let axes = template.values(levels);
    let policy: Option<Policy> = decode::policy(Scope { axes: &axes, ..scope }, &template.node);
    if let (Some(policy), Some(model)) = (policy, model)
        && let Err(message) = policy.check(model.offers())
    {
        let help = "fit the policy to the servers of the model";
        scope.faults.add(kind_at(&template.node), message, help.to_owned());
    }
}

/// Which combinations of a policy's own axes have been decoded, a bit each.
#[derive(Clone, Default)]
struct Seen(Vec<u64>);

impl Seen {
    fn first_time(&mut self, combination: u64) -> bool {
        let (word, bit) = ((combination / 64) as usize, 1 << (combination % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let first = self.0[word] & bit == 0;
        self.0[word] |= bit;
        first
    }
}
