//! The box of a search: its parameters with their ranges, and where the search starts.

use super::super::catalog::PARAMETER;
use super::super::diagnostic::{At, near_or_all};
use super::super::section::{Scope, Section, check_keys};
use super::super::yaml::{Entry, Value};
use super::{MAX_PARAMETERS, Parameter};
use crate::design::Range;

const BOX: &str = "write `{log: [0.001, 1]}` to search by ratios, `{linear: [0, 1]}` by distances";

/// A parameter and where its path stands.
pub(super) struct Written {
    pub parameter: Parameter,
    pub at: At,
}

/// Decodes `over:`; nothing if it has faults, which are noted.
pub(super) fn over(map: &Section) -> Option<Vec<Written>> {
    let scope = map.scope;
    let node = map.required("over")?;
    if !matches!(&node.value, Value::Map(entries) if !entries.is_empty()) {
        let message = format!("`over` can't be `{}`", node.shown());
        let help = "write `over: {alpha: {log: [0.001, 1]}}`, a path to each parameter".to_owned();
        scope.faults.add(node.at, message, help);
        return None;
    }
    let entries = node.entries();
    let before = scope.faults.len();
    // No key is unknown here: paths are followed when the policy is known.
    check_keys(entries, || entries.iter().map(|entry| entry.key.as_str()), "over", scope.faults);
    if entries.len() > MAX_PARAMETERS {
        let message =
            format!("{} parameters are more than the {MAX_PARAMETERS} of a search", entries.len());
        scope.faults.add(node.at, message, "search those that matter most".to_owned());
    }
    // All parameters are read before any is missed, so that all their faults are found.
    let over: Vec<Option<Written>> = entries.iter().map(|entry| parameter(scope, entry)).collect();
    over.into_iter().collect::<Option<_>>().filter(|_| scope.faults.len() == before)
}

fn parameter(scope: Scope, entry: &Entry) -> Option<Written> {
    let (name, node) = (&entry.key, &entry.node);
    if !matches!(node.value, Value::Map(_)) {
        let message = format!("`{name}` is searched between two values, not `{}`", node.shown());
        scope.faults.add(node.at, message, BOX.to_owned());
        return None;
    }
    let map = Section::open(scope, &PARAMETER, Some(node), node.at);
    map.one_of("log", "linear", BOX);
    let (log, linear) = (map.range("log"), map.range("linear"));
    let integer = map.flag("integer");
    let (field, [low, high]) = match (log, linear) {
        (Some(range), None) => ("log", range),
        (None, Some(range)) => ("linear", range),
        _ => return None,
    };
    if integer && (low.fract() != 0.0 || high.fract() != 0.0) {
        let message = format!("`{name}` takes whole numbers, and `[{low}, {high}]` doesn't");
        scope.faults.add(map.at(field), message, "give whole bounds".to_owned());
        return None;
    }
    if !(high - low).is_finite() {
        let message = format!("`{name}` has a range without a finite width");
        scope.faults.add(map.at(field), message, "narrow it".to_owned());
        return None;
    }
    let mut path: Vec<String> = name.split('.').map(str::to_owned).collect();
    let in_model = path[0] == "model";
    if in_model {
        path.remove(0);
    }
    let parameter = Parameter {
        name: name.clone(),
        path,
        in_model,
        range: Range { low, high, log: field == "log", integer },
    };
    Some(Written { parameter, at: entry.key_at })
}

/// Decodes `start:`, a value per parameter; the middle of its range where left out.
pub(super) fn start(map: &Section, over: &[Written]) -> Option<Vec<f64>> {
    let faults = map.scope.faults;
    let before = faults.len();
    let node = map.node("start");
    let is_map = node.is_none_or(|node| matches!(node.value, Value::Map(_) | Value::Null));
    if let Some(node) = node.filter(|_| !is_map) {
        let message = format!("`start` can't be `{}`", node.shown());
        faults.add(node.at, message, "write `start: {alpha: 0.01}`".to_owned());
        return None;
    }
    let entries = node.map(|node| node.entries()).unwrap_or_default();
    let names = || over.iter().map(|one| one.parameter.name.as_str());
    for (position, entry) in entries.iter().enumerate() {
        let name = &entry.key;
        if !names().any(|known| known == name) {
            let help = near_or_all(name, names(), "it has");
            faults.add(entry.key_at, format!("`over` has no parameter `{name}`"), help);
        }
        if entries[..position].iter().any(|other| other.key == *name) {
            let help = "remove one of them".to_owned();
            faults.add(entry.key_at, format!("`{name}` is given twice in `start`"), help);
        }
    }
    let value = |one: &Parameter| {
        let Some(entry) = entries.iter().find(|entry| entry.key == one.name) else {
            return one.range.middle();
        };
        let Range { low, high, integer, .. } = one.range;
        match &entry.node.value {
            Value::Number(number)
                if (low..=high).contains(&number.value)
                    && (!integer || number.value.fract() == 0.0) =>
            {
                number.value
            }
            _ => {
                let message = format!("`{}` can't start at `{}`", one.name, entry.node.shown());
                let what = if integer { "whole number" } else { "number" };
                let help = format!("it takes a {what} from {low} to {high}, its range in `over`");
                faults.add(entry.node.at, message, help);
                f64::NAN
            }
        }
    };
    let start: Vec<f64> = over.iter().map(|one| value(&one.parameter)).collect();
    (faults.len() == before).then_some(start)
}
