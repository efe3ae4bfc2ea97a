//! Claims: published figures, each tied to a point and a response.

use crate::design::{Axis, Design, Level};

use super::axes::axis_help;
use super::catalog::{CLAIM, POLICIES, PUBLISHED};
use super::diagnostic::{At, did_you_mean, near_or_all};
use super::section::{Scope, Section};
use super::yaml::{Node, Value};

/// A published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Position of the policy.
    pub policy: usize,
    /// Position of the response's column.
    pub column: usize,
    /// Number of the point.
    pub point: u32,
    pub value: f64,
    /// The figure as it is written in the spec.
    pub written: String,
    pub bound: Bound,
    /// The point's swept values as the claim names them, such as `alpha=0.01`.
    pub at: String,
}

/// How far the simulation may be from the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The mean within this distance.
    Tolerance(f64),
    /// Three standard deviations of a single run beyond this: half a unit of the last digit.
    Rounding(f64),
}

/// What claims are checked against.
pub struct Context<'a> {
    /// Nothing if the axes have faults.
    pub design: Option<&'a Design>,
    pub labels: &'a [String],
    /// Columns of the responses; none if the model has faults.
    pub columns: &'a [String],
    /// Replications of a point at the least.
    pub replications: u64,
}

/// Decodes the claims and where they were published; faults are noted.
pub fn published(scope: Scope, node: &Node, context: &Context) -> (Vec<Claim>, Option<String>) {
    let section = Section::open(scope, &PUBLISHED, Some(node), node.at);
    let source = section.text("source").map(str::to_owned);
    let claims = match section.required("claims").map(|node| (&node.value, node)) {
        Some((Value::List(list), _)) => {
            list.iter().filter_map(|node| claim(scope, node, context)).collect()
        }
        Some((_, node)) => {
            let help = "each claim names `policy`, `response` and `value`".to_owned();
            scope.faults.add(node.at, "`claims` takes a list of claims", help);
            Vec::new()
        }
        None => Vec::new(),
    };
    (claims, source)
}

fn claim(scope: Scope, node: &Node, context: &Context) -> Option<Claim> {
    let section = Section::open(scope, &CLAIM, Some(node), node.at);
    let faults = scope.faults.len();
    let policy = section.text("policy");
    let response = section.text("response");
    let value = section.number("value");
    let tolerance = section.number("tolerance");
    let named = |name: &str, what: &str, known: &[String]| {
        let position = known.iter().position(|other| other == name);
        if position.is_none() {
            let help = near_or_all(name, known.iter().map(String::as_str), "there are");
            let message = format!("the claim is about a {what} `{name}` that doesn't exist");
            scope.faults.add(section.at(what), message, help);
        }
        position
    };
    let policy = policy
        .filter(|name| !context.labels.is_empty() && !meant_by_a_fault(name, context.labels))
        .and_then(|name| named(name, "policy", context.labels));
    let column = match context.columns {
        [] => None,
        columns => response.and_then(|name| named(name, "response", columns)),
    };
    if tolerance.is_none() && section.node("tolerance").is_none() && context.replications < 2 {
        scope.faults.add(
            section.at("value"),
            "a claim without `tolerance` is judged by the spread of runs, which one run lacks",
            "ask for 2 replications or more, or give a `tolerance`".to_owned(),
        );
    }
    let design = context.design?;
    let at = levels(scope, section.node("at"), design)?;
    if scope.faults.len() > faults {
        return None;
    }
    let (policy, column, value) = (policy?, column?, value?);
    let place = if at.is_empty() { section.at("policy") } else { section.at("at") };
    let point = point(scope, place, design, (policy, &context.labels[policy]), &at)?;
    let number = match section.node("value").map(|node| &node.value) {
        Some(Value::Number(number)) => number.written.clone(),
        _ => value.to_string(),
    };
    let bound = match tolerance {
        Some(tolerance) => Bound::Tolerance(tolerance),
        None => Bound::Rounding(half_unit(&number)),
    };
    Some(Claim { policy, column, point, value, written: number, bound, at: written(&at) })
}

/// Whether a claim's policy is near a label that is itself a misspelt kind, which is noted there.
pub fn meant_by_a_fault(name: &str, labels: &[String]) -> bool {
    let mut unknown = labels.iter().map(String::as_str).filter(|label| *label != name);
    let known = labels.iter().any(|label| label == name);
    let kind = |label: &str| POLICIES.iter().any(|kind| kind.name == label);
    !known
        && kind(name)
        && unknown.any(|label| !kind(label) && did_you_mean(label, [name]).is_some())
}

/// Decodes a map from axes to values; nothing if it has faults, which are noted.
pub fn levels(scope: Scope, node: Option<&Node>, design: &Design) -> Option<Vec<(String, Level)>> {
    let Some(node) = node else { return Some(Vec::new()) };
    if !matches!(node.value, Value::Map(_)) {
        let help = "write `at: {alpha: 0.01}`".to_owned();
        scope.faults.add(node.at, "`at` takes a map from axes to values", help);
        return None;
    }
    let levels = node.entries().iter().map(|entry| {
        if !design.columns().contains(&entry.key) {
            let help = axis_help(&entry.key, design.columns().iter().map(String::as_str));
            scope.faults.add(entry.key_at, format!("there is no axis `{}`", entry.key), help);
            return None;
        }
        let level = match &entry.node.value {
            Value::Number(number) => Level::Number(number.value),
            _ => Level::Text(entry.node.flow()),
        };
        Some((entry.key.clone(), level))
    });
    levels.collect()
}

/// Returns levels in words, such as `alpha=0.01`.
pub fn written(at: &[(String, Level)]) -> String {
    at.iter().map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(" ")
}

/// Returns the one point of a policy that has the levels; notes if there is none or another.
fn point(
    scope: Scope,
    place: At,
    design: &Design,
    (policy, label): (usize, &str),
    at: &[(String, Level)],
) -> Option<u32> {
    let axes: Vec<(&Axis, &str)> = design.axes_of(policy).collect();
    let has = |name: &str| axes.iter().any(|(_, column)| *column == name);
    if let Some((name, _)) = at.iter().find(|(name, _)| !has(name)) {
        let help = axis_help(name, axes.iter().map(|(_, column)| *column));
        scope.faults.add(place, format!("policy `{label}` has no axis `{name}`"), help);
        return None;
    }
    let meets = |column: &str, level: &Level| {
        at.iter().all(|(name, wanted)| name != column || level.is_about(wanted))
    };
    let (first, count) = design.points_of(policy, &meets);
    if count == 1 {
        return first;
    }
    let (message, help) = if count == 0 {
        let known = axes.iter().filter(|(_, column)| at.iter().any(|(name, _)| name == column));
        let known: Vec<String> = known.map(|(axis, column)| takes(axis, column)).collect();
        (format!("no point of `{label}` has {}", written(at)), known.join("; "))
    } else {
        let free = axes.iter().map(|(_, column)| *column);
        let free = free.filter(|column| !at.iter().any(|(name, _)| name == column));
        let free: Vec<String> = free.map(|column| format!("`{column}`")).collect();
        (
            format!("the claim is about {count} points"),
            format!("pick one by `at:`, with {}", free.join(", ")),
        )
    };
    scope.faults.add(place, message, help);
    None
}

/// Returns the values of an axis in words.
fn takes(axis: &Axis, column: &str) -> String {
    let level = |i: usize| format!("`{}`", axis.levels.level(i));
    match axis.levels.len() {
        few @ 0..=8 => {
            format!("`{column}` takes {}", (0..few).map(level).collect::<Vec<_>>().join(", "))
        }
        n => format!("`{column}` takes {n} values: {}, {}, … {}", level(0), level(1), level(n - 1)),
    }
}

/// Returns half a unit of the last digit of a number as it was printed.
fn half_unit(written: &str) -> f64 {
    let (mantissa, exponent) = match written.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(0)),
        None => (written, 0),
    };
    let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    0.5 * libm::pow(10.0, f64::from(exponent - decimals))
}

#[cfg(test)]
mod tests {
    use super::half_unit;

    #[test]
    fn the_printed_unit_is_that_of_the_last_digit() {
        let cases = [("22.7", 0.05), ("7.70", 0.005), ("17903", 0.5), ("1.5e3", 50.0)];
        for (written, half) in cases {
            assert!((half_unit(written) - half).abs() < 1e-12, "{written}");
        }
    }
}
