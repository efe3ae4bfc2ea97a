//! Claims: published figures, each tied to a point and a response.

use crate::design::{Design, Level};

use super::axes::axis_help;
use super::catalog::{CLAIM, PUBLISHED};
use super::diagnostic::near_or_all;
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
    pub design: &'a Design,
    pub labels: &'a [String],
    pub columns: &'a [String],
    pub replications: u32,
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
    let policy = policy.and_then(|name| named(name, "policy", context.labels));
    let column = response.and_then(|name| named(name, "response", context.columns));
    let at = levels(scope, section.node("at"), context.design);
    if scope.faults.len() > faults {
        return None;
    }
    let (policy, column, value, at) = (policy?, column?, value?, at?);
    if tolerance.is_none() && context.replications < 2 {
        scope.faults.add(
            node.at,
            "a claim without `tolerance` is judged by the spread of runs, which one run lacks",
            "ask for 2 replications or more, or give a `tolerance`".to_owned(),
        );
        return None;
    }
    let point = point(scope, node, context, policy, &at)?;
    let bound = match (tolerance, section.node("value").map(|node| &node.value)) {
        (Some(tolerance), _) => Bound::Tolerance(tolerance),
        (None, Some(Value::Number(number))) => Bound::Rounding(half_unit(&number.written)),
        _ => Bound::Rounding(0.0),
    };
    let at: Vec<String> = at.iter().map(|(name, level)| format!("{name}={level}")).collect();
    Some(Claim { policy, column, point, value, bound, at: at.join(" ") })
}

fn levels(scope: Scope, node: Option<&Node>, design: &Design) -> Option<Vec<(String, Level)>> {
    let Some(node) = node else { return Some(Vec::new()) };
    if !matches!(node.value, Value::Map(_)) {
        let help = "write `at: {alpha: 0.01}`".to_owned();
        scope.faults.add(node.at, "`at` takes a map from axes to values", help);
        return None;
    }
    let mut levels = Vec::new();
    for entry in node.entries() {
        if !design.columns().contains(&entry.key) {
            let help = axis_help(&entry.key, design.columns());
            let message = format!("there is no axis `{}`", entry.key);
            scope.faults.add(entry.key_at, message, help);
            return None;
        }
        let level = match &entry.node.value {
            Value::Number(number) => Level::Number(number.value),
            _ => Level::Text(entry.node.flow()),
        };
        levels.push((entry.key.clone(), level));
    }
    Some(levels)
}

fn point(
    scope: Scope,
    node: &Node,
    context: &Context,
    policy: usize,
    at: &[(String, Level)],
) -> Option<u32> {
    let design = context.design;
    let meets = |index: u32| {
        let point = design.point(index);
        point.policy == policy && {
            let levels = design.levels(&point);
            at.iter().all(|(name, wanted)| {
                let column = design.columns().iter().position(|column| column == name);
                column.is_some_and(|column| {
                    levels[column].as_ref().is_some_and(|level| same(level, wanted))
                })
            })
        }
    };
    let mut points = (0..design.len()).filter(|&index| meets(index));
    let first = points.next();
    let others = points.count();
    match (first, others) {
        (Some(point), 0) => Some(point),
        (None, _) => {
            let help = "`at` must name values that the axes take, with the policy in question";
            scope.faults.add(node.at, "the claim is about no point", help.to_owned());
            None
        }
        (Some(_), others) => {
            let help =
                format!("pick one with `at:`; the axes are: {}", design.columns().join(", "));
            let message = format!("the claim is about {} points", others + 1);
            scope.faults.add(node.at, message, help);
            None
        }
    }
}

/// Whether two values of an axis are the same, numbers up to a rounding error.
fn same(a: &Level, b: &Level) -> bool {
    match (a, b) {
        (Level::Number(a), Level::Number(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        _ => a == b,
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
