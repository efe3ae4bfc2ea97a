//! The trees of the model and of a policy, into which values of searched parameters are put.

use super::super::catalog::Takes;
use super::super::diagnostic::At;
use super::super::path::{MODEL, POLICY, Place, Wrong};
use super::super::section::Section;
use super::super::yaml::{Node, Value};
use super::over::Written;
use super::{Parameter, Surroundings};

/// Columns of trace.parquet that are no parameters.
const TRACE: [&str; 14] = [
    "search",
    "scenario",
    "evaluation",
    "iteration",
    "phase",
    "side",
    "value",
    "sd",
    "replications",
    "failed",
    "first_replication",
    "stream",
    "gain_a",
    "gain_c",
];

/// The model and a policy, ready to be decoded once values are put into them.
#[derive(Clone)]
pub(in super::super) struct Trees {
    pub model: Node,
    pub policy: Node,
}

/// Why no value can be put at a path.
pub(in super::super) enum Lost {
    /// The path leads through a swept field, whose keys up to there are so many.
    Swept(usize),
    Wrong(Wrong),
}

impl Trees {
    /// Copies the trees of a model and a policy.
    pub fn new(model: &Node, policy: &Node) -> Trees {
        Trees { model: model.clone(), policy: policy.clone() }
    }

    /// Puts a value at a parameter's path, in place of what stands there; the value's text, for
    /// messages, is at `at`.
    ///
    /// # Errors
    /// [`Lost`], if no number can stand there.
    pub fn put(&mut self, parameter: &Parameter, value: f64, at: At) -> Result<(), Lost> {
        let (node, _) = self.find(parameter, at)?;
        *node = Node::number(value, at);
        Ok(())
    }

    /// Returns where a parameter's value stands, and what may stand there, if that is known; fields
    /// on the way that were left out are made.
    fn find(&mut self, parameter: &Parameter, at: At) -> Result<(&mut Node, Option<Takes>), Lost> {
        let (mut node, mut place): (&mut Node, Place) = match parameter.in_model {
            true => (&mut self.model, MODEL),
            false => (&mut self.policy, POLICY),
        };
        for (position, key) in parameter.path.iter().enumerate() {
            if matches!(node.value, Value::Axis(_)) {
                return Err(Lost::Swept(position));
            }
            (node, place) = place.step(node, key, at).map_err(Lost::Wrong)?;
        }
        place.number(node, at).map_err(Lost::Wrong)
    }
}

/// Whether a parameter's column would be there twice.
fn clashes(name: &str, reserved: &dyn Fn(&str) -> bool) -> bool {
    reserved(name) || TRACE.contains(&name)
}

/// Whether a part of the tree is swept.
fn is_swept(node: &Node) -> bool {
    let mut axes = Vec::new();
    axes_in(node, &mut axes);
    !axes.is_empty()
}

/// Adds the axes of a part of the tree.
fn axes_in(node: &Node, axes: &mut Vec<usize>) {
    match &node.value {
        Value::Axis(axis) => axes.push(*axis),
        Value::List(list) => list.iter().for_each(|item| axes_in(item, axes)),
        Value::Map(entries) => entries.iter().for_each(|entry| axes_in(&entry.node, axes)),
        _ => {}
    }
}

/// Returns whether each parameter has a place of its own in the model or the policy, and none of
/// the policy's axes is left; notes why not.
pub(super) fn check(map: &Section, policy: usize, over: &[Written], around: &Surroundings) -> bool {
    let (Some(model), Some(template)) = (&around.parts.model, around.parts.policies.get(policy))
    else {
        return false;
    };
    let Some(design) = around.context.design.filter(|_| around.sound) else { return false };
    let faults = map.scope.faults;
    let before = faults.len();
    let mut trees = Trees::new(&model.node, &template.node);
    for Written { parameter, at } in over {
        let name = &parameter.name;
        let swept = |name: &str| {
            let (message, help) = match parameter.in_model {
                true => (format!("`{name}` is swept"), SWEPT_MODEL),
                false => (format!("`{name}` is swept as a whole"), SWEPT_WHOLE),
            };
            faults.add(*at, message, help.to_owned());
        };
        if clashes(name, around.reserved) {
            let message = format!(
                "a parameter can't be called `{name}`: results have a column \
                                   of that name"
            );
            faults.add(*at, message, "give the path with the kind in front".to_owned());
        }
        match trees.find(parameter, *at) {
            Ok((node, _)) if parameter.in_model && is_swept(node) => swept(name),
            Ok((_, Some(Takes::Integer { .. }))) if !parameter.range.integer => {
                let message = format!("`{name}` takes whole numbers only");
                let help = format!("add `integer: true` to the range of `{name}`");
                faults.add(*at, message, help);
            }
            Ok((node, _)) => *node = Node::number(parameter.range.low, *at),
            Err(Lost::Swept(keys)) => {
                let keys = keys + usize::from(parameter.in_model);
                swept(&name.split('.').take(keys).collect::<Vec<_>>().join("."));
            }
            Err(Lost::Wrong((message, help))) => faults.add(*at, message, help),
        }
    }
    if faults.len() > before {
        return false;
    }
    // Whoever was put where another stood has taken its place.
    for Written { parameter, at } in over {
        let kept = trees
            .find(parameter, *at)
            .is_ok_and(|(node, _)| node.at == *at && matches!(node.value, Value::Number(_)));
        if !kept {
            let message = format!("`{}` is searched twice, by another path too", parameter.name);
            faults.add(*at, message, "remove one of them".to_owned());
        }
    }
    let mut axes = Vec::new();
    axes_in(&trees.policy, &mut axes);
    let label = &around.context.labels[policy];
    for axis in axes.into_iter().filter(|&axis| !design.is_tied(policy, axis)) {
        let path = template.swept.axes[axis].path.join(".");
        let message = format!("policy `{label}` also sweeps `{path}`");
        let help = "add it to `over`, or search another policy".to_owned();
        faults.add(map.at("policy"), message, help);
    }
    faults.len() == before
}

const SWEPT_MODEL: &str = "a search has its own range: sweep another field, or search another";
const SWEPT_WHOLE: &str = "give it one value in the policy, or search another parameter";

#[cfg(test)]
mod tests {
    use super::clashes;

    /// No field of today's models and policies is called so, so that no spec shows it.
    #[test]
    fn a_parameter_is_not_called_like_a_column_of_results() {
        let reserved = |name: &str| name == "mean";
        for name in ["mean", "value", "scenario", "gain_a"] {
            assert!(clashes(name, &reserved), "{name}");
        }
        for name in ["alpha", "model.service.exponential.mean", "theta.value"] {
            assert!(!clashes(name, &reserved), "{name}");
        }
    }
}
