//! Searches: what `optimize:` asks for.
//!
//! A search has a policy, a response, a box of parameters and a method. Here it is read and
//! checked: no point of its box can be wrong any more. Searching is the business of `optimize`
//! the module, which sees these plain structs and asks [`Experiment::searched`] for the model and
//! the policy at a point of the box.
//!
//! [`Experiment::searched`]: super::Experiment::searched

mod corners;
mod method;
mod over;
mod rivals;
mod tree;

use super::axes::axis_help;
use super::catalog::{CONFIRM, OPTIMIZE};
use super::check::Parts;
use super::decode::printable;
use super::diagnostic::{At, near_or_all};
use super::published::{Context, levels, meant_by_a_fault, written};
use super::section::Section;
use super::statistics::Replications;
use super::yaml::Value;

use crate::design::{Design, Level, Range};
use crate::stats::Good;

pub use method::{Form, Method, Spsa};
pub(super) use tree::Trees;

/// Most parameters of a search.
pub const MAX_PARAMETERS: usize = 20;

/// A search for the values of some parameters that make the mean of a response good.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimize {
    /// Name of the search, unique in the spec.
    pub label: String,
    /// Position of the policy.
    pub policy: usize,
    /// Values of the model's axes that its scenarios have.
    pub at: Vec<(String, Level)>,
    /// Position of the response's column.
    pub column: usize,
    /// Whether the least or the greatest mean is sought.
    pub good: Good,
    /// The box: 1 to 20 parameters.
    pub over: Vec<Parameter>,
    /// Where the search starts, a value per parameter in its own unit, inside the box.
    pub start: Vec<f64>,
    pub method: Method,
    /// Most replications of the search, its confirmation not counted.
    pub budget: u64,
    pub against: Vec<Rival>,
    pub confirm: Confirm,
}

/// A searched parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The path as the spec has it; also the parameter's column.
    pub name: String,
    /// Keys from the policy, or from the model, down.
    pub path: Vec<String>,
    /// Whether it is a parameter of the model.
    pub in_model: bool,
    pub range: Range,
}

/// A point of the spec that the optimum is compared with: one in each scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// What it is called: the policy's label and the values of its axes.
    pub name: String,
    /// Position of the policy.
    pub policy: usize,
    /// Values of its axes.
    pub at: Vec<(String, Level)>,
}

/// How an optimum is confirmed, on streams that the search never saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirm {
    /// Replications of each point.
    pub replications: u32,
    /// Points of a grid over the box of a single parameter.
    pub grid: Option<u32>,
    /// Difference that counts as nothing, in the response's unit.
    pub delta: Option<f64>,
}

/// What searches are checked against.
pub(super) struct Surroundings<'a> {
    pub context: &'a Context<'a>,
    pub parts: &'a Parts,
    /// Whether neither the model nor any policy has faults.
    pub sound: bool,
    /// Nothing if they have faults.
    pub replications: Option<&'a Replications>,
    /// Whether a name is a column of some file of results.
    pub reserved: &'a dyn Fn(&str) -> bool,
}

/// Decodes `optimize:`, a search or a list of searches; faults are noted.
pub(super) fn searches(section: &Section, around: &Surroundings) -> Vec<Optimize> {
    let scope = section.scope;
    let Some(node) = section.node("optimize") else { return Vec::new() };
    let list = match &node.value {
        Value::List(list) => list,
        Value::Null | Value::Broken => return Vec::new(),
        _ => std::slice::from_ref(node),
    };
    let mut labels: Vec<String> = Vec::new();
    let mut searches = Vec::new();
    for node in list {
        let map = Section::open(scope, &OPTIMIZE, Some(node), node.at);
        let label = label(&map);
        if let Some((label, at)) = label.as_ref().filter(|(label, _)| labels.contains(label)) {
            let help = "give one of them a `label:` of its own".to_owned();
            scope.faults.add(*at, format!("two searches are called `{label}`"), help);
        }
        labels.extend(label.iter().map(|(label, _)| label.clone()));
        searches.extend(search(&map, label.map(|(label, _)| label), around));
    }
    if matches!(around.replications, Some(Replications::Batches(_))) && !list.is_empty() {
        let help = "give `replications` as a number, or put the search into a spec of its own";
        let message = "`optimize` goes with independent replications, not with batches";
        scope.faults.add(node.at, message, help.to_owned());
    }
    searches
}

/// Returns what a search is called and where that stands.
fn label(map: &Section) -> Option<(String, At)> {
    let fits = |label: &str| !label.trim().is_empty() && printable(label);
    match map.node("label") {
        Some(_) => {
            let label = map.text("label")?;
            if !fits(label) {
                let message = "`label` must have characters, and only those that print";
                map.refuse("label", message.to_owned());
                return None;
            }
            Some((label.to_owned(), map.at("label")))
        }
        // Whatever is wrong with the policy is noted where it is looked up.
        None => match map.node("policy").map(|node| &node.value) {
            Some(Value::Text(policy)) => Some((policy.clone(), map.at("policy"))),
            _ => None,
        },
    }
}

fn search(map: &Section, label: Option<String>, around: &Surroundings) -> Option<Optimize> {
    let (scope, context) = (map.scope, around.context);
    // All fields are read before any is missed, so that all their faults are found.
    let policy = policy(map, context);
    let at = scenarios(map, context);
    let response = response(map, context);
    let over = over::over(map);
    let start = over.as_ref().and_then(|over| over::start(map, over));
    let method = method::method(map);
    let budget = map.integer("budget");
    let against = rivals::against(map, context);
    let confirm = confirm(map, over.as_deref());
    let (policy, over) = (policy?, over?);
    let fits = tree::check(map, policy, &over, around);
    let method = method.filter(|method| method::fits(map, method, &over, budget));
    let ats = over.iter().map(|one| one.at).collect::<Vec<At>>();
    let (column, good) = response?;
    let search = Optimize {
        label: label?,
        policy,
        at: at?,
        column,
        good,
        over: over.into_iter().map(|one| one.parameter).collect(),
        start: start?,
        method: method?,
        budget: budget?,
        against: against?,
        confirm: confirm?,
    };
    // Corners of a box in a spec with other faults would only repeat them.
    if fits && scope.faults.len() == 0 {
        corners::check(map, &search, &ats, around);
    }
    Some(search)
}

/// Returns the position of the searched policy.
fn policy(map: &Section, context: &Context) -> Option<usize> {
    named_policy(map, context, map.text("policy")?, map.at("policy"))
}

/// Returns the position of a policy; notes that there is none of that name.
fn named_policy(map: &Section, context: &Context, name: &str, at: At) -> Option<usize> {
    let position = context.labels.iter().position(|label| label == name);
    let by_a_fault = context.labels.is_empty() || meant_by_a_fault(name, context.labels);
    if position.is_none() && !by_a_fault {
        let help = near_or_all(name, context.labels.iter().map(String::as_str), "there are");
        map.scope.faults.add(at, format!("there is no policy `{name}`"), help);
    }
    position
}

/// Returns the levels of the scenarios to search in, of which there is one at least.
fn scenarios(map: &Section, context: &Context) -> Option<Vec<(String, Level)>> {
    let (Some(node), Some(design)) = (map.node("at"), context.design) else {
        return Some(Vec::new());
    };
    let at = levels(map.scope, Some(node), design)?;
    let first = design.point(0);
    let axes = design.scenario_levels(&first);
    let known = || axes.iter().map(|(axis, _)| *axis);
    if let Some((axis, _)) = at.iter().find(|(axis, _)| !known().any(|known| known == axis)) {
        let help = axis_help(axis, known().collect::<Vec<_>>());
        map.scope.faults.add(node.at, format!("`{axis}` is no axis of the model"), help);
        return None;
    }
    if !design.scenario_starts().any(|(_, point)| has_levels(design, point, &at)) {
        let help = "`at` takes values that the model's axes have".to_owned();
        map.scope.faults.add(node.at, format!("no scenario has {}", written(&at)), help);
        return None;
    }
    Some(at)
}

/// Returns whether a point's scenario has these values on the model's axes.
pub(super) fn has_levels(design: &Design, point: u32, at: &[(String, Level)]) -> bool {
    let point = design.point(point);
    let levels = design.scenario_levels(&point);
    at.iter().all(|(axis, wanted)| {
        levels.iter().any(|(name, level)| name == axis && level.is_about(wanted))
    })
}

/// Returns the position of the response's column and whether it is minimised or maximised.
fn response(map: &Section, context: &Context) -> Option<(usize, Good)> {
    map.one_of("minimize", "maximize", "write `minimize: errors_pct`");
    let (least, greatest) = (map.text("minimize"), map.text("maximize"));
    let (field, name, good) = match (least, greatest) {
        (Some(name), None) => ("minimize", name, Good::Less),
        (None, Some(name)) => ("maximize", name, Good::More),
        _ => return None,
    };
    let column = context.columns.iter().position(|column| column == name);
    if column.is_none() && !context.columns.is_empty() {
        let help = near_or_all(name, context.columns.iter().map(String::as_str), "there are");
        map.scope.faults.add(map.at(field), format!("there is no response `{name}`"), help);
    }
    column.map(|column| (column, good))
}

fn confirm(map: &Section, over: Option<&[over::Written]>) -> Option<Confirm> {
    let scope = map.scope;
    let confirm = Section::open(scope, &CONFIRM, map.node("confirm"), map.at("confirm"));
    let (replications, grid) = (confirm.integer("replications"), confirm.integer("grid"));
    let delta = confirm.number("delta");
    if let (Some(_), Some(over)) = (grid, over)
        && over.len() > 1
    {
        let message = format!("`grid` is of one parameter, and `over` has {}", over.len());
        let help = "leave it out, or search one parameter".to_owned();
        scope.faults.add(confirm.at("grid"), message, help);
    }
    Some(Confirm {
        replications: replications? as u32,
        grid: grid.map(|points| points as u32),
        delta,
    })
}
